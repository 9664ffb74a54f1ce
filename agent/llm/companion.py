"""The proposer in a run: with an endpoint, or with the record of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from agent.companion import Running
from agent.llm.attempt import Attempt, EndpointAttempt
from agent.llm.caller import Caller, sleep_unless
from agent.llm.capabilities import Capabilities
from agent.llm.conversation import End
from agent.llm.laboratory import Trials
from agent.llm.ledger import Ledger
from agent.llm.outside import LiveRecord, Outside, ReplayRecord
from agent.llm.proposer import ANSWERED, LanguageModel, Surroundings, renewed
from agent.llm.reply import Json
from agent.llm.settings import Settings
from agent.proposer import Factory, Proposer

if TYPE_CHECKING:
    import db


class LlmCompanion:
    """Asks the endpoint of its settings. `ends` says why it did not answer, by reason.

    `heard` is called for every reason. With `since`, what the search spent before that time does not count
    against its budget.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        attempt: Attempt | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[Callable[[], bool], float], None] = sleep_unless,
        since: datetime | None = None,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._attempt = attempt or EndpointAttempt(settings, clock)
        self._clock = clock
        self._sleep = sleep
        self._since = since
        self._heard = heard
        self.ends: dict[str, str] = {}

    def public(self) -> Json:
        return self._settings.public()

    def join(self, running: Running) -> Factory:
        from agent.memory.notes import StoredNotes

        settings, store = self._settings, running.store
        base, search_id = store.database, store.search_id

        def remember(capabilities: Capabilities) -> None:
            base.save_capabilities(settings.base_url, settings.model, capabilities.to_json())

        def said(end: End) -> None:
            if end.reason not in ANSWERED and end.reason not in self.ends:
                self.ends[end.reason] = end.message
                base.record_event("llm", search_id, {"reason": end.reason, "message": end.message})
                self._heard()

        known = base.find_capabilities(settings.base_url, settings.model)
        caller = Caller(
            settings, Ledger(base, search_id, settings, self._since), self._attempt,
            capabilities=Capabilities.from_json(dict(known) if known else None), remember=remember,
            stop=running.stop, clock=self._clock, sleep=self._sleep,
        )  # fmt: skip
        notes = StoredNotes(base, author="llm", model=store.problem.model, search_id=search_id)
        outside = Outside(LiveRecord(base, search_id), caller, notes, remember)
        return _factory(running, self.public(), outside, said)


class ReplayCompanion:
    """Answers from what a search recorded, and asks nobody."""

    def __init__(self, database: db.Database, search_id: str, public: Json, first: int) -> None:
        self._database = database
        self._search_id = search_id
        self._public = public
        self._first = first

    def public(self) -> Json:
        return self._public

    def join(self, running: Running) -> Factory:
        outside = Outside(ReplayRecord(self._database, self._search_id))
        return _factory(replace(running, first=self._first), self._public, outside, lambda end: None)


def _factory(running: Running, public: Json, outside: Outside, said: Callable[[End], None]) -> Factory:
    trials = Trials(running.store.problem, running.executor, running.laboratory)
    surroundings = Surroundings(public, outside, trials, said, running.first)

    def make(state: Json | None, seed: int) -> Proposer:
        return LanguageModel(renewed(state), surroundings)

    return make
