"""Right rewrites are accepted, wrong ones are refused with a message that says where and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mutations.verify import Verdict, verify, verify_lowered
from mutations.verify.microbatches import in_parts
from rooflang.design import (
    Design,
    Op,
    Operand,
    Placement,
    Program,
    Repeat,
    Schedule,
    Section,
    Statement,
    Weight,
)
from rooflang.lower import lower
from rooflang.lowered import LocalOp, Unit
from rooflang.size import const
from tests.run.designs import attention, design, moe, op, program, unit_of
from tests.run.test_placements import SPARSE_SIZES, sparse
from tests.verify.faults import attribute, collectives, dropped_but_claimed, operand, rebuilt, with_unit

MODEL = program(attention(), moe())
SPARSE = program(sparse(), extra=SPARSE_SIZES)


def model(program_: Program = MODEL) -> Design:
    return design(program_)


RIGHT = {
    "one device": design(MODEL),
    "tp": design(MODEL, "tp=8", "attention: K over tp", "experts: F over tp"),
    "dp+ep": design(MODEL, "ep=8", "attention: B over ep", "moe: B over ep", "experts: X over ep"),
    "tp+ep": design(
        MODEL, "dp=2 tp=4", "attention: B over dp", "attention: K over tp", "moe: B over dp tp",
        "experts: X over dp tp",
    ),
    "experts over more axes than tokens": design(
        MODEL, "dp=2 tp=4", "attention: B over dp tp", "moe: B over tp", "experts: X over dp tp"
    ),
    "cp": design(MODEL, "cp=8", "attention: S over cp"),
    "cp+tp": design(MODEL, "cp=2 tp=4", "attention: S over cp", "attention: K over tp", "moe: X over tp"),
    "two pools": design(
        MODEL, "dp=2 tp=4", "attention: B over dp", "attention: K over tp", "moe: B over dp tp",
        "experts: X over ep", homes={"experts": "far"}, far="ep=8",
    ),
    "three axes": design(
        MODEL, "a=2 b=2 c=2", "attention: B over a", "attention: S over b", "attention: K over c",
        "experts: X over a b",
    ),
    "micro-batches": design(MODEL, "tp=8", "attention: K over tp").with_(schedule=Schedule(2)),
}  # fmt: skip
RIGHT_SPARSE = {
    "tp": design(SPARSE, "tp=8", "sparse: H over tp"),
    "rows over cp": design(SPARSE, "cp=8", "sparse: N over cp", "sparse: M over cp"),
    "all": design(SPARSE, "dp=2 cp=2 tp=2", "sparse: B over dp", "sparse: N over cp", "sparse: H over tp"),
}


def refused(verdict: Verdict, code: str, where: str = "", text: str = "") -> None:
    assert verdict.verdict == "refused"
    assert verdict.certificate is None
    assert any(r.code.startswith(code) and where in r.where and text in r.message for r in verdict.reasons), [
        str(r) for r in verdict.reasons
    ]
    assert all(r.code and r.where and r.message for r in verdict.reasons)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RIGHT)
def test_right_placements_are_accepted(name: str, seed: int) -> None:
    verdict = verify(model(), RIGHT[name], seed)
    assert verdict.accepted, [str(r) for r in verdict.reasons]
    assert verdict.false_accept_bound < 1e-9
    assert verdict.certificate is not None
    assert verdict.certificate["seed"] == seed


@pytest.mark.parametrize("name", RIGHT_SPARSE)
def test_right_placements_of_compressed_attention(name: str) -> None:
    verdict = verify(model(SPARSE), RIGHT_SPARSE[name])
    assert verdict.accepted, [str(r) for r in verdict.reasons]


def changed(body: Callable[[tuple[Statement, ...]], tuple[Statement, ...]], section: str) -> Design:
    """The model with the statements of one section changed."""

    def visit(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for s in statements:
            if isinstance(s, Section) and s.name == section:
                s = replace(s, body=body(s.body))
            elif isinstance(s, Section | Repeat):
                s = replace(s, body=visit(s.body))
            found.append(s)
        return tuple(found)

    return model(replace(MODEL, body=visit(MODEL.body)))


def edit(result: str, change: Callable[[Op], Op]) -> Callable[[tuple[Statement, ...]], tuple[Statement, ...]]:
    def apply(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(change(s) if isinstance(s, Op) and s.result == result else s for s in body)

    return apply


def test_independent_statements_may_change_places() -> None:
    def swapped(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        names = [s.result if isinstance(s, Op) else "" for s in body]
        i, j = names.index("q0"), names.index("vv")
        order = list(body)
        order[i], order[j] = order[j], order[i]
        return tuple(order)

    d = changed(swapped, "attention")
    # q0 must still come before what reads it
    body = next(s for s in d.program.body if isinstance(s, Repeat)).body[0].body  # type: ignore[union-attr]
    names = [s.result for s in body if isinstance(s, Op)]
    moved = [s for s in body if not (isinstance(s, Op) and s.result == "q")]
    at = next(i for i, s in enumerate(moved) if isinstance(s, Op) and s.result == "q0")
    moved.insert(at + 1, next(s for s in body if isinstance(s, Op) and s.result == "q"))
    assert names
    d = changed(lambda _: tuple(moved), "attention")
    assert verify(model(), d).accepted


def test_sections_may_be_renamed_or_joined() -> None:
    joined = Section("layer_body", (*attention().body, *moe().body))
    verdict = verify(model(), model(program(joined)))
    assert verdict.accepted, [str(r) for r in verdict.reasons]
    renamed = replace(attention(), name="mixer")
    assert verify(model(), model(program(renamed, moe()))).accepted


def test_products_of_weights_may_be_derived() -> None:
    """q = h·wq with wq replaced by a derived copy, wq·1 = wq; any other formula is refused."""

    def derive(formula: Op) -> Design:
        def apply(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
            made = Weight("wd", "bf16", ("D", "K", "G", "E"), formula)
            return (made, *edit("q0", lambda o: replace(o, operands=(Operand("h"), Operand("wd"))))(body))

        return changed(lambda body: (*body[:5], *apply(body[5:])), "attention")

    right = Op("wd", "einsum", (Operand("wq"),), (), ("D", "K", "G", "E"))
    verdict = verify(model(), derive(right))
    assert verdict.accepted, [str(r) for r in verdict.reasons]
    wrong = Op("wd", "add", (Operand("wq"), Operand("wq")))
    refused(verify(model(), derive(wrong)), "value.differs", "layer.attention.x", "attention.q0")


def test_a_wrong_scale_is_refused() -> None:
    def scaled(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        at = next(i for i, s in enumerate(body) if isinstance(s, Op) and s.result == "l")
        return (*body[:at], op("s", "scale", "s", by=0.5), *body[at:])

    refused(verify(model(), changed(scaled, "attention")), "value.differs", "layer.attention.x")


def test_a_rewired_operand_is_refused() -> None:
    rewired = edit("o", lambda o: replace(o, operands=(Operand("p"), Operand("k"))))
    refused(
        verify(model(), changed(rewired, "attention")), "value.differs", "layer.attention.x", "attention.o"
    )


def test_a_changed_attribute_is_refused() -> None:
    limit = edit("a", lambda o: replace(o, attributes=(("limit", 6.0),)))
    refused(verify(model(), changed(limit, "experts")), "value.differs", "layer.moe.x", "swiglu")
    turned = edit("q", lambda o: replace(o, attributes=(("last", 64), ("theta", 1e6))))
    refused(verify(model(), changed(turned, "attention")), "value.differs", "layer.attention.x", "rope")


def test_a_wrong_number_of_picks_is_refused() -> None:
    fewer = replace(MODEL, dims=tuple((n, const(3) if n == "k" else s) for n, s in MODEL.dims))
    refused(verify(model(), model(fewer)), "type.size", "dims", "k")
    more = replace(MODEL, dims=(*MODEL.dims, ("k3", const(3))))
    d = design(more)

    def three(s: Statement) -> Statement:
        if isinstance(s, Op):
            dims = tuple("k3" if x == "k" else x for x in s.dims) if s.dims else None
            uses = tuple(replace(o, over="k3" if o.over == "k" else o.over) for o in s.operands)
            return replace(s, dims=dims, operands=uses)
        if isinstance(s, Section | Repeat):
            return replace(s, body=tuple(three(x) for x in s.body))
        return s

    wrong = replace(d, program=replace(more, body=tuple(three(s) for s in more.body)))
    refused(verify(d, wrong), "value.differs", "layer.moe.x")


def test_layers_with_different_weights_may_not_be_merged() -> None:
    body = tuple(replace(s, count=40) if isinstance(s, Repeat) else s for s in MODEL.body)
    refused(verify(model(), model(replace(MODEL, body=body))), "structure.segments", "program", "layer x 40")


def test_a_dropped_expert_is_refused() -> None:
    """One pick's weight is not counted."""
    d = RIGHT["dp+ep"]
    bad = with_unit(lower(d), "layer.moe", lambda u: rebuilt(u, "z0", _one_expert_less))
    refused(verify_lowered(model(), bad), "", "layer.moe")


