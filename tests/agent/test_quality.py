"""Quality of the search: the optimum of a space tried whole, credit, and figures of the benchmark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent import Budget, search
from agent.bottleneck import Bottleneck
from agent.credit import Credit, worth
from agent.evolutionary import Evolutionary
from agent.exhaustive import Exhaustive
from agent.proposer import Factory, Proposal, Told, replay, sites_of
from agent.registry import STANDARD
from agent.steps import Step
from agent.testing.views import small_view
from benchmarks.quality.report import band, needed, picture, table
from benchmarks.quality.runs import Log, Run
from db import Database
from evaluator.frontier import hypervolume
from mutations.rule import Documentation, Rule, Site
from rooflang.design import Design
from rooflang.errors import LoweringError
from tests.agent.world import PROBLEM, accept, some_rules


def searched(path: Path, seed: int, factories: tuple[Factory, ...]) -> tuple[float, str, list[str]]:
    """(hypervolume at the end, why it stopped, structures tried) in a space of two rules."""
    with Database.open(path) as database:
        found = search(
            replace(PROBLEM, seed=seed), database, budget=Budget(600), workers=1, verify=accept, memory=False,
            known_rules=some_rules(("second stream", "one stream")), proposers=factories,
        )  # fmt: skip
        names = [c.design_hash for c in database.list_candidates(found.search_id)]
    return hypervolume(found.frontier), found.stopped, names


def test_the_mix_finds_the_optimum_of_a_whole_space_and_tries_nothing_twice(tmp_path: Path) -> None:
    best, ended, every = searched(tmp_path / "base", 0, (Exhaustive,))
    assert ended == "exhausted", "the space must be tried whole"
    mixed, ended, tried = searched(tmp_path / "base", 1, STANDARD)  # outcomes are known, the way is not
    assert ended == "exhausted"
    assert mixed == pytest.approx(best, rel=1e-12)
    assert set(tried) == set(every)
    assert len(tried) == len(set(tried))


def told(steps: tuple[Step, ...], change: float, contribution: float = 0.0) -> Told:
    view = small_view()
    member = view.archive.members()[0]
    proposal = Proposal(member.design_hash, steps, view.design(member.design_hash), "")
    return Told(proposal, "accepted", change, change > 0, contribution)


def test_credit_is_of_the_step_and_survives_its_state() -> None:
    good, bad = Step("fuse", "attention(a=b)"), Step("fuse", "mlp(a=b)")
    credit = Credit()
    credit.learn([told((good,), 0.2), told((bad,), -0.1), told((good, bad), 0.3)])
    again = Credit(credit.state())
    assert again.proven(good) == pytest.approx(0.2)
    assert again.proven(bad) == 0.0
    assert again.of_step(good, (0, 0.0)) > again.of_rule("fuse", (0, 0.0)) > again.of_step(bad, (0, 0.0))


def test_a_gain_anywhere_on_the_frontier_counts() -> None:
    step = (Step("fuse", "head"),)
    assert worth(told(step, -0.2, 0.4)) > 0
    assert worth(told(step, -0.2)) == 0


def test_what_helped_elsewhere_is_tried_at_once() -> None:
    view = small_view()
    member = view.archive.promising()[0]
    found: list[Step] = []
    for rule, site in view.choices(member.design_hash):
        if rule.name not in {s.rule for s in found}:
            found.append(Step(rule.name, str(site)))
    wanted = found[:3]
    credit = Credit()
    credit.learn([told((step,), 0.1) for step in wanted])
    first = next(iter(Bottleneck({"credit": credit.state()}).ask(view, 1)))
    done, _ = replay(view.design(member.design_hash), wanted, view.rules)
    assert set(first.steps) == {Step(rule.name, str(site)) for rule, site in done}
    assert len(first.steps) > 1


def unlowered(design: Design) -> tuple[Site, ...]:
    raise LoweringError("weight 'gain' is stored otherwise than it is needed; place its section alike")


def test_a_rewrite_that_cannot_be_lowered_does_not_end_a_search() -> None:
    words = Documentation("", "", "", "")
    broken = Rule("broken", "fusion", words, unlowered, lambda design, site: None, "", frozenset())
    view = small_view()
    member = view.archive.members()[0]
    design = view.design(member.design_hash)
    assert sites_of(broken, design) == ()
    assert replay(design, [Step("broken", "head")], [broken]) == ([], design)
    assert list(Evolutionary().ask(replace(view, rules=[broken]), 2)) == []


def run(method: str, seed: int, volumes: list[float]) -> Run:
    frontier = [(volumes[-1], 10.0)]
    return Run("tiny on 1 x none", method, seed, 3, "v", 1.0, volumes, frontier, 2, 3, "budget")


def test_figures_of_the_benchmark(tmp_path: Path) -> None:
    assert band([1.0, 2.0, 3.0]) == pytest.approx((1.2, 2.0, 2.8))
    assert needed([0.0, 0.4, 0.9], 0.5) == 2
    assert needed([0.0, 0.4], 0.5) is None
    runs = [run("mix", 0, [1.5, 2.0, 2.0]), run("mix", 1, [2.0, 2.0, 2.0]), run("nsga2", 0, [1.0, 1.0, 1.0])]
    rows = {line.split()[0]: line.split() for line in table(runs)[1:]}
    assert rows["nsga2"][2] == ">3", "a share that is not reached has no number"
    assert picture(runs).count("<polyline") == 2
    log = Log(tmp_path / "log")
    log.add(runs[0])
    with (tmp_path / "log").open("a", encoding="utf-8") as file:
        file.write('{"scenario": "ti')  # a run was killed here
    again = Log(tmp_path / "log")
    assert [(r.method, r.volumes) for r in again.runs()] == [("mix", runs[0].volumes)]
