"""What users of neighbouring search tools reported, each as something that must not happen here.

A test names the report that it answers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Budget, ProblemError, search
from agent.exhaustive import Exhaustive
from agent.proposer import Json
from agent.rounds import Mix
from agent.store import SearchStore
from agent.testing import small_view
from agent.trial import Judgement, Proofs
from db import Candidate, Database
from evaluator.scenario import Scenario
from mutations.start import starting_designs
from rooflang.canonical import structure_hash
from rooflang.design import Design
from rooflang.parser import parse
from rooflang.printer import print_design
from tests.agent.world import PROBLEM, accept, left, refuse_some

BUDGET = Budget(structures=36, round_size=6)


class Second(Exhaustive):
    """The same proposer under another name."""

    name = "second"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which two equal proposers searched."""
    path = tmp_path_factory.mktemp("field") / "a.sqlite"
    search(PROBLEM, path, budget=BUDGET, workers=1, verify=refuse_some, proposers=[Exhaustive, Second])
    return path


def stored(database: Database) -> tuple[dict[str, int], tuple[Candidate, ...]]:
    (found,) = database.list_searches()
    return {k: int(v) for k, v in found.counters.items()}, database.list_candidates(found.id)


def test_every_proposal_is_a_candidate_or_thrown_away_for_a_reason(place: Path) -> None:
    """openevolve #239: a checkpoint held fewer programs than there were iterations."""
    with Database.open(place) as database:
        counters, candidates = stored(database)
    proposed = [c for c in candidates if c.proposer != "baseline"]
    thrown = sum(counters[name] for name in ("duplicates", "oversized", "unreadable"))
    assert len(proposed) == counters["examined"] - thrown > 0
    assert all(c.reasons and c.detail for c in candidates if c.status != "accepted")


def test_equal_proposers_do_not_try_a_structure_twice(place: Path) -> None:
    """optuna #1547, #4859, #2021: parallel workers got the same parameters."""
    with Database.open(place) as database:
        counters, candidates = stored(database)
        structures = [database.get_design(c.design_hash).structure_hash for c in candidates]
    assert len(set(structures)) == len(structures)
    assert counters["duplicates"] > 0, "that they proposed the same is counted"
    assert {c.proposer for c in candidates} == {"baseline", "exhaustive", "second"}


