"""Main-memory traffic of local operators: what a kernel must read and what it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping

from rooflang.dtype import format_of, index_dim
from rooflang.lowered import LocalOp, Tensor, Unit, Use
from rooflang.operators import OPERATORS
from rooflang.size import ZERO, Size, const, div, mul, routing
from rooflang.work.extent import Extents, cuts_of, product


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


def read_bytes(use: Use, extents: Extents, base: Tensor) -> tuple[str, Size]:
    """(class, bytes) of one operand read from main memory; `base` is what it looks at, if it is a view."""
    tensor = use.tensor
    width = format_of(tensor.dtype).bytes
    if tensor.kind == "input":
        return "activation", ZERO  # token ids are few, and noise is made on chip
    if use.index is None:
        kind = base.kind if base.kind in ("weight", "state") else "activation"
        return kind, mul(extents.elements(tensor), width)
    target = index_dim(use.index.dtype) or ""
    cuts = cuts_of(tensor)
    inner = mul(
        *(extents.dim(d, cuts.get(d, ())) for d in tensor.dims if d not in ("B", target)), const(width)
    )
    route = next((r for r in extents.routings.values() if r.tag == use.index.name.partition("@")[0]), None)
    picks = mul(*(extents.sizes[d] for d in use.index.dims if d not in ("B", "Q")))
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


def write_bytes(op: LocalOp, extents: Extents) -> tuple[str, Size]:
    """(class, bytes) of a result that leaves its kernel. An append writes its rows in the cache's format."""
    if op.operator == "append":
        value = op.operands[1].tensor
        state = op.operands[0].tensor
        amount = mul(extents.elements(value), format_of(state.dtype).bytes)
        if state.rows == "every" and value.every == 1:
            amount = div(amount, state.span)
        return "state", amount
    return "activation", extents.bytes(op.result)
