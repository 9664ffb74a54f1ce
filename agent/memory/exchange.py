"""Memory as one JSON document: carried from one database to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.errors import ProblemError
from agent.memory.recall import sources, statistics_of

if TYPE_CHECKING:
    import db

FORMAT = "seis-memory-1"


def export_memory(database: db.Database) -> dict[str, Any]:
    """Notes, hypotheses, and rule statistics with the problem of each search; designs stay behind."""
    with database.snapshot() as tx:
        return {
            "format": FORMAT,
            "notes": [_plain(asdict(n)) for n in tx.list_notes()],
            "hypotheses": [_plain(asdict(h)) for h in tx.list_hypotheses()],
            "experiences": [
                {"search": scope, "problem": asdict(facts), "rules": rules}
                for scope, facts in sources(tx)
                if (rules := statistics_of(tx, scope))
            ],
        }


def import_memory(database: db.Database, document: Any) -> dict[str, int]:
    """Take a document in, all or nothing; how many of each kind were new. Again, it changes nothing.

    Raises ProblemError for a document that is not one of `export_memory`.
    """
    from db import DatabaseError, Experience, Hypothesis, Note

    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise ProblemError(
            f"memory must be a JSON object with format {FORMAT!r}, but this is none; "
            "write one with `seis memory export`"
        )
    new = {"notes": 0, "hypotheses": 0, "experiences": 0}
    try:
        with database.transaction() as tx:
            notes = {n.note_id for n in tx.list_notes()}
            for values in document["notes"]:
                note = Note(**_read(Note, values))
                new["notes"] += int(note.note_id not in notes)
                tx.save_note(note)
            known = {h.hypothesis_id for h in tx.list_hypotheses()}
            for values in document["hypotheses"]:
                hypothesis = Hypothesis(**_read(Hypothesis, values))
                if hypothesis.hypothesis_id not in known:
                    new["hypotheses"] += 1
                    tx.save_hypothesis(hypothesis)
            own = {s.id for s in tx.list_searches()}
            for values in document["experiences"]:
                scope = str(values["search"])
                if scope in own or not tx.save_experience(
                    Experience(search_id=scope, problem=dict(values["problem"]))
                ):
                    continue
                new["experiences"] += 1
                for row in values["rules"]:
                    tx.count_rule(search_id=scope, **row)
    except (KeyError, TypeError, ValueError, DatabaseError) as error:
        raise ProblemError(
            "memory must be as `seis memory export` writes it, but something in it cannot be read "
            f"({error}); export it again"
        ) from error
    return new


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v.isoformat() if isinstance(v, datetime) else v for k, v in values.items()}


def _read(kind: type[db.Note | db.Hypothesis], values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record; times are read, unknown keys refused."""
    known = {f.name for f in fields(kind)}
    unknown = set(values) - known
    if unknown:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")
    return {k: datetime.fromisoformat(v) if k.endswith("_at") else v for k, v in values.items()}
