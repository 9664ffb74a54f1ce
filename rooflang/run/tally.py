"""What was executed, counted: the other half of the comparison with the cost formulas.

Every count is an integer array over the ranks of the pool (its mesh axes at full size).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

import numpy as np

from rooflang.dtype import format_of, product_rate
from rooflang.lowered import LocalOp, Routing, Use
from rooflang.operators import OPERATORS
from rooflang.run.contract import LEVEL, PAIRS
from rooflang.run.local import Local, resolved
from rooflang.run.value import Array, Mask, Value, align, union


@dataclass(slots=True)
class OpTally:
    """One executed operator or collective.

    `flops` by matrix rate; `reads` and `writes` in elements by tensor (of a cache: rows that some token
    sees); `picked` and `distinct` are index look-ups per operand, in all and without repetition (of
    experts or rows of one rank); `sent` and `received` are bits that cross between ranks.
    """

    operator: str
    result: str
    section: str
    kernel: str
    flops: dict[str, Array] = field(default_factory=dict)
    reads: dict[str, Array] = field(default_factory=dict)
    writes: dict[str, Array] = field(default_factory=dict)
    picked: dict[str, Array] = field(default_factory=dict)
    distinct: dict[str, Array] = field(default_factory=dict)
    sent: Array | None = None
    received: Array | None = None


@dataclass(slots=True)
class RouteTally:
    """What a choice did: expert pairs and distinct choices per rank, and copies of rows per rank."""

    pairs: Array | None = None
    distinct: Array | None = None
    copies: Array | None = None

    @property
    def fullest(self) -> int:
        return 0 if self.pairs is None else int(self.pairs.max())


class Tally:
    """Give its `notice` to a Machine; read `ops` and `routes` after execution."""

    def __init__(self) -> None:
        self.ops: list[OpTally] = []
        self.routes: dict[str, RouteTally] = {}
        self._open: OpTally | None = None

    def notice(self, kind: str, local: Local, op: LocalOp, *what: object) -> None:
        if self._open is None:
            self._open = OpTally(op.operator, op.result.name, op.section, op.kernel)
        getattr(self, f"_{kind}")(local, op, self._open, *what)

    def _flops(self, op: LocalOp, tally: OpTally, local: Local, points: Array) -> None:
        pairs = len(op.operands) - 1
        if pairs:
            rate = product_rate([u.tensor.dtype for u in op.operands])
            tally.flops[rate] = full(2 * pairs * points, local)

    def _points(self, local: Local, op: LocalOp, tally: OpTally, found: list[Value]) -> None:
        names = union(*(v.names for v in found))
        size = {n: v.data.shape[1 + local.lead + i] for v in found for i, n in enumerate(v.names)}
        if "Q" in names:
            masks = [m for v in found if (m := resolved(local, op, v, True)) is not None]
        else:  # all rows that a cache holds are multiplied, once for all queries
            masks = [m for v in found if (m := _held(local, op, v)) is not None]
        self._flops(op, tally, local, counted(masks, names, size, local))

    def _pairs(
        self,
        local: Local,
        op: LocalOp,
        tally: OpTally,
        named: list[tuple[Array, tuple[str, ...]]],
        held: Array,
    ) -> None:
        size = {n: s for a, nn in named for n, s in zip(nn, a.shape, strict=True)}
        inner = prod(s for n, s in size.items() if n not in (LEVEL, PAIRS) and not n.startswith("@"))
        self._flops(op, tally, local, summed(held, local) * inner)

    def _rows(self, local: Local, op: LocalOp, tally: OpTally, use: Use, held: Array, ids: Value) -> None:
        positions = np.broadcast_to(ids.data[0], held.shape)
        at = [ids.names.index("B")] if use.tensor.kind == "state" and "B" in ids.names else []
        picked, distinct = summed(held, local), _distinct(held, positions, at, local)
        tally.picked[use.tensor.name] = full(picked, local)
        tally.distinct[use.tensor.name] = full(distinct, local)
        if use.index is not None:
            route = self.routes.setdefault(use.index.name.partition("@")[0], RouteTally())
            route.pairs, route.distinct = full(picked, local), full(distinct, local)

    def _append(self, local: Local, op: LocalOp, tally: OpTally, writes: Array, placed: Array) -> None:
        row = prod(placed.shape[local.lead + 3 :])
        tally.writes[op.result.name] = full(summed(writes, local) * row, local)

    def _kept(self, local: Local, op: LocalOp, tally: OpTally, taken: Array) -> None:
        """A state of the last token is written whole."""
        count = prod(taken.shape[local.lead + 1 :])
        tally.writes[op.result.name] = full(np.full([1] * local.lead, count), local)

    def _taps(self, local: Local, op: LocalOp, tally: OpTally, positions: Array, taps: int) -> None:
        """A convolution reads the rows of its window that were written before the step."""
        state = op.operands[2].tensor
        v = local.value(state.name)
        row = prod(elements(v, local, d) for d in v.names if d not in ("B", state.dims[1]))
        tally.reads[state.name] = full(summed(np.minimum(positions[..., 0], taps - 1), local) * row, local)

    def _routed(
        self, local: Local, op: LocalOp, tally: OpTally, routing: Routing, held: Array, ids: Value
    ) -> None:
        lost = tuple(local.lead + ids.names.index(n) for n in routing.picks if n in ids.names)
        present = np.asarray(held.any(axis=lost))
        self.routes.setdefault(routing.tag, RouteTally()).copies = full(summed(present, local), local)
        tally.picked[op.operands[0].tensor.name] = full(summed(present, local), local)

    def _done(self, local: Local, op: LocalOp, tally: OpTally, pools: dict[str, Local], value: Value) -> None:
        self._open = None
        self.ops.append(tally)
        if op.is_collective:
            source = pools[op.operands[0].tensor.pool]
            tally.sent, tally.received = moved(local, source, op, value, tally)
            return
        if OPERATORS[op.operator].view:
            return
        for position, use in enumerate(op.operands):
            if op.operator == "append" and position == 0:
                continue
            v = local.value(use.tensor.name)
            if op.operator == "conv" and use.tensor.name in tally.reads:
                continue
            if use.index is not None:
                target = next((n for n in v.names if use.index.dtype == f"index<{n}>"), "")
                row = prod(
                    elements(v, local, n) for n in v.names if n != target and not (n == "B" and v.rules)
                )
                tally.reads[use.tensor.name] = tally.distinct[use.tensor.name] * row
                continue
            size = {n: elements(v, local, n) for n in v.names}
            masks = [seen] if v.rules and (seen := _seen(local, op, v)) is not None else []
            tally.reads[use.tensor.name] = full(counted(masks, v.names, size, local), local)
        if op.operator != "append":
            count = prod(elements(value, local, n) for n in value.names)
            tally.writes[op.result.name] = full(np.full([1] * local.lead, count), local)


def elements(v: Value, local: Local, name: str) -> int:
    return int(v.data.shape[1 + local.lead + v.names.index(name)])


def full(counts: Array, local: Local) -> Array:
    """Counts per rank, every mesh axis at its size."""
    return np.broadcast_to(counts, [n for _, n in local.grid.axes])


def summed(held: Array, local: Local) -> Array:
    return np.asarray(held.sum(axis=tuple(range(local.lead, held.ndim)), dtype=np.int64))


def counted(masks: list[Mask], names: tuple[str, ...], size: dict[str, int], local: Local) -> Array:
    """How many points of the space `names` all of the masks leave visible, per rank."""
    joint = tuple(n for n in names if any(n in m.names for m in masks))
    shape: Array = np.ones([*([1] * local.lead), *(size[n] for n in joint)], dtype=bool)
    for m in masks:
        shape = shape & align(m.array, local.lead, m.names, joint)
    return summed(shape, local) * prod(size[n] for n in names if n not in joint)


def _seen(local: Local, op: LocalOp, v: Value) -> Mask | None:
    """Rows of a cache that some token of its sequence sees."""
    seen = resolved(local, op, v, True)
    if seen is None or "Q" not in seen.names:
        return None
    axis = local.lead + seen.names.index("Q")
    return Mask(tuple(n for n in seen.names if n != "Q"), np.asarray(seen.array.any(axis=axis)))


def _held(local: Local, op: LocalOp, v: Value) -> Mask | None:
    """Rows of a cache that are kept: those that the last token sees."""
    seen = resolved(local, op, v, bool(v.rules))
    if seen is None or "Q" not in seen.names:
        return seen
    axis = local.lead + seen.names.index("Q")
    return Mask(tuple(n for n in seen.names if n != "Q"), np.asarray(seen.array.take(-1, axis=axis)))


def _distinct(held: Array, positions: Array, within: list[int], local: Local) -> Array:
    """Distinct positions per rank (and per sequence, for rows of a cache)."""
    out = np.zeros(held.shape[: local.lead], dtype=np.int64)
    for rank in np.ndindex(*out.shape):
        chosen = held[rank]
        values = positions[rank][chosen]
        if within:
            sequence = np.broadcast_to(
                np.arange(chosen.shape[within[0]]).reshape(
                    [-1 if i == within[0] else 1 for i in range(chosen.ndim)]
                ),
                chosen.shape,
            )[chosen]
            values = values * chosen.shape[within[0]] + sequence
        out[rank] = len(np.unique(values))
    return out


def moved(local: Local, source: Local, op: LocalOp, value: Value, tally: OpTally) -> tuple[Array, Array]:
    """Bits that each rank sends and receives, at the least that the collective needs (rings of n ranks)."""
    tensor = op.operands[0].tensor
    bits = format_of(tensor.dtype).bits
    x = source.value(tensor.name)
    n = prod(local.grid.size(a) for a in op.axes) if local is source else 1
    before = prod(elements(x, source, d) for d in x.names)
    after = prod(elements(value, local, d) for d in value.names)
    ones: Array = np.ones([1] * local.lead, dtype=object)
    match op.operator:
        case "all_reduce":
            amount = ones * (2 * bits * before * Fraction(n - 1, n))
        case "reduce_scatter":
            amount = ones * (bits * after * (n - 1))
        case "all_gather":
            amount = ones * (bits * before * (n - 1))
        case "all_to_all":
            amount = ones * (bits * before * Fraction(n - 1, n))
        case "gather_top":
            kept = (
                0
                if value.mask is None
                else int(value.mask.array.sum()) // max(value.mask.array[..., 0].size, 1)
            )
            rows = after // elements(value, local, str(op.attribute("dim")))
            amount = ones * (bits * rows * kept * Fraction(n - 1, n))
        case "dispatch" | "combine" if local is source:
            amount = ones * (bits * _remote(local, op, x, value))
        case "send" | "dispatch" | "combine":
            return ones * (bits * before), ones * (bits * _arrived(local, op, value, tally))
        case _:
            amount = ones * 0
    return full(amount, local), full(amount, local)


def _row(v: Value, local: Local) -> int:
    return prod(elements(v, local, d) for d in v.names if d not in ("B", "Q"))


def _arrived(local: Local, op: LocalOp, value: Value, tally: OpTally) -> Array:
    rows = tally.picked.get(op.operands[0].tensor.name)
    whole = prod(elements(value, local, d) for d in value.names)
    return np.full([1] * local.lead, whole, dtype=object) if rows is None else rows * _row(value, local)


def _remote(local: Local, op: LocalOp, x: Value, value: Value) -> Array:
    """Elements of rows that arrive from other ranks (the same, the other way, when they are combined)."""
    sent = value if op.operator == "dispatch" else x
    if sent.mask is None or "B" not in sent.mask.names:
        count = prod(elements(sent, local, d) for d in sent.names)
        n = prod(local.grid.size(a) for a in op.axes)
        return np.full([1] * local.lead, count * Fraction(n - 1, n), dtype=object)
    own: Array = np.ones([1] * (local.lead + 1), dtype=bool)
    size = elements(sent, local, "B")
    for axis in (a for a, _ in local.grid.axes if a in op.axes):
        ranks = local.grid.size(axis)
        size = max(size // ranks, 1)
        rows = np.arange(elements(sent, local, "B"))
        here = local.grid.coordinate(axis)[..., None]
        own = own & (rows // size % ranks == here)
    names = sent.mask.names
    away = sent.mask.array & ~align(own, local.lead, ("B",), names)
    return summed(away, local) * _row(sent, local)
