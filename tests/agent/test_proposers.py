"""All our proposers against the suite that is shipped, the suite against bad ones, plans, registry."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from agent import Budget, ProblemError, search
from agent.exhaustive import Exhaustive
from agent.memory import Transfer
from agent.plan import Line, Plan, read_plan
from agent.proposer import Factory, Json, Proposal, View
from agent.registry import STANDARD, chosen, proposer_names
from agent.scripted import scripted
from agent.testing import ConformanceError, check_proposer
from agent.testing.proposer_suite import CHECKS
from agent.testing.views import small_view
from db import Database
from rooflang.printer import print_design
from tests.agent.world import PROBLEM, accept

VIEW = small_view()
PLAN = Plan(
    (
        Line((("micro-batches", "*"),)),
        Line((("shard mlp", "mlp(axis=*"),), "best"),
        Line((("second stream", "*"), ("fuse", "attention*")), every=False),
    )
)


def transfer(state: Json | None = None, seed: int = 0) -> Transfer:
    name = VIEW.archive.members()[0].design_hash
    item = {"design": name, "same_model": True, "root": name, "root_name": "", "steps": [],
            "same_matrix_work": True, "search": "0" * 32}  # fmt: skip
    return Transfer(state or {"queue": [item]})


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize(
    "factory", [*STANDARD, scripted(PLAN), transfer], ids=["0", "1", "2", "plan", "memory"]
)
def test_own_proposers_conform(factory: Factory, check: Any) -> None:
    check(factory, VIEW)


class Broken(Exhaustive):
    """Conforms; its children do not."""

    def __init__(self, state: Json | None = None, seed: int = 0) -> None:
        super().__init__(state, seed)
        self.given = state


class Unseeded(Broken):
    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        found = list(super().ask(view, budget))
        random.SystemRandom().shuffle(found)
        yield from found


class Forgetful(Broken):
    def state(self) -> Json:
        return {}


class NotJson(Broken):
    def state(self) -> Json:
        return {"closed": {1, 2}}


class Stranger(Broken):
    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        for p in super().ask(view, budget):
            yield Proposal("f" * 64, p.steps, p.design, "")


class Assuming(Broken):
    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        view.archive.members()[0]
        return super().ask(view, budget)


@pytest.mark.parametrize("factory", [Unseeded, Forgetful, NotJson, Stranger, Assuming])
def test_the_suite_finds_what_is_wrong(factory: Factory) -> None:
    with pytest.raises((ConformanceError, IndexError)):
        check_proposer(factory, VIEW)


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plan_is_played_and_nothing_else(tmp_path: Path) -> None:
    plan = read_plan(written(tmp_path, "plan:\n- {rule: merge products}\n- {rule: shard mlp, from: best}\n"))
    played = run(tmp_path, plan)
    assert played.stopped == "exhausted"
    again = run(tmp_path, plan)
    assert (again.structures, again.stopped) == (played.structures, "exhausted")
    with Database.open(tmp_path / "a.sqlite") as database:
        candidates = database.list_candidates(played.search_id)
    assert {c.proposer for c in candidates} == {"baseline", "plan"}
    assert {c.rule for c in candidates if c.proposer == "plan"} == {"merge products", "shard mlp"}
    rounds = {c.rule: c.round_number for c in candidates}
    assert rounds["shard mlp"] > rounds["merge products"], "the best is known after the first entry's results"


def run(folder: Path, plan: Plan) -> Any:
    return search(
        PROBLEM, folder / "a.sqlite", budget=Budget(200), workers=1, verify=accept, memory=False,
        proposers=[scripted(plan)],
    )  # fmt: skip


def test_a_design_of_a_plan_is_tried_without_a_parent(tmp_path: Path) -> None:
    from mutations.registry import rule
    from mutations.start import starting_designs

    start = starting_designs(PROBLEM.reference())[0]
    merge = rule("merge products")
    made = merge.apply(start, merge.sites(start)[0])
    (tmp_path / "mine.roof").write_text(print_design(made), encoding="utf-8")
    found = run(tmp_path, read_plan(written(tmp_path, "- file: mine.roof\n")))
    assert found.stopped == "exhausted"
    with Database.open(tmp_path / "a.sqlite") as database:
        (planned,) = [c for c in database.list_candidates(found.search_id) if c.proposer == "plan"]
        assert (planned.status, planned.parent_hash) == ("accepted", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- rule: microbatches\n", "did you mean 'micro-batches'"),
        ("- rules: []\n", "must be a list of rules"),
        ("- {rule: fuse, from: worst}\n", "`from` must be one of"),
        ("- {rule: fuse, where: x}\n", "has where"),
        ("- file: none.roof\n", "must be a readable design"),
        ("plan: 7\n", "must be a list of entries"),
        ("a: [\n", "must be YAML or JSON"),
        ("- 5\n", "entry 1 of"),
    ],
)
def test_a_bad_plan_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ProblemError) as caught:
        read_plan(written(tmp_path, text))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_proposers_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    offered: Sequence[EntryPoint] = (
        EntryPoint("mine", "tests.agent.test_proposers:Broken", "seis.proposers"),
        EntryPoint("gone", "no_such_module:Thing", "seis.proposers"),
    )
    monkeypatch.setattr("agent.registry.entry_points", lambda group: offered)
    assert proposer_names() == ("bottleneck", "exhaustive", "evolutionary", "gone", "mine")
    assert chosen(["exhaustive"]) == (Exhaustive,)
    assert chosen(["mine"])[0](None, 0).name == "exhaustive"
    wrong: Any = ((["gone"], "must be importable"), (["nobody"], "must be one of"), ([], "at least one"))
    for names, words in wrong:
        with pytest.raises(ProblemError, match=words):
            chosen(names)
