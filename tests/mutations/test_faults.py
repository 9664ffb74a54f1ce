"""Every rule declares faults; those are real, found, and refused: a sample of `make gate`."""

from __future__ import annotations

import random

import pytest

from mutations.faults import BY_NAME, FAULTS
from mutations.faults.declared import FAMILIES, RULES, declared
from mutations.faults.gate import case, inject, right
from mutations.faults.judge import CAUGHT, REAL, changes, judge
from mutations.faults.kinds import WHOLE
from mutations.registry import rule, rules
from mutations.start import starting_designs
from rooflang.lower import lower
from tests.mutations.workloads import WORKLOADS, workload

# Of each rule one workload; the whole matrix is `make gate`.
NAMES = [n for n in WORKLOADS if not n.startswith("compressed")]
PER_RULE = 12  # kinds of fault


def test_every_rule_declares_faults():
    names = {r.name for r in rules()}
    for r in rules():
        assert declared(r.name, r.family)
    assert set(RULES) == names
    assert {r.family for r in rules()} >= set(FAMILIES) - {"decoding"}


def test_a_rule_without_faults_is_not_registered():
    with pytest.raises(ValueError, match="must declare faults of its own"):
        declared("a new rule", "fusion")


def test_a_declared_fault_must_be_known(monkeypatch):
    monkeypatch.setitem(RULES, "fuse", ("cosmic ray",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cosmic ray"):
        declared("fuse", "fusion")


@pytest.mark.parametrize("name", [r.name for r in rules()])
def test_no_fault_escapes(name):
    """Of each rule a sample of kinds, declared ones first, on a workload in which it has a site."""
    r = rule(name)
    order = random.Random(name).sample(NAMES, len(NAMES))
    said = declared(r.name, r.family)
    known = {f.name: f for f in (*FAULTS, *WHOLE)}
    others = [f for n, f in known.items() if n not in said]
    kinds = [*(known[k] for k in said), *others][:PER_RULE]
    for place in order:
        reference, starts = workload(place)
        made = case(r, place, reference, (*starts[:3], starts[-1]), 0)
        if made is None:
            continue
        assert right(made, 0) == ""
        found = list(inject(made, 0, kinds))
        assert found
        assert [i for i in found if i.judgement.outcome == REAL] == []
        assert any(i.judgement.outcome == CAUGHT for i in found)
        return
    pytest.fail(f"{name} has no site in {', '.join(order)}")


def test_the_judge_tells_real_faults_from_harmless_ones(monkeypatch):
    """With a verifier that accepts everything, float64 alone says what escaped."""
    reference, _ = workload("grouped queries, dense")
    design = starting_designs(reference)[0]
    lowered = lower(design)
    unit = next(u for _, u in lowered.units() if u.path.endswith("attention"))
    places = BY_NAME["wrong scale"].places(unit, dict(lowered.meshes))
    assert changes(lowered, unit, places[0][1], 0)
    assert changes(lowered, unit, unit, 0) == ""

    class Accepted:
        accepted = True

    monkeypatch.setattr("mutations.faults.judge.verify_lowered", lambda *_: Accepted())
    found = judge(reference, lowered, unit, BY_NAME["wrong scale"], *places[0], 0)
    assert found.outcome == REAL
    narrowed = BY_NAME["value narrowed"]
    where, bad = narrowed.places(unit, dict(lowered.meshes))[0]
    assert judge(reference, lowered, unit, narrowed, where, bad, 0).outcome == REAL


@pytest.mark.parametrize("name", WORKLOADS)
def test_all_that_a_workload_computes_is_used(name):
    """A fault in what nothing reads would be none: every section leaves a value or a state behind."""
    lowered = lower(workload(name)[1][0])
    for _, unit in lowered.units():
        read = {t.name for op in unit.ops for u in op.operands for t in (u.tensor, u.index) if t is not None}
        read |= {t.name for _, t in unit.outputs}
        unread = [op.result.name for op in unit.ops if op.operator != "append" and op.result.name not in read]
        assert not unread, f"{unit.path}: {unread}"
