"""A search in the database: where it was left, what it found, and each round as one transaction."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agent.ancestry import Ancestry
from agent.archive import Archive, Member, gain_of, point_from_json
from agent.owner import is_dead, owner_name
from agent.problem import Problem, identity
from agent.records import Position, Result, Writer, lineage_of
from agent.rounds import Entry
from agent.steps import Step
from agent.trial import Json, Judgement, Outcome, analyses_of, refusal
from agent.versions import evaluator_version, verifier_version
from evaluator.frontier import Point
from mutations.registry import rules
from rooflang.canonical import design_hash
from rooflang.design import Design
from rooflang.parser import parse
from rooflang.printer import print_design

if TYPE_CHECKING:
    import db

HEARTBEAT_SECONDS = 3.0


@contextmanager
def opened(database: db.Database | str | os.PathLike[str]) -> Iterator[db.Database]:
    """The database itself, or the one at a path or URL, closed afterwards."""
    from db import Database

    if isinstance(database, Database):
        yield database
        return
    with Database.open(database) as found:
        yield found


def scenario_record(problem: Problem) -> Json:
    """What a stored search says of its problem beside its columns."""
    record: Json = {**asdict(problem.scenario), "kv": problem.kv}
    record |= {"text": problem.text} if problem.text else {}
    return record | ({"others": list(problem.others)} if problem.others else {})


class SearchStore:
    """Reads and writes of one search. Raises db.DatabaseError as the repositories do."""

    def __init__(self, database: db.Database, problem: Problem) -> None:
        from db import Conditions

        self.database = database
        self.problem = problem
        self.conditions = Conditions(
            scenario_hash=problem.conditions_hash,
            device_hash=problem.accelerator.content_hash,
            evaluator_version=evaluator_version(),
            setting=problem.setting,
            clock=problem.clock,
        )
        self.reference_hash = identity(problem.reference())
        self.owner = owner_name()
        self.counters: dict[str, int] = {}
        self.search_id = ""
        self._beat = time.monotonic()
        self._designs: dict[str, Design] = {}

    def find(self) -> bool:
        """Point at the stored search of this problem without taking it over; False if there is none."""
        found = self._stored()
        if found is not None:
            self.search_id = found.id
            self.counters = {str(k): int(v) for k, v in found.counters.items()}
        return found is not None

    def _stored(self) -> db.Search | None:
        problem = self.problem
        found = self.database.find_search(
            model=problem.model, device=problem.accelerator.name, count=problem.count,
            scenario_hash=self.conditions.scenario_hash, seed=problem.seed, setting=problem.setting,
            clock=problem.clock,
        )  # fmt: skip
        return found if found and found.cursor.get("device") == self.conditions.device_hash else None

    def begin(self) -> tuple[Position, str]:
        """Take the search of this problem over, or make it; (where it stands, its former state or empty)."""
        problem = self.problem
        found = self._stored()
        if found is None:
            made = self.database.create_search(
                model=problem.model, device=problem.accelerator.name, count=problem.count,
                scenario=scenario_record(problem),
                scenario_hash=self.conditions.scenario_hash, seed=problem.seed, setting=problem.setting,
                clock=problem.clock, owner=self.owner, cursor=self._cursor(Position()),
            )  # fmt: skip
            self.search_id = made.id
            return Position(), ""
        stale = {"stale_after_seconds": 0.0} if is_dead(found.owner) else {}
        taken = self.database.resume_search(found.id, owner=self.owner, **stale)
        self.search_id = taken.id
        self.counters = {str(k): int(v) for k, v in taken.counters.items()}
        stored = {k: v for k, v in taken.cursor.items() if k != "device"}
        position = Position(**stored)
        if position.rules != verifier_version():
            position.proposers = {}  # positions in lists of rules that are no longer those
        return position, found.state

    def baseline(self) -> tuple[Point, ...] | None:
        """The stored conventional frontier."""
        found = self.database.get_baseline(self.problem.model, self.problem.count, self.conditions)
        return tuple(point_from_json(p) for p in found.points) if found else None

    def load(self, archive: Archive) -> set[str]:
        """Fill the archive with what was accepted so far; returns every structure that was tried."""
        known: set[str] = set()
        with self.database.snapshot() as tx:
            ancestry = Ancestry(tx, self.search_id)
            for candidate in tx.list_candidates(self.search_id):
                name = candidate.design_hash
                stored = tx.find_design(name)
                if stored is None:
                    continue
                known.add(stored.structure_hash)
                found = tx.get_evaluation(name, self.conditions)
                if candidate.status != "accepted" or found is None:
                    continue
                records = tuple(dict(p) for p in found.points)
                archive.add(self.member(archive, name, stored.structure_hash, candidate.sequence_number,
                                        records, ancestry.step(name)))  # fmt: skip
        return known

    def member(
        self,
        archive: Archive,
        name: str,
        structure: str,
        sequence: int,
        records: tuple[Json, ...],
        step: db.Lineage | None,
    ) -> Member:
        """A member of the archive from stored records and the step of lineage that made it."""
        points = tuple(point_from_json(r) for r in records)
        gain, best = gain_of(archive.baseline, points)
        parent = archive[step.parent_hash] if step is not None and step.parent_hash in archive else None
        families: frozenset[str] = parent.families if parent else frozenset()
        same = parent.same_matrix_work if parent else True
        steps = parent.steps if parent else ()
        if step is not None:
            steps += tuple(Step(**s) for s in step.parameters["steps"])
            known = {r.name: r.family for r in rules()}
            families |= {known[s["rule"]] for s in step.parameters["steps"] if s["rule"] in known}
            same = same and bool(step.parameters["same_matrix_work"])
        pools = next((int(r["pools"]) for r in records if "pools" in r), 1)
        return Member(
            design_hash=name,
            structure_hash=structure,
            sequence=sequence,
            points=points,
            analyses=analyses_of(records),
            gain=gain,
            best=best,
            pools=pools,
            root=parent.root if parent else name,
            parent=parent.design_hash if parent else "",
            families=families,
            depth=parent.depth + 1 if parent else 0,
            same_matrix_work=same,
            steps=steps,
        )

    def new_member(self, archive: Archive, item: Entry, sequence: int, outcome: Outcome) -> Member:
        """The member that an accepted entry makes."""
        step = lineage_of(item, outcome)
        self._designs[outcome.design_hash] = item.design
        return self.member(archive, outcome.design_hash, item.structure_hash, sequence, outcome.points, step)

    def design(self, design_hash: str) -> Design:
        """A stored design."""
        found = self._designs.get(design_hash)
        if found is None:
            found = self._designs[design_hash] = parse(self.database.get_design(design_hash).text)
        return found

    def known(self, item: Entry) -> tuple[Judgement | None, Outcome | None]:
        """What an earlier search found out about a structure: the verdict, and all of it if all is stored."""
        found = self.database.find_certificate(self.reference_hash, item.structure_hash, verifier_version())
        if found is None:
            return None, None
        reasons = tuple((str(code), str(text)) for code, text in found.body["reasons"])
        judgement = Judgement(found.verdict == "accepted", reasons, dict(found.body), 0.0)
        name, text = design_hash(item.design), print_design(item.design)
        if not judgement.accepted:
            return judgement, refusal(judgement, name, text)
        stored = self.database.get_evaluation(name, self.conditions)
        if stored is None:
            return judgement, None
        points = tuple(dict(p) for p in stored.points)
        return judgement, Outcome("accepted", (), "", name, text, judgement, points)

    def path_to(self, design_hash: str) -> list[db.Lineage]:
        """The steps from a conventional design to this one, in order, within this search."""
        return Ancestry(self.database, self.search_id).path(design_hash)

    def certificate_of(self, design_hash: str) -> db.Certificate | None:
        """The certificate by which a candidate of this search was accepted."""
        for candidate in self.database.list_candidates(self.search_id, status="accepted"):
            if candidate.design_hash == design_hash and candidate.certificate_hash:
                return self.database.get_certificate(candidate.certificate_hash)
        return None

    def write_round(
        self, position: Position, results: Sequence[Result], baseline: Sequence[Point] | None
    ) -> None:
        """Everything of a round, or nothing."""
        from db import Baseline

        with self.database.transaction() as tx:
            if baseline is not None:
                tx.save_baseline(
                    Baseline(model=self.problem.model, count=self.problem.count, conditions=self.conditions,
                             points=[p.to_json() for p in baseline])
                )  # fmt: skip
            writer = Writer(self.search_id, self.problem.model, self.reference_hash, self.conditions)
            for result in results:
                writer.write(tx, position.round, result)
            tx.update_cursor(self.search_id, self._cursor(position), counters=self.counters, owner=self.owner)
        self._beat = time.monotonic()

    def finish(self, state: db.SearchState) -> None:
        self.database.finish_search(self.search_id, state, owner=self.owner)

    def heartbeat(self) -> None:
        """Say that this process is alive, at most every few seconds."""
        if time.monotonic() - self._beat > HEARTBEAT_SECONDS:
            self.database.heartbeat(self.search_id, owner=self.owner)
            self._beat = time.monotonic()

    def _cursor(self, position: Position) -> Mapping[str, Any]:
        return {**asdict(position), "rules": verifier_version(), "device": self.conditions.device_hash}
