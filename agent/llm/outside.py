"""The world outside a search, as the proposer sees it: a model, notes, and what an endpoint can do.

Whatever comes from there goes through a `Record`, under a number that only grows. So a search that was killed
asks nothing twice, and a replay asks nothing at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from agent.llm.caller import Caller
from agent.llm.capabilities import Capabilities
from agent.llm.errors import ReplayError
from agent.llm.reply import Json

if TYPE_CHECKING:
    import db
    from agent.memory.notes import Notes

FOUND_NOTES = 5

MOST_NOTE_CHARACTERS = 2000
"""Of one note, written or read."""


class Record(Protocol):
    """Answers by number."""

    number: int

    def take(self, kind: str, request: Json, ask: Callable[[], Json]) -> Json:
        """The answer to the next request: recorded, or from `ask`."""


class LiveRecord:
    """Records every answer. An answer recorded by a run that was killed before its round was stored is used.

    Failures are not: whatever it was may be over.
    """

    def __init__(self, database: db.Database, search_id: str) -> None:
        self._database = database
        self._search_id = search_id
        self.number = 0

    def take(self, kind: str, request: Json, ask: Callable[[], Json]) -> Json:
        asked = canonical(request)
        found = self._database.find_exchange(self._search_id, self.number)
        if found is not None:
            answer: Json = json.loads(found.answer)
            if (found.kind, found.request) == (kind, asked) and answer.get(
                "outcome", "answered"
            ) == "answered":
                self.number += 1
                return answer
            self._database.forget_exchanges(self._search_id, self.number)
        text = canonical(ask())
        self._database.record_exchange(self._search_id, self.number, kind, asked, text)
        self.number += 1
        recorded: Json = json.loads(text)
        return recorded


class ReplayRecord:
    """Answers from a record alone. Raises ReplayError where what is asked is not what was asked then."""

    def __init__(self, database: db.Database, search_id: str) -> None:
        self._database = database
        self._search_id = search_id
        self.number = 0

    def take(self, kind: str, request: Json, ask: Callable[[], Json]) -> Json:
        found = self._database.find_exchange(self._search_id, self.number)
        if found is None:
            raise ReplayError(
                f"a replay must ask what was recorded, but its request {self.number} ({kind}) is none of it; "
                "the search was made by another version of SEIS or its record was cut"
            )
        asked = canonical(request)
        if (found.kind, found.request) != (kind, asked):
            raise ReplayError(
                f"a replay must ask what was recorded, but request {self.number} differs: {kind} with hash "
                f"{digest(asked)[:12]} instead of {found.kind} with hash {found.request_hash[:12]}; the "
                "search was made by another version of SEIS or its record was changed"
            )
        self.number += 1
        answer: Json = json.loads(found.answer)
        return answer


class Outside:
    """Everything that a proposer asks of the world outside."""

    def __init__(
        self,
        record: Record,
        caller: Caller | None = None,
        notes: Notes | None = None,
        remember: Callable[[Capabilities], None] | None = None,
    ) -> None:
        self.record = record
        self._caller = caller
        self._notes = notes
        self._remember = remember

    def mode(self) -> str:
        """How the model is asked to say what it wants done, as far as that is known."""
        return str(self.record.take("mode", {}, lambda: {"mode": self._live().capabilities.mode})["mode"])

    def settle(self, mode: str) -> None:
        """Remember a mode that worked."""
        if self._caller is not None and self._caller.capabilities.mode != mode:
            self._caller.capabilities = replace(self._caller.capabilities, mode=mode)
            if self._remember is not None:
                self._remember(self._caller.capabilities)

    def chat(self, request: Json, mode: str) -> Json:
        """An outcome of `Caller.exchange`."""
        return self.record.take("chat", request, lambda: self._live().exchange(request, mode))

    def search_notes(self, query: str) -> list[str]:
        """Notes that fit."""

        def ask() -> Json:
            found = self._notes.search(query, limit=FOUND_NOTES) if self._notes is not None else ()
            return {"notes": [n.text for n in found]}

        return [str(n) for n in self.record.take("search notes", {"query": query}, ask)["notes"]]

    def write_note(self, text: str) -> None:
        """Keep a note; once, also if the round is done again."""

        def ask() -> Json:
            if self._notes is not None:
                self._notes.write(text)
            return {}

        self.record.take("write note", {"text": text}, ask)

    def _live(self) -> Caller:
        if self._caller is None:
            raise ReplayError("a replay must not ask an endpoint, but it was about to; report this")
        return self._caller


def canonical(value: Any) -> str:
    """One text for one JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """SHA-256."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()
