"""The search: ask, throw known structures away, verify, evaluate, tell, and store the round as a whole."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from agent.archive import Archive
from agent.companion import Companion, Running, Script, run_entry
from agent.discovery import SearchResult, conclude
from agent.executor import Executor, Failure, executor_for
from agent.heart import Heart
from agent.judge import verify_design
from agent.memory import Graft, Recalled, Transfer, learn, recall
from agent.problem import Problem
from agent.progress import Budget, Interruption, Listener, Progress
from agent.proposer import Factory, Json, Told, View, choices_of
from agent.records import Position, Result
from agent.registry import chosen
from agent.rounds import Entry, Mix
from agent.stagnation import heat_of
from agent.starts import conventional_entries, conventional_frontier
from agent.store import SearchStore, opened
from agent.trial import Laboratory, Outcome, Task, Verify, failed, try_candidate
from evaluator.frontier import Point
from mutations.rule import Rule, Site

if TYPE_CHECKING:
    import db


def search(
    problem: Problem,
    database: db.Database | str | os.PathLike[str],
    *,
    budget: Budget | None = None,
    progress: Listener | None = None,
    workers: int = 2,
    executor: Executor | None = None,
    verify: Verify = verify_design,
    known_rules: Sequence[Rule] | None = None,
    proposer_names: Sequence[str] | None = None,
    proposers: Sequence[Factory] | None = None,
    memory: bool = True,
    companion: Companion | None = None,
    script: Script | None = None,
) -> SearchResult:
    """Search until the budget is used up, continuing from what the database holds of this problem.

    The result depends on the problem and the structures tried, not on workers or time. Ctrl-C ends the run
    after the round in work, which is stored; a killed run loses the round in work alone, and the next one
    does it again. With `proposers`, or `proposer_names` of installed ones, only those take part. With
    `memory` a search that begins, or goes on after its end, starts from what the database holds of others.
    `database` is an open Database, a path or a URL. Raises db.DatabaseError (SearchTakenError while another
    live process runs the same search), ProblemError and WorkerError.

    A `companion` makes one more proposer; with a `script`, the rounds of an earlier run are done again.
    """
    factories = tuple(proposers) if proposers is not None else chosen(proposer_names)
    with opened(database) as base:
        store = SearchStore(base, problem)
        run = _Run(
            problem, store, budget or Budget(), progress, verify, known_rules or problem.rules(), factories,
            memory, companion, script,
        )  # fmt: skip
        own = executor is None
        pool = executor or executor_for(workers)
        try:
            with Interruption() as interruption:
                return run.go(pool, interruption)
        finally:
            if own:
                pool.close()


class _Run:
    """One run of a search."""

    def __init__(
        self,
        problem: Problem,
        store: SearchStore,
        budget: Budget,
        progress: Listener | None,
        verify: Verify,
        known_rules: Sequence[Rule],
        factories: Sequence[Factory],
        memory: bool,
        companion: Companion | None = None,
        script: Script | None = None,
    ) -> None:
        self.problem = problem
        self.store = store
        self.budget = budget
        self.progress = progress
        self.laboratory = Laboratory(problem, verify)
        self.rules = known_rules
        self.factories = factories
        self.memory = memory
        self.companion = companion
        self.script = script
        self.started = time.monotonic()
        self.milliseconds: list[float] = []
        self.round_structures = 0
        self.proofs: dict[str, str] = {}
        self.choices: dict[str, list[tuple[Rule, Site]]] = {}

    def go(self, executor: Executor, interruption: Interruption) -> SearchResult:
        position, former = self.store.begin()
        finished = False
        try:
            with Heart(self.store):
                stopped, archive = self._rounds(position, former, executor, interruption)
                learn(self.store, archive)
            self.store.finish("interrupted" if stopped in ("interrupted", "time") else "done")
            finished = True
        finally:
            if not finished:
                self._give_up()
        timing = median(self.milliseconds) if self.milliseconds else None
        seconds = time.monotonic() - self.started
        return conclude(self.problem, self.store, archive, stopped, seconds, timing, position.quiet)

    def _give_up(self) -> None:
        """Let another run take the search; the error on its way says more than one from here."""
        from db import DatabaseError

        try:
            self.store.finish("interrupted")
        except DatabaseError:
            return

    def _rounds(
        self, position: Position, former: str, executor: Executor, interruption: Interruption
    ) -> tuple[str, Archive]:
        counters = self.store.counters
        baseline = self.store.baseline()
        fresh = position.round == 0 or former == "done" if self.script is None else self.script.fresh
        if self.memory and fresh:
            position.memory = recall(self.store) if self.script is None else self.script.memory
            for name in (Transfer.name, Graft.name):
                position.proposers.pop(name, None)
        entry, factories = self._entered(position, fresh, executor, interruption)
        sizes = None if self.script is None else list(self.script.sizes)
        if position.round == 0:
            baseline = self._first(position, baseline, executor)
        archive = Archive(baseline or ())
        known = self.store.load(archive)
        asked, done = self.budget.structures, counters.get("structures", 0)
        if former in ("", "done") or position.target <= 0:
            position.began = 0 if former == "" else done
            position.target = position.began + asked
            self.store.write_round(position, (), None)
        else:
            position.target = max(position.began + asked, min(position.target, done + asked))
        recalled = Recalled(position.memory)
        if recalled.borrowed:
            factories = (*factories, Graft)
        state = recalled.states | position.proposers
        mix = Mix(state, factories, self.problem.seed, (Transfer,) if recalled.borrowed else ())
        while True:
            heat = heat_of(position.quiet)
            view = View(archive, self.rules, self.store.design, self._choices, recalled.prior, heat)
            if (counters["structures"] >= position.target) if sizes is None else not sizes:
                return "budget", archive
            if interruption.wanted:
                return "interrupted", archive
            if self.budget.seconds is not None and time.monotonic() - self.started > self.budget.seconds:
                return "time", archive
            size = min(self.budget.round_size, position.target - counters["structures"])
            size = sizes.pop(0) if sizes else size
            entries = mix.gather(view, size, known)
            entry["sizes"].append(size)
            for name, amount in mix.counts().items():
                counters[name] = counters.get(name, 0) + amount
            if mix.exhausted:
                position.proposers = mix.state()
                self.store.write_round(position, (), None)
                return "exhausted", archive
            outcomes = self._try(entries, executor, archive, position)
            results = self._judge(entries, outcomes, archive, position)
            told = [
                Told(r.entry.proposal, r.outcome.status, r.change, r.improved, r.contribution)
                for r in results
                if r.entry.proposal is not None
            ]
            mix.tell(told, [e.proposer for e in entries])
            grew = any(r.contribution > 0 for r in results)
            position.quiet = 0 if grew else position.quiet + len(results)
            position.round += 1
            position.proposers = mix.state()
            self.store.write_round(position, results, None)
            self._report("search", position, archive)

    def _entered(
        self, position: Position, fresh: bool, executor: Executor, interruption: Interruption
    ) -> tuple[Json, Sequence[Factory]]:
        """The entry of this run in its search, and its proposers."""

        def stop() -> bool:
            late = self.budget.seconds is not None and time.monotonic() - self.started > self.budget.seconds
            return interruption.wanted or late

        entry = run_entry(
            position.runs,
            [factory(None, 0).name for factory in self.factories],
            self.companion,
            position.memory,
            fresh,
            self.store.database.next_exchange(self.store.search_id),
        )
        if self.companion is None:
            return entry, self.factories
        running = Running(
            self.store, executor, lambda: replace(self.laboratory, proofs=self.proofs), stop, entry["first"]
        )
        return entry, (*self.factories, self.companion.join(running))

    def _first(
        self, position: Position, baseline: tuple[Point, ...] | None, executor: Executor
    ) -> tuple[Point, ...]:
        """Round 0: the conventional structures under the schedules of today's engines."""
        first, counts = conventional_entries(self.problem)
        position.target = position.target or self.budget.structures
        empty = Archive(baseline or ())
        self._report("baseline", position, empty)
        outcomes = self._try(first, executor, empty, position, counts if baseline is None else ())
        if baseline is None:
            baseline = conventional_frontier(self.problem, outcomes)
        results = self._judge(first, outcomes, Archive(baseline), position)
        position.round = 1
        self.store.write_round(position, results, baseline)
        self._report("baseline", position, Archive(baseline))
        return baseline

    def _try(
        self,
        entries: Sequence[Entry],
        executor: Executor,
        archive: Archive,
        position: Position,
        conventional: Sequence[int] = (),
    ) -> list[Outcome]:
        """Outcomes in order; what the database knows is not done again, but for a missing baseline."""
        outcomes: dict[int, Outcome] = {}
        tasks: list[Task] = []
        places: list[int] = []
        for number, item in enumerate(entries):
            judgement, known = (None, None) if conventional else self.store.known(item)
            if known is not None:
                outcomes[number] = known
                continue
            same = item.proposal is None or (
                item.proposal.same_matrix_work
                and (item.proposal.parent not in archive or archive[item.proposal.parent].same_matrix_work)
            )
            tasks.append(Task(item.design, same, conventional[number] if conventional else 0, judgement))
            places.append(number)
        laboratory = replace(self.laboratory, proofs=self.proofs)
        done = 0

        def count(_: int) -> None:
            nonlocal done
            done += 1
            self.round_structures = done
            self._report("baseline" if position.round == 0 else "search", position, archive)

        answers = executor.map(try_candidate, laboratory, tasks, count)
        for number, task, answer in zip(places, tasks, answers, strict=True):
            if isinstance(answer, Failure):
                answer = failed(entries[number].design, answer.reason, answer.detail)
            elif answer.judgement is not None and task.judgement is None:
                self.milliseconds.append(answer.judgement.milliseconds)
                self.proofs |= answer.proofs
            outcomes[number] = answer
        self.round_structures = 0
        return [outcomes[i] for i in range(len(entries))]

    def _judge(
        self, entries: Sequence[Entry], outcomes: Sequence[Outcome], archive: Archive, position: Position
    ) -> list[Result]:
        """Results in order, the accepted ones added to the archive, and the counters moved."""
        counters = self.store.counters
        results = []
        for item, outcome in zip(entries, outcomes, strict=True):
            gain, change, improved, contribution = None, 0.0, False, 0.0
            if outcome.status == "accepted":
                member = self.store.new_member(archive, item, position.sequence, outcome)
                gain = member.gain
                if item.proposal is not None and item.proposal.parent in archive:
                    change = gain - archive[item.proposal.parent].gain
                before = archive.hypervolume
                extended = archive.add(member)
                contribution = archive.hypervolume - before
                improved = item.proposal is not None and (extended or change > 0)
            results.append(Result(item, outcome, position.sequence, gain, change, improved, contribution))
            position.sequence += 1
            for name, amount in (("structures", 1), (outcome.status, 1), ("points", outcome.evaluated)):
                counters[name] = counters.get(name, 0) + amount
        return results

    def _choices(self, design_hash: str) -> list[tuple[Rule, Site]]:
        """Every rule at every site of a stored design."""
        found = self.choices.get(design_hash)
        if found is None:
            found = self.choices[design_hash] = choices_of(self.rules, self.store.design(design_hash))
        return found

    def _report(self, phase: str, position: Position, archive: Archive) -> None:
        if self.progress is None:
            return
        c = self.store.counters
        best = max((m.gain for m in archive.members()), default=0.0)
        self.progress(
            Progress(phase, position.round, c.get("structures", 0) + self.round_structures, position.target,
                     c.get("accepted", 0), c.get("refused", 0), c.get("failed", 0), c.get("points", 0),
                     max(best, 0.0), time.monotonic() - self.started, position.quiet)
        )  # fmt: skip
