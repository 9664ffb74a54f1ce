"""Where an unfinished sum is finished: at once, or behind the linear operators that read it."""

from __future__ import annotations

from functools import lru_cache

from mutations.anatomy import Part, parts
from mutations.edit import lines, lowered_or_none, moves, reads, with_lines
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design
from rooflang.layout import Partial
from rooflang.limits import PARTIAL
from rooflang.lower import lower
from rooflang.lowered import Unit

_LINEAR = frozenset(("einsum", "scale", "rope", "slice", "split", "merge"))


def _sums(unit: Unit) -> set[tuple[str, str]]:
    """(value, axis) of partial sums that no choice of experts spreads."""
    rows = {None, *(r.tag for r in unit.routings if r.of_state)}
    return {
        (op.result.name.partition("~")[0], axis)
        for op in unit.ops
        if not op.is_collective
        for axis, c in op.result.layout
        if isinstance(c, Partial) and c.kind == "sum" and c.routed in rows
    }


def _read_linearly(part: Part, value: str) -> bool:
    """Whether everything that reads the value is linear in it."""
    users = [op for op in part.ops if value in reads(op)]
    return bool(users) and all(
        op.operator in _LINEAR and [o.name for o in op.operands].count(value) == 1 for op in users
    )


@lru_cache(maxsize=64)
def _places(design: Design) -> tuple[Site, ...]:
    by_path = {p.path: p for p in parts(design.program)}
    found: dict[Site, None] = {}
    for _, unit in lower(design).units():
        part = by_path.get(unit.path)
        for value, axis in sorted(_sums(unit)) if part is not None else ():
            if part is None or value in design.program.outputs or not _read_linearly(part, value):
                continue
            where = site(f"{part.name}.{value}", axis=axis)
            if axis not in _said(design, where.target):
                found[where] = None
    # Where a reader is cut along the axis itself, the sum has to be finished before it.
    kept = []
    for where in found:
        result = lowered_or_none(_with(design, where))
        if result is not None and moves(result) != moves(lower(design)):
            kept.append(where)
    return tuple(kept)


def _said(design: Design, target: str) -> set[str]:
    value = target.rpartition(".")[2]
    return {a for t in (target, value) for axes in lines(design, t).values() for a in axes}


def _with(design: Design, where: Site) -> Design:
    said = lines(design, where.target)
    return with_lines(design, where.target, {**said, PARTIAL: (*said.get(PARTIAL, ()), where.get("axis"))})


def _defer(design: Design, where: Site) -> Design | None:
    return _with(design, where) if where in _places(design) else None


def _deferred(design: Design) -> tuple[Site, ...]:
    found = (s for s in design.placement.shards if s.dim == PARTIAL)
    return tuple(site(s.target, axis=a) for s in found for a in s.axes)


def _finish(design: Design, where: Site) -> Design | None:
    if where not in _deferred(design):
        return None
    said = lines(design, where.target)
    left = tuple(a for a in said[PARTIAL] if a != where.get("axis"))
    return with_lines(design, where.target, {**said, PARTIAL: left})


RULES = (
    Rule(
        "defer sum", "collectives",
        Documentation(
            "moves the all-reduce of an unfinished sum behind the product that reads it: (Σ o)·W becomes "
            "Σ (o·W)",
            "results that the next product makes smaller: the latent outputs of attention whose rows are cut "
            "over ranks (H·L elements per token) are reduced as the residual (D elements)",
            "the sum stays in the format of the later value; where the next product makes it larger, more "
            "bytes move",
            "linearity of the output projection, as Helix (arXiv 2507.07120) and flash-decoding use it",
        ),
        _places, _defer,
        "matrix FLOPs are kept; the all-reduce moves the bytes of the later value",
        frozenset(("scale-up", "scale-out", "memory")), inverse="finish sum",
    ),
    Rule(
        "finish sum", "collectives",
        Documentation(
            "finishes an unfinished sum where it is made", "results that the next product makes larger",
            "the bytes of the earlier value move", "the default of every engine",
        ),
        _deferred, _finish, "the inverse of `defer sum`",
        frozenset(("scale-up", "scale-out", "memory")), inverse="defer sum",
    ),
)  # fmt: skip
