"""A whole exchange with an endpoint: budget, attempts with back-off, and what it turns out not to take.

It always ends with an outcome, plain JSON that is recorded; no failure of an endpoint is an exception.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from agent.llm.attempt import POLL_SECONDS, Attempt
from agent.llm.capabilities import Capabilities, adapted, blames_mode
from agent.llm.ledger import Ledger
from agent.llm.reply import RETRIED, CallError, Json, Reply
from agent.llm.settings import Settings

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
BLAMING = ("refused", "no_such_model", "server")
"""Failures that may say that a mode is not supported; llama.cpp says so with a status of 500."""

ADAPTATIONS = 5
"""Parameters that may be left out in one exchange."""


def sleep_unless(stop: Callable[[], bool], seconds: float) -> None:
    """Wait, but no longer than until a stop is wanted."""
    end = time.monotonic() + seconds
    while not stop() and (left := end - time.monotonic()) > 0:
        time.sleep(min(POLL_SECONDS, left))


class Caller:
    """Exchanges with one endpoint. `stop` says whether the search is to end."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        attempt: Attempt,
        *,
        capabilities: Capabilities,
        remember: Callable[[Capabilities], None],
        stop: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[Callable[[], bool], float], None] = sleep_unless,
    ) -> None:
        self.capabilities = capabilities
        self._settings = settings
        self._ledger = ledger
        self._attempt = attempt
        self._remember = remember
        self._stop = stop
        self._clock = clock
        self._sleep = sleep

    def exchange(self, request: Json, mode: str) -> Json:
        """`{"outcome": "answered", "reply": …}`, or another outcome with a `message`."""
        end = self._clock() + self._settings.exchange_seconds
        failures = adaptations = 0
        while True:
            try:
                reply = self._once(request, end)
            except CallError as error:
                if error.kind in BLAMING and blames_mode(mode, str(error)):
                    return _outcome("unsupported", str(error))
                if error.kind == "refused":
                    further = adapted(self.capabilities, str(error)) if adaptations < ADAPTATIONS else None
                    if further is None:
                        return _outcome("unsupported" if mode != "text" else "refused", str(error))
                    adaptations += 1
                    self.capabilities = further
                    self._remember(further)
                    continue
                failures += 1
                wait = self._wait(error, failures)
                late = self._clock() + wait >= end
                if error.kind not in RETRIED or failures >= self._settings.attempts or late:
                    return _outcome(error.kind, str(error))
                self._sleep(self._stop, wait)
                continue
            return {"outcome": "answered", "reply": reply.to_json()}

    def _once(self, request: Json, end: float) -> Reply:
        if self._stop():
            raise CallError("stopped", "the search was told to stop")
        number, seconds, why = self._ledger.begin(request)
        if why:
            raise CallError("budget", why)
        started = self._clock()
        seconds = min(seconds, max(0.0, end - started))
        outcome, reply = "failed", None
        try:
            reply = self._attempt(request, self.capabilities, seconds, self._stop)
            outcome = "answered"
        except CallError as error:
            outcome = error.kind
            raise
        finally:
            self._ledger.end(number, request, outcome, reply, max(0.0, self._clock() - started))
        return reply

    def _wait(self, error: CallError, failures: int) -> float:
        """Doubling from one second; as long as a server asks if it asks."""
        if error.retry_after is not None:
            return error.retry_after
        return min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** (failures - 1))


def _outcome(kind: str, message: str) -> Json:
    return {"outcome": kind, "message": message}
