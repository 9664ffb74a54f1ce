"""Main-memory traffic of local operators: what a kernel must read and what it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping

from rooflang.dtype import format_of, index_dim
from rooflang.lowered import LocalOp, Tensor, Unit, Use
from rooflang.operators import OPERATORS
from rooflang.size import ONE, ZERO, Size, const, div, minimum, mul, routing
from rooflang.work.extent import Extents, cuts_of, product
from rooflang.work.ragged import CONTEXT


def producers(unit: Unit) -> Mapping[Tensor, str]:
    """The kernel that makes each value; views belong to the kernel of what they look at."""
    made: dict[Tensor, str] = {}
    for op in unit.ops:
        if op.operator in VIEWS and op.operands[0].tensor in made:
            made[op.result] = made[op.operands[0].tensor]
        else:
            made[op.result] = op.kernel
    return made


# Operators that move no data: the language's views, and layouts that a rank takes from what it holds.
VIEWS = frozenset((*(o.name for o in OPERATORS.values() if o.view), "keep", "cut"))


def roots(unit: Unit) -> Mapping[Tensor, Tensor]:
    """For a view, the value it looks at; for values laid end to end, a weight or cache among them."""
    found: dict[Tensor, Tensor] = {}
    for op in unit.ops:
        if op.operator not in VIEWS:
            continue
        bases = [found.get(u.tensor, u.tensor) for u in op.operands]
        stored = [b for b in bases if b.kind in ("weight", "state")]
        if stored or op.operator != "concat":
            found[op.result] = (stored or bases)[0]
    return found


def read_bytes(use: Use, extents: Extents, base: Tensor, op: LocalOp) -> tuple[str, Size]:
    """(class, bytes) of one operand of `op` read from main memory, once for all tokens of the step; `base`
    is what it looks at, if it is a view."""
    tensor = use.tensor
    width = format_of(tensor.dtype).bytes
    if tensor.kind == "input":
        return "activation", ZERO  # token ids are few, and noise is made on chip
    if use.index is None:
        kind = base.kind if base.kind in ("weight", "state") else "activation"
        return kind, mul(read_extents(extents, base, op).elements(tensor), width)
    target = index_dim(use.index.dtype) or ""
    cuts = cuts_of(tensor)
    inner = mul(
        *(extents.dim(d, cuts.get(d, ())) for d in tensor.dims if d not in ("B", target)), const(width)
    )
    route = next((r for r in extents.routings.values() if r.tag == use.index.name.partition("@")[0]), None)
    queries = extents.queries(cuts_of(op.result))
    picks = mul(*(extents.seen(d, (), queries) for d in use.index.dims if d not in ("B", "Q")))
    if tensor.kind == "state":
        own = {d: a for d, a in cuts.items() if d != target}
        batch = extents.dim("B", own.get("B", ()))
        rows = routing("rows", extents.dim(target, cuts.get(target, ())), picks, extents.sizes["Q"],
                       product(cuts.get(target, ())), tag=route.tag if route else "")  # fmt: skip
        return "state", mul(batch, rows, inner)
    tokens = extents.tokens(cuts_of(use.index))
    if not [d for d in use.index.dims if d not in ("B", "Q")]:
        # A table look-up reads one row per token, of those that this rank holds.
        return "weight", mul(tokens, inner)
    ranks = product(cuts.get(target, ()))
    count = routing("distinct", extents.sizes[target], picks, tokens, ranks, tag=route.tag if route else "")
    return "expert", mul(count, inner)


def read_extents(extents: Extents, base: Tensor, op: LocalOp) -> Extents:
    """Sizes as the operands of `op` are read: the tokens of a step see the union of their windows."""
    if base.rows != "window" or op.operator in _BLOCKWISE:
        return extents
    rows = base.dims[1]
    union = extents.sizes[rows] + extents.queries(cuts_of(op.result)) - 1
    if "S" in extents.sizes[rows].symbols():
        union = minimum(CONTEXT, union)
    return Extents({**extents.sizes, rows: union}, extents.routings)


# Operators that take their own tokens from their operands, and from a window what came before the step.
_BLOCKWISE = frozenset(("pool", "conv"))


def write_bytes(op: LocalOp, extents: Extents) -> tuple[str, Size]:
    """(class, bytes) of a result that leaves its kernel. An append writes its rows, or all of what the
    last token leaves, in the state's format."""
    if op.operator == "append":
        value = op.operands[1].tensor
        state = op.operands[0].tensor
        rows = state if state.rows == "last" else value
        amount = mul(extents.elements(rows), format_of(state.dtype).bytes)
        if state.rows == "every" and value.every == 1:
            amount = div(amount, state.span)
        if state.rows == "window":
            # Of a step longer than the window only its last rows stay.
            amount = mul(amount, minimum(ONE, div(state.span, extents.sizes["Q"])))
        return "state", amount
    return "activation", extents.bytes(op.result)
