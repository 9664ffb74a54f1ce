"""The loop: deterministic, nothing done twice, nothing unverified ranked, everything stored."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Budget, ProblemError, Progress, SearchResult, search
from agent.trial import Judgement, Proofs
from db import Database
from evaluator.baseline import baseline
from mutations.start import starting_designs
from rooflang.canonical import structure_hash
from rooflang.design import Design
from rooflang.parser import parse
from tests.agent.world import PROBLEM, accept, fail_some, left, refuse_some, some_rules, wrong

SHORT = Budget(structures=40, round_size=8)


def run(database: Database | Path, budget: Budget = SHORT, **options: Any) -> SearchResult:
    return search(PROBLEM, database, budget=budget, **{"workers": 1, "verify": refuse_some, **options})


def results(found: SearchResult) -> dict[str, Any]:
    """A result without what a clock measured or a database named."""
    values = found.to_json()
    return {k: v for k, v in values.items() if k not in ("search_id", "seconds", "verification_milliseconds")}


def test_the_same_search_gives_the_same_result_whatever_runs_it(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.sqlite") as a, Database.open(tmp_path / "b.sqlite") as b:
        assert results(run(a)) == results(run(b, workers=2))
        assert left(a) == left(b)
        assert len(left(a)["candidates"]) == 40


def test_every_structure_is_tried_once(tmp_path: Path) -> None:
    tried: Counter[str] = Counter()

    def counted(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
        tried[structure_hash(candidate)] += 1
        return accept(reference, candidate, seed, proofs)

    with Database.open(tmp_path / "a.sqlite") as database:
        first = run(database, verify=counted)
        second = run(database, verify=counted)
        assert (first.structures, second.structures) == (40, 80)
        assert set(tried.values()) == {1}
        assert len(tried) == 80
        assert [c[0] for c in left(database)["candidates"]] == list(range(80))
        assert set(results(first)["frontier"][0]) >= {"batch", "configuration", "design"}


def test_refused_structures_are_stored_and_never_ranked(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.sqlite") as database:
        found = run(database)
        stored = left(database)
        refused = {c[2] for c in stored["candidates"] if c[3] == "refused"}
        assert len(refused) == found.refused > 0
        for name in refused:
            assert wrong(parse(database.get_design(name).text))
        assert not refused & {name for name, _ in stored["evaluations"]}
        assert not refused & {p.design for p in found.frontier}
        assert not refused & {parent for parent, *_ in stored["lineage"]}
        assert {c[5] for c in stored["candidates"] if c[3] == "refused"} == {("fake.wrong",)}


def test_the_baseline_does_not_depend_on_the_verifier(tmp_path: Path) -> None:
    found = run(tmp_path / "a.sqlite", Budget(structures=1))
    structures = starting_designs(PROBLEM.reference())
    expected = baseline(structures, PROBLEM.accelerator, PROBLEM.count, PROBLEM.scenario).points
    assert [(p.batch, p.configuration) for p in found.baseline_frontier] == [
        (p.batch, p.configuration) for p in expected
    ]
    for a, b in zip(found.baseline_frontier, expected, strict=True):
        assert a.tokens_per_second_per_user == pytest.approx(b.tokens_per_second_per_user, rel=1e-11)


def test_a_verifier_that_fails_is_a_failed_candidate(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.sqlite") as database:
        found = run(database, verify=fail_some)
        failed = [c for c in left(database)["candidates"] if c[3] == "failed"]
        assert ("raised",) in {c[5] for c in failed}
        assert all(wrong(parse(database.get_design(c[2]).text)) == (c[5] == ("raised",)) for c in failed)
        (raised,) = (r for r in database.count_reasons(found.search_id) if r.reason == "raised")
        assert "no idea" in raised.example.detail


def test_a_small_space_is_exhausted_and_its_optimum_found(tmp_path: Path) -> None:
    rules = some_rules()
    found = run(tmp_path / "a.sqlite", Budget(structures=10_000), verify=accept, known_rules=rules)
    assert found.stopped == "exhausted"
    again = run(tmp_path / "a.sqlite", Budget(structures=10_000), verify=accept, known_rules=rules)
    # Random proposals go on meeting structures that are known; nothing else may change.
    assert results(again) | {"duplicates": 0} == results(found) | {"duplicates": 0}
    every = run(
        tmp_path / "b.sqlite", Budget(structures=10_000, round_size=3), verify=accept, known_rules=rules
    )
    assert every.simultaneous_gain == found.simultaneous_gain
    assert {p.tokens_per_second_per_gpu for p in every.frontier} == {
        p.tokens_per_second_per_gpu for p in found.frontier
    }


def test_time_stops_between_rounds_and_the_next_run_goes_on(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.sqlite") as a, Database.open(tmp_path / "b.sqlite") as b:
        stopped = run(a, Budget(structures=40, round_size=8, seconds=0.0))
        assert stopped.stopped == "time"
        assert database_state(a) == "interrupted"
        ended = run(a)
        assert ended.stopped == "budget"
        assert results(ended) == results(run(b))
        assert left(a) == left(b)
        assert database_state(a) == "done"


def database_state(database: Database) -> str:
    return database.list_searches()[0].state


def test_ctrl_c_stops_after_the_round(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.sqlite") as a, Database.open(tmp_path / "b.sqlite") as b:
        stopped = run(a, progress=interrupt_at("search", 20))
        assert stopped.stopped == "interrupted"
        assert 0 < stopped.structures < 40
        assert len(left(a)["candidates"]) == stopped.structures
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        run(a)
        run(b)
        assert left(a) == left(b)


def interrupt_at(phase: str, structures: int) -> Callable[[Progress], None]:
    sent: list[Progress] = []

    def listen(event: Progress) -> None:
        if not sent and event.phase == phase and event.structures >= structures:
            sent.append(event)
            signal.raise_signal(signal.SIGINT)

    return listen


def test_a_second_ctrl_c_stops_at_once_and_loses_only_the_round(tmp_path: Path) -> None:
    def twice(event: Progress) -> None:
        if event.phase == "search" and event.structures >= 20:
            signal.raise_signal(signal.SIGINT)

    with Database.open(tmp_path / "a.sqlite") as a, Database.open(tmp_path / "b.sqlite") as b:
        with pytest.raises(KeyboardInterrupt):
            run(a, progress=twice)
        assert database_state(a) == "interrupted"
        run(a)
        run(b)
        assert left(a) == left(b)


def test_progress_counts_up_to_the_target(tmp_path: Path) -> None:
    events: list[Progress] = []
    run(tmp_path / "a.sqlite", progress=events.append)
    assert [e.structures for e in events] == sorted(e.structures for e in events)
    assert (events[-1].structures, events[-1].target) == (40, 40)
    assert {e.phase for e in events} == {"baseline", "search"}


def test_another_seed_uses_what_is_known(tmp_path: Path) -> None:
    def never(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
        raise AssertionError("it is known")

    whole, rules = Budget(structures=10_000), some_rules()
    with Database.open(tmp_path / "a.sqlite") as database:
        first = run(database, whole, verify=refuse_some, known_rules=rules)
        other = search(
            replace(PROBLEM, seed=1), database, budget=whole, workers=1, verify=never, known_rules=rules
        )
        assert other.search_id != first.search_id
        assert other.frontier == first.frontier
        assert (other.refused, other.failed) == (first.refused, first.failed)


def test_a_model_that_fits_nowhere_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="use more devices"):
        search(replace(PROBLEM, count=1), tmp_path / "a.sqlite", workers=1, verify=accept)
