"""Budgets, checked before a call with what it can cost at worst; several processes share one ledger."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from agent.llm.reply import UNCHARGED, Json, Reply
from agent.llm.settings import Limits, Settings

if TYPE_CHECKING:
    import db

OVERHEAD_TOKENS = 64
MESSAGE_TOKENS = 16
"""Tokens that a chat template may add, per request and per message."""


class Ledger:
    """What the calls of one search (`since` a time, if given), and of this day, have used.

    Raises db.DatabaseError.
    """

    def __init__(
        self, database: db.Database, search_id: str, settings: Settings, since: datetime | None = None
    ) -> None:
        self._database = database
        self._since = since
        self._search_id = search_id
        self._settings = settings

    def begin(self, request: Json) -> tuple[int, float, str]:
        """Enter a call: (its number, seconds that it may take, why it must not be made or an empty text).

        Check and entry are one transaction, so that calls of several processes never exceed a limit together.
        """
        from db import utc_now

        s = self._settings
        prompt, output = worst_prompt(request), int(request["max_output_tokens"])
        cost = s.price.of(prompt, output) if s.price else None
        today = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
        with self._database.transaction() as tx:
            own = tx.model_spending(search_id=self._search_id, since=self._since)
            day = tx.model_spending(since=today)
            why = _exceeds(s.limits, own, day, prompt + output, cost)
            if why:
                return -1, 0.0, why
            seconds = s.call_seconds
            for limit, spent in ((s.limits.seconds, own.seconds), (s.limits.day_seconds, day.seconds)):
                if limit is not None:
                    seconds = min(seconds, limit - spent)
            number = tx.begin_call(
                self._search_id, s.base_url, s.model, prompt_tokens=prompt, output_tokens=output, cost=cost,
                seconds=seconds,
            )  # fmt: skip
        return number, seconds, ""

    def end(self, number: int, request: Json, outcome: str, reply: Reply | None, seconds: float) -> None:
        """Correct a call to what the endpoint counted; what it did not count stays at its worst."""
        prompt, output, reasoning = worst_prompt(request), int(request["max_output_tokens"]), 0
        if reply is not None:
            prompt = prompt if reply.prompt_tokens is None else reply.prompt_tokens
            output = output if reply.output_tokens is None else reply.output_tokens
            reasoning = reply.reasoning_tokens or 0
        elif outcome in UNCHARGED:
            prompt = output = 0
        price = self._settings.price
        self._database.end_call(
            number, outcome, prompt_tokens=prompt, output_tokens=output, reasoning_tokens=reasoning,
            cost=price.of(prompt, output) if price else None, seconds=seconds,
        )  # fmt: skip


def worst_prompt(request: Json) -> int:
    """Tokens that a prompt has at most: every token stands for a byte or more, plus what templates add."""
    sent = {name: request.get(name) for name in ("messages", "tools", "response_format")}
    text = json.dumps(sent, ensure_ascii=False)
    return len(text.encode("utf-8", "replace")) + MESSAGE_TOKENS * len(request["messages"]) + OVERHEAD_TOKENS


def _exceeds(
    limits: Limits, own: db.ModelSpending, day: db.ModelSpending, tokens: int, cost: float | None
) -> str:
    checks = (
        ("calls of this search", limits.calls, own.calls, 1.0),
        ("tokens of this search", limits.tokens, own.prompt_tokens + own.output_tokens, tokens),
        ("dollars of this search", limits.cost, own.cost, cost or 0.0),
        ("seconds of this search", limits.seconds, own.seconds, 1.0),
        ("calls of this day", limits.day_calls, day.calls, 1.0),
        ("tokens of this day", limits.day_tokens, day.prompt_tokens + day.output_tokens, tokens),
        ("dollars of this day", limits.day_cost, day.cost, cost or 0.0),
        ("seconds of this day", limits.day_seconds, day.seconds, 1.0),
    )
    for name, limit, spent, more in checks:
        if limit is not None and spent + more > limit:
            return (
                f"the limit is {limit:,g} {name}; {spent:,.6g} are used and a call may take {more:,.6g} more"
            )
    return ""
