"""Notes as a proposer sees them: to search and to write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import db

LONGEST = 20_000
"""Characters of a note."""


class Notes(Protocol):
    """Free text with tags that outlives rounds, jobs and nights."""

    def search(self, query: str = "", *, limit: int = 10) -> Sequence[db.Note]:
        """Notes that hold words of the query, best first; the newest ones for an empty query."""

    def write(self, text: str, tags: Sequence[str] = ()) -> db.Note:
        """Keep a note; the same text and tags twice are one note."""


class StoredNotes:
    """Notes in a database, written by one author about one search."""

    def __init__(
        self,
        database: db.Repository,
        *,
        author: db.Author = "person",
        model: str = "",
        search_id: str = "",
    ) -> None:
        self._database = database
        self._author: db.Author = author
        self._model = model
        self._search_id = search_id

    def search(self, query: str = "", *, limit: int = 10) -> Sequence[db.Note]:
        wanted = words(query)
        if not wanted:
            return self._database.list_notes(limit=limit)
        scored = [(matches(wanted, n), n) for n in self._database.list_notes()]
        found = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
        return [note for _, note in found[:limit]]

    def write(self, text: str, tags: Sequence[str] = ()) -> db.Note:
        from db import InvalidValueError, Note

        plain = text.strip()
        if not plain or len(plain) > LONGEST:
            raise InvalidValueError(
                f"a note must have 1 to {LONGEST:,} characters, but got {len(plain):,}; say it shorter"
            )
        note = Note(
            text=plain, author=self._author, tags=tuple(tags), model=self._model, search_id=self._search_id
        )
        self._database.save_note(note)
        return note


def words(text: str) -> frozenset[str]:
    """The words of a text in small letters."""
    return frozenset(re.findall(r"[\w.\-]+", text.lower()))


def matches(wanted: frozenset[str], note: db.Note) -> int:
    """How many of the wanted words a note holds; a tag counts three times."""
    tags = frozenset(t.lower() for t in note.tags)
    return len(wanted & words(f"{note.text} {note.model}")) + 3 * len(wanted & tags)
