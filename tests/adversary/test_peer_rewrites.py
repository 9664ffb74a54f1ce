"""Wrong rewrites that a check of shapes alone accepts, and cheats on precision: each is refused."""

from __future__ import annotations

import pytest

from catalogue.models import load_model
from mutations.faults import BY_NAME
from mutations.faults.judge import with_unit
from mutations.start import starting_designs
from mutations.verify import verify, verify_lowered
from mutations.verify.comparison import Runner, side
from mutations.verify.microbatches import in_parts
from rooflang.check import check
from rooflang.lower import lower
from rooflang.run import shrink_units
from tests.adversary.test_deceptions import G, L, edit

# (model, changes of its text)
EDITS = {
    "products of different weights merged": (
        L,
        (("      m_up = einsum(u, up -> B Q FD)\n", ""), ("swiglu(m_gate, m_up)", "swiglu(m_gate, m_gate)")),
    ),
    "a product dropped": (L, (("m_act = swiglu(m_gate, m_up)", "m_act = silu(m_gate)"),)),
    "contraction cut before swiglu": (
        L,
        (
            (" FD=28672", " FD=28672 D1=4096"),
            (
                "m_gate = einsum(u, gate -> B Q FD)\n      m_up = einsum(u, up -> B Q FD)\n"
                "      m_act = swiglu(m_gate, m_up)",
                "u1 = slice(u over D, start=0 -> B Q D1)\n u2 = slice(u over D, start=4096 -> B Q D1)\n"
                " weight g1: bf16[D1, FD] = slice(gate over D, start=0 -> D1 FD)\n"
                " weight g2: bf16[D1, FD] = slice(gate over D, start=4096 -> D1 FD)\n"
                " weight p1: bf16[D1, FD] = slice(up over D, start=0 -> D1 FD)\n"
                " weight p2: bf16[D1, FD] = slice(up over D, start=4096 -> D1 FD)\n"
                " m_g1 = einsum(u1, g1 -> B Q FD)\n m_p1 = einsum(u1, p1 -> B Q FD)\n"
                " m_g2 = einsum(u2, g2 -> B Q FD)\n m_p2 = einsum(u2, p2 -> B Q FD)\n"
                " m_a1 = swiglu(m_g1, m_p1)\n m_a2 = swiglu(m_g2, m_p2)\n m_act = m_a1 + m_a2",
            ),
        ),
    ),
    "scores narrowed under a new name": (
        L,
        (("s: f32 = einsum(q_t, keys", "s2 = einsum(q_t, keys"), ("logsumexp(s over", "logsumexp(s2 over"),
         ("softmax(s, ", "softmax(s2, ")),
    ),
    "scores narrowed, then widened": (
        L,
        (("s: f32 = einsum(q_t, keys -> B Q K G S)",
          "s2 = einsum(q_t, keys -> B Q K G S)\n s: f32 = cast(s2)"),),
    ),
    "logits narrowed under a new name": (
        L, (("logits: f32 = einsum(last", "few = einsum(last"), ("logits + noise", "few + noise")),
    ),
    "router narrowed in another layout": (
        G,
        (("affinity: f32 = einsum(u, router -> B Q E)",
          "turned = einsum(u, router -> B E Q)\n affinity: f32 = einsum(turned -> B Q E)"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_refused(name):
    model, changes = EDITS[name]
    verdict = verify(load_model(model), edit(model, *changes))
    assert not verdict.accepted
    assert all(r.advice for r in verdict.reasons)


def placed(model, words):
    reference = load_model(model)
    return reference, lower(next(d for d in starting_designs(reference) if words in d.name))


@pytest.mark.parametrize(
    ("model", "fault"),
    [("glm-5", "local top-k"), ("glm-5", "local statistics"), ("glm-4.5", "local statistics")],
)
@pytest.mark.parametrize("static", [True, False])
def test_context_parallel_decode_needs_all_candidates_and_the_sums(model, fault, static, monkeypatch):
    """By the static rules, and by execution alone."""
    reference, lowered = placed(model, "+ CP")
    if not static:
        monkeypatch.setattr("mutations.verify.verifier.check", lambda lowered, numbers: ())
    tried = 0
    for _, unit in lowered.units():
        if not unit.path.endswith("attention"):
            continue
        for _, bad in BY_NAME[fault].places(unit, dict(lowered.meshes))[:2]:
            verdict = verify_lowered(reference, with_unit(lowered, unit, bad))
            assert not verdict.accepted
            tried += 1
    assert tried


@pytest.mark.parametrize(
    "split",
    [((0, 1), (1, 2)), ((0, 2), (1, 3)), ((0, 1), (2, 3)), ((1, 3), (0, 1)), ((0, 3), (0, 3)), ()],
    ids=["rows lost", "overlapping", "a gap", "out of order", "twice", "none"],
)
def test_micro_batches_partition_the_batch(split):
    _, lowered = placed(L, "TP attention")
    unit = next(u for _, u in lowered.units() if u.path.endswith("attention"))
    trial = shrink_units((lowered,), [unit], 0)
    step = trial.steps[0]
    third = step.batch // 3
    parts = tuple((a * third, b * third) for a, b in split)
    outcome = in_parts(Runner(side(unit), {}, trial, 0), 0, step, parts)
    assert [f.code for f in outcome.failures] == ["microbatch.partition"]


def test_a_value_must_enter_a_section_as_it_left_the_one_before():
    """A conversion between layers that is left out costs nothing, and gives ranks the wrong rows."""
    reference, lowered = placed("gpt-oss-20b", "TP attention + EP")
    unit = next(u for _, u in lowered.units() if u.path.endswith(".enter"))
    place, bad = BY_NAME["collective dropped"].places(unit, dict(lowered.meshes))[0]
    broken = with_unit(lowered, unit, bad)
    assert place
    assert {p.code for p in check(broken, numbers=False)} == {"graph.boundary"}
    assert not verify_lowered(reference, broken).accepted


def test_derived_weights_keep_the_format_of_their_parts():
    from mutations.registry import rule

    reference = load_model(L)
    start = starting_designs(reference)[0]
    merge = rule("merge products")
    lowered = lower(merge.apply(start, merge.sites(start)[0]))
    unit = next(u for _, u in lowered.units() if any(w.derived for w in u.weights))
    name = next(w.name for w in unit.weights if w.derived)
    places = dict(BY_NAME["weight or cache narrowed"].places(unit, dict(lowered.meshes)))
    verdict = verify_lowered(reference, with_unit(lowered, unit, places[name]))
    assert [r.code for r in verdict.reasons] == ["type.narrowed"]


def test_joined_names_are_cut_by_the_outer_one():
    """With one head per rank, heads by width and width by heads hold the same: right by accident."""
    reference, lowered = placed("minimax-text-01", "TP attention + EP")
    fault, tried = BY_NAME["wrong permutation"], 0
    for _, unit in lowered.units():
        for where, bad in fault.places(unit, dict(lowered.meshes)):
            joined = next(op for op in unit.ops if op.result.name == where)
            if joined.operator == "merge" and any(a == "tp" for a, _ in joined.result.layout):
                assert "placement.dim" in {
                    r.code for r in verify_lowered(reference, with_unit(lowered, unit, bad)).reasons
                }
                tried += 1
    assert tried