def test_a_known_structure_is_thrown_away_before_any_work(tmp_path: Path) -> None:
    """openevolve #439: novelty was tested after the expensive evaluation."""
    calls: Counter[str] = Counter()

    def counted(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
        calls[structure_hash(candidate)] += 1
        return accept(reference, candidate, seed, proofs)

    for _ in range(2):
        search(PROBLEM, tmp_path / "a.sqlite", budget=Budget(24, round_size=4), workers=1, verify=counted,
               proposers=[Exhaustive, Second])  # fmt: skip
    assert set(calls.values()) == {1}


def test_the_first_generation_has_what_all_others_have(place: Path) -> None:
    """openevolve #370: the artifacts of the seed were not recorded."""
    with Database.open(place) as database:
        store = SearchStore(database, PROBLEM)
        _, candidates = stored(database)
        accepted = [c for c in candidates if c.status == "accepted"]
        seen: dict[bool, list[Candidate]] = {True: [], False: []}
        for candidate in accepted:
            seen[candidate.proposer == "baseline"].append(candidate)
            assert candidate.certificate_hash
            assert candidate.gain is not None
            found = database.get_evaluation(candidate.design_hash, store.conditions)
            assert found is not None
            assert {"shares", "sections", "binding"} <= set(found.points[0])
        assert all(seen.values())


def test_what_is_proposed_always_applies(place: Path) -> None:
    """openevolve #346, #241, skydiscover #18: diffs did not apply, the same program came every round."""
    with Database.open(place) as database:
        counters, candidates = stored(database)
        texts = {database.get_design(c.design_hash).text for c in candidates}
        parents = [c for c in candidates if c.parent_hash]
        assert all(database.get_design(str(c.parent_hash)).text != database.get_design(c.design_hash).text
                   for c in parents)  # fmt: skip
    assert len(texts) == len(candidates)
    assert counters["unreadable"] == 0
    assert all(parse(text) for text in list(texts)[:3])


def test_a_budget_below_a_round_is_used_and_told(tmp_path: Path) -> None:
    """gepa #375: the budget allowed one proposal, and the run said that it was done."""
    with pytest.raises(ProblemError, match="at least 1"):
        Budget(round_size=0)
    with pytest.raises(ProblemError, match="at least 0"):
        Budget(-1)
    found = search(PROBLEM, tmp_path / "a.sqlite", budget=Budget(1), workers=1, verify=accept)
    assert (found.stopped, found.rounds) == ("budget", 1)
    again = search(PROBLEM, tmp_path / "a.sqlite", budget=Budget(3), workers=1, verify=accept)
    assert (again.rounds, again.structures) == (2, found.structures + 3)


def test_a_result_is_kept_under_all_that_it_depends_on() -> None:
    """gepa #161, PR 425: a cache mixed training with validation."""
    different = [
        PROBLEM,
        replace(PROBLEM, scenario=Scenario(4096)),
        replace(PROBLEM, device="h200-sxm"),
        replace(PROBLEM, count=16),
        replace(PROBLEM, kv="bf16"),
        PROBLEM.under("physical"),
        replace(PROBLEM, clock="serial"),
    ]
    keys = {(p.conditions_hash, p.accelerator.content_hash, p.setting, p.clock) for p in different}
    assert len(keys) == len(different)
    assert PROBLEM.conditions_hash == replace(PROBLEM, seed=7).conditions_hash


def test_names_of_structures_do_not_depend_on_the_run() -> None:
    """EvoSkill #32: a time stamp in the hashed file made every look-up miss."""
    for start in starting_designs(PROBLEM.reference())[:3]:
        again = parse(print_design(start))
        assert structure_hash(again) == structure_hash(start)
        assert structure_hash(again.with_(name="another name")) == structure_hash(start)


def test_cells_do_not_move_when_a_search_goes_on(tmp_path: Path) -> None:
    """openevolve #208: a resumed run forgot the ranges of features."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    search(PROBLEM, whole, budget=BUDGET, workers=1, verify=refuse_some)
    search(PROBLEM, parts, budget=replace(BUDGET, seconds=0.0), workers=1, verify=refuse_some)
    search(PROBLEM, parts, budget=BUDGET, workers=1, verify=refuse_some)
    with Database.open(whole) as a, Database.open(parts) as b:
        assert left(a)["candidates"] == left(b)["candidates"]
        assert left(a)["cursor"]["proposers"] == left(b)["cursor"]["proposers"]


def test_no_search_stays_running_after_its_process(tmp_path: Path) -> None:
    """optuna #3215, #485: rows in the state RUNNING stayed for ever after a kill."""

    def broken(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
        raise KeyboardInterrupt

    with Database.open(tmp_path / "a.sqlite") as database:
        with pytest.raises(KeyboardInterrupt):
            search(PROBLEM, database, budget=BUDGET, workers=1, verify=broken)
        assert [s.state for s in database.list_searches()] == ["interrupted"]


def test_a_late_result_of_a_lost_search_is_refused_once(tmp_path: Path) -> None:
    """optuna #4234, #5470: a false alarm marked a live trial as failed, and its result raised later."""
    from db import SearchTakenError

    with Database.open(tmp_path / "a.sqlite") as database:
        first, second = SearchStore(database, PROBLEM), SearchStore(database, PROBLEM)
        position, _ = first.begin()
        database.resume_search(first.search_id, owner=second.owner, stale_after_seconds=0.0)
        with pytest.raises(SearchTakenError, match="must be run by one process"):
            first.write_round(position, (), None)
        assert database.list_candidates(first.search_id) == ()


def test_a_search_ends_when_nothing_new_is_proposed() -> None:
    """The same program every round, for ever: known proposals end a round, and a search."""
    view = small_view(2)

    class Stuck(Exhaustive):
        name = "stuck"

        def state(self) -> Json:
            return {}

        def ask(self, seen: Any, budget: int) -> Any:
            yield from list(Exhaustive().ask(seen, budget))[:5]

    mix = Mix(None, (Stuck,))
    known: set[str] = set()
    assert mix.gather(view, 4, known)
    while mix.gather(view, 4, known):
        pass
    assert mix.exhausted
    counts = mix.counts()
    assert counts["duplicates"] > 0
    assert mix.counts() == dict.fromkeys(counts, 0)