def _one_expert_less(o: LocalOp) -> LocalOp:
    return operand(o, 1, replace(o.operands[1].tensor, name="experts.up"))


def test_narrow_caches_and_weights_are_refused() -> None:
    def fp8(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(replace(s, dtype="fp8") if isinstance(s, Weight) and s.name == "wq" else s for s in body)

    refused(verify(model(), changed(fp8, "attention")), "type.narrowed", "attention.wq", "bf16")


def test_a_cache_with_another_window_is_refused() -> None:
    def shorter(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            replace(s, rows="window", span=512) if not isinstance(s, Op) and s.name == "k" else s
            for s in body  # type: ignore[union-attr]
        )

    refused(verify(model(), changed(shorter, "attention")), "type.state", "attention.k", "window 512")


@pytest.mark.parametrize("name", ["tp", "dp+ep", "tp+ep", "cp", "cp+tp", "three axes"])
@pytest.mark.parametrize("path", ["layer.attention", "layer.moe"])
@pytest.mark.parametrize("static", [True, False])
def test_every_missing_collective_is_refused(
    name: str, path: str, static: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removed with its layout or while that is claimed; by the static rules, or by execution alone."""
    if not static:
        monkeypatch.setattr("mutations.verify.verifier.check", lambda lowered, numbers: ())
    lowered = lower(RIGHT[name])
    for result in collectives(unit_of(lowered, path)):
        gone = with_unit(lowered, path, lambda u, r=result: rebuilt(u, r, lambda _: None))  # type: ignore[misc]
        refused(verify_lowered(model(), gone), "", path)
        claimed = with_unit(lowered, path, lambda u, r=result: dropped_but_claimed(u, r))  # type: ignore[misc]
        refused(verify_lowered(model(), claimed), "", path)


def test_a_doubled_reduction_is_refused() -> None:
    lowered = lower(RIGHT["cp"])

    def twice(u: Unit) -> Unit:
        reduce = next(o for o in u.ops if o.operator == "all_reduce" and o.operands[0].tensor.name == "o")
        again = replace(
            reduce, operands=(replace(reduce.operands[0], tensor=reduce.result),),
            result=replace(reduce.result, name="o@again"),
        )  # fmt: skip
        at = u.ops.index(reduce)
        later = tuple(operand(o, 0, again.result) if o.result.name == "y" else o for o in u.ops[at + 1 :])
        return replace(u, ops=(*u.ops[: at + 1], again, *later))

    refused(
        verify_lowered(model(), with_unit(lowered, "layer.attention", twice)),
        "placement.collective",
        "o@again",
    )


def test_a_sum_over_the_wrong_axis_is_refused() -> None:
    lowered = lower(RIGHT["tp+ep"])
    unit = unit_of(lowered, "layer.attention")
    name = next(o.result.name for o in unit.ops if o.operator == "reduce_scatter")
    bad = with_unit(
        lowered, "layer.attention", lambda u: rebuilt(u, name, lambda o: replace(o, axes=("dp",)))
    )
    refused(verify_lowered(model(), bad), "placement.collective", "layer.attention", "dp")


def test_a_non_linearity_before_the_sum_is_refused() -> None:
    d = RIGHT["tp"]
    lowered = lower(d)

    def early(u: Unit) -> Unit:
        return rebuilt(
            u, "y", lambda o: replace(o, operator="norm", operands=(replace(o.operands[0], over="E"),))
        )

    refused(
        verify_lowered(model(), with_unit(lowered, "layer.attention", early)), "type", "layer.attention.y"
    )
    norm = LocalOp("norm", *_norm_of_partial(d), section="layer.attention")

    def inserted(u: Unit) -> Unit:
        at = next(i for i, o in enumerate(u.ops) if o.result.name == "y")
        return replace(u, ops=(*u.ops[: at + 1], norm, *u.ops[at + 1 :]))

    refused(
        verify_lowered(model(), with_unit(lowered, "layer.attention", inserted)), "placement.partial", "n"
    )


def _norm_of_partial(d: Design):  # type: ignore[no-untyped-def]
    from rooflang.lowered import Use

    y = next(o.result for o in unit_of(lower(d), "layer.attention").ops if o.result.name == "y")
    return replace(y, name="n"), (Use(y, None, "D"),)


def test_a_stale_neighbour_is_refused() -> None:
    """Values that a rank must receive are taken from what it held before."""
    lowered = lower(RIGHT["tp+ep"])
    unit = unit_of(lowered, "layer.attention")
    gathered = next(o for o in unit.ops if o.operator == "all_gather")

    def stale(u: Unit) -> Unit:
        before = unit.inputs[0][1]
        return rebuilt(u, gathered.result.name, lambda o: operand(o, 0, before))

    refused(
        verify_lowered(model(), with_unit(lowered, "layer.attention", stale)),
        "value.differs",
        "layer.attention",
    )


def test_a_slice_that_is_off_by_one_is_refused() -> None:
    plain = model(SPARSE)
    bad = with_unit(
        lower(RIGHT_SPARSE["tp"]),
        "layer.sparse",
        lambda u: rebuilt(u, "ki0", lambda o: attribute(o, "start", 447)),
    )
    refused(verify_lowered(plain, bad), "state.differs", "layer.sparse.ci", "ki0")


def test_reading_a_cache_before_the_append_is_refused() -> None:
    lowered = lower(RIGHT["cp"])

    def early(u: Unit) -> Unit:
        old = next(t for t in u.states if t.name == "k")
        return rebuilt(u, "s", lambda o: operand(o, 1, old))

    refused(
        verify_lowered(model(), with_unit(lowered, "layer.attention", early)), "graph.stale", "attention.s"
    )


def test_a_batch_halved_badly_is_refused() -> None:
    """Micro-batches of 4 and 4 of 9 sequences lose one."""
    from mutations.verify.comparison import Runner, side
    from rooflang.run import shrink

    lowered = lower(RIGHT["tp"])
    trial = shrink([lowered])
    step = trial.steps[0]
    half = step.batch // 2
    runner = Runner(side(unit_of(lowered, "layer.attention")), {}, trial, 0)
    outcome = in_parts(runner, 0, step, ((0, half), (half, 2 * half)))
    assert [f.code for f in outcome.failures] == ["microbatch.partition"]


def test_a_sum_over_the_batch_is_refused_in_micro_batches() -> None:
    def mixing(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        total = op("t", "einsum", "y", dims="Q D")
        at = next(i for i, s in enumerate(body) if isinstance(s, Op) and s.result == "x")
        return (*body[:at], total, op("y", "add", "y", "t"), *body[at:])

    d = changed(mixing, "attention")
    assert verify(d, d).accepted
    refused(verify(d, d.with_(schedule=Schedule(2))), "value.differs", "layer.attention.x")


def test_lowering_errors_are_reasons() -> None:
    bad = design(MODEL, "tp=8", "attention: K over zz")
    verdict = verify(model(), bad)
    assert not verdict.accepted
    assert "zz" in verdict.reasons[0].message


def test_placements_stay_out_of_the_reference() -> None:
    assert verify(RIGHT["tp"], RIGHT["cp"]).accepted
    assert verify(RIGHT["cp"], model()).accepted
    assert Placement() == model().placement
