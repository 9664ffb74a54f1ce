"""The language model of a job: asked if its request names it, within its budget. It never fails a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from agent.llm import Limits, LlmError, settings_from_environment
from agent.llm.companion import LlmCompanion
from agent.llm.spending import spending
from db import Database
from server.jobs.request import JobRequest

NAME = "llm"

Json = dict[str, Any]


class Language:
    """What a job knows of its model. `heard` is called when the model is not answered by its endpoint."""

    def __init__(
        self, request: JobRequest, environment: Mapping[str, str], since: datetime, heard: Callable[[], None]
    ) -> None:
        self.wanted = request.kind == "search" and NAME in (request.proposers or ())
        self.companion: LlmCompanion | None = None
        self._refused: dict[str, str] = {}
        self._since = since
        if not self.wanted:
            return
        budget = request.budget
        limits = replace(Limits(), tokens=budget.tokens, cost=budget.dollars, calls=budget.calls)
        try:
            settings = settings_from_environment(limits=limits, environment=environment)
        except LlmError as error:
            self._refused = {"settings": str(error)}
        else:
            self.companion = LlmCompanion(settings, since=since, heard=heard)

    def state(self) -> Json | None:
        """For the progress of a job: which model is asked, and why it does not answer; None if none is."""
        if not self.wanted:
            return None
        asked = self.companion
        return {
            "model": asked.public()["model"] if asked else "",
            "unanswered": dict(asked.ends if asked else self._refused),
        }

    def spent(self, database: Database, search_id: str) -> Json | None:
        """For the result of a job: what it cost, and what came of it."""
        if self.companion is None:
            return self.state()
        return spending(database, search_id, self.companion, self._since)


def keyless(names: list[Any] | None) -> list[Any] | None:
    """The proposers beside the model; None, which is all, where it is the only one named."""
    return [n for n in names or () if n != NAME] or None
