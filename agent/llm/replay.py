"""A stored search done again from its record, in a database of its own, and compared with what was stored."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.companion import Script
from agent.executor import Executor
from agent.judge import verify_design
from agent.llm.companion import ReplayCompanion
from agent.llm.errors import ReplayError
from agent.llm.reply import Json
from agent.problem import Problem
from agent.progress import Budget, Listener
from agent.store import SearchStore
from agent.trial import Verify
from agent.versions import verifier_version
from mutations.rule import Rule

if TYPE_CHECKING:
    import db


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay. `difference` is empty if every candidate is the same, byte for byte."""

    search_id: str
    candidates: int
    rounds: int
    exchanges: int
    difference: str

    @property
    def identical(self) -> bool:
        return not self.difference


def replay(
    database: db.Database,
    search: db.Search,
    problem: Problem,
    *,
    workers: int = 2,
    executor: Executor | None = None,
    progress: Listener | None = None,
    verify: Verify = verify_design,
    known_rules: Sequence[Rule] | None = None,
) -> Replayed:
    """Do a search again and compare. Raises ReplayError where that cannot be done."""
    from agent.loop import search as run
    from db import Database

    runs = _runs(database, search, problem)
    with tempfile.TemporaryDirectory() as folder, Database.open(Path(folder) / "replay.sqlite") as scratch:
        for entry in runs:
            _lend(database, scratch, entry)
            public: Json | None = entry["companion"]
            companion = ReplayCompanion(database, search.id, public, entry["first"]) if public else None
            run(
                problem, scratch, budget=Budget(structures=1), progress=progress, workers=workers,
                executor=executor, verify=verify, known_rules=known_rules, proposer_names=entry["proposers"],
                companion=companion,
                script=Script(tuple(entry["sizes"]), entry["memory"], entry["fresh"]),
            )  # fmt: skip
        again = SearchStore(scratch, problem)
        again.find()
        old, new = _candidates(database, search.id), _candidates(scratch, again.search_id)
    return Replayed(
        search.id,
        len(old),
        sum(len(entry["sizes"]) for entry in runs),
        len(database.list_exchanges(search.id)),
        _difference(old, new),
    )


def _runs(database: db.Database, search: db.Search, problem: Problem) -> list[Json]:
    runs: list[Json] = [dict(entry) for entry in search.cursor.get("runs", ())]
    conditions = SearchStore(database, problem).conditions
    same = (
        search.scenario_hash == conditions.scenario_hash and search.cursor.get("rules") == verifier_version()
    )
    if not same or not runs:
        raise ReplayError(
            f"search {search.id[:12]} must come from this version of SEIS to be replayed, but is of another "
            "one; replay it with that version"
        )
    if search.state == "running":
        raise ReplayError(
            f"search {search.id[:12]} must have ended to be replayed, but is running; stop it first"
        )
    return runs


def _lend(database: db.Database, scratch: db.Database, entry: Json) -> None:
    """Give the replay those structures of other searches that memory let this one play."""
    for item in entry["memory"].get("borrowed", ()):
        found = database.find_design(item["design"]) if item.get("same_model") else None
        if found is not None:
            scratch.save_design(found)


def _candidates(database: db.Database, search_id: str) -> list[tuple[Any, ...]]:
    """Everything that says what was tried and what became of it, but for times and certificates."""
    return [
        (
            c.sequence_number, c.round_number, c.proposer, c.status, list(c.reasons), c.gain, c.design_hash,
            database.get_design(c.design_hash).text,
        )
        for c in database.list_candidates(search_id)
    ]  # fmt: skip


_FIELDS = ("number", "round", "proposer", "status", "reasons", "gain", "design", "text")


def _difference(old: list[tuple[Any, ...]], new: list[tuple[Any, ...]]) -> str:
    for before, after in zip(old, new, strict=False):
        for name, a, b in zip(_FIELDS, before, after, strict=True):
            if a != b:
                return f"candidate {before[0]} has another {name}: {str(a)[:80]!r} then, {str(b)[:80]!r} now"
    if len(old) != len(new):
        return f"there were {len(old)} candidates then, and {len(new)} now"
    return ""
