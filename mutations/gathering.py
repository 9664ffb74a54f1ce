"""Tokens gathered before a product, or the product computed on a part of them and gathered behind it."""

from __future__ import annotations

from functools import lru_cache

from mutations.anatomy import Part, parts
from mutations.edit import lines, lowered_or_none, moves, reads, with_lines
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design
from rooflang.layout import Split
from rooflang.limits import WHOLE
from rooflang.lower import lower


def _feeds(part: Part, value: str) -> bool:
    """Whether a product of the section itself reads the value."""
    return any(op.operator == "einsum" and value in reads(op) for op in part.ops)


@lru_cache(maxsize=64)
def _places(design: Design) -> tuple[Site, ...]:
    by_path = {p.path: p for p in parts(design.program)}
    found: dict[Site, None] = {}
    for _, unit in lower(design).units():
        part = by_path.get(unit.path)
        if part is None:
            continue
        own = {a for axes in (lines(design, t).get("B", ()) for t in (part.name, part.path)) for a in axes}
        for op in unit.ops:
            value = op.result.name.partition("~")[0]
            if op.is_collective or op.section or not _feeds(part, value):
                continue
            target = f"{part.name}.{value}"
            for axis, c in op.result.layout:
                busy = axis in own or any(axis in a for a in lines(design, target).values())
                if c == Split("B") and not busy:
                    found[site(target, axis=axis)] = None
    return tuple(w for w in found if _differs(design, _with(design, w)))


def _differs(design: Design, result: Design) -> bool:
    lowered = lowered_or_none(result)
    return lowered is not None and moves(lowered) != moves(lower(design))


def _with(design: Design, where: Site) -> Design:
    said = lines(design, where.target)
    return with_lines(design, where.target, {**said, WHOLE: (*said.get(WHOLE, ()), where.get("axis"))})


def _before(design: Design, where: Site) -> Design | None:
    return _with(design, where) if where in _places(design) else None


def _gathered(design: Design) -> tuple[Site, ...]:
    made = {f"{p.name}.{op.result}" for p in parts(design.program) for op in p.ops}
    whole = (s for s in design.placement.shards if s.dim == WHOLE and s.target in made)
    return tuple(site(s.target, axis=a) for s in whole for a in s.axes)


def _behind(design: Design, where: Site) -> Design | None:
    if where not in _gathered(design):
        return None
    said = lines(design, where.target)
    left = tuple(a for a in said[WHOLE] if a != where.get("axis"))
    return with_lines(design, where.target, {**said, WHOLE: left})


RULES = (
    Rule(
        "gather before product", "collectives",
        Documentation(
            "makes a value whole along an axis that cuts its tokens, before the products that read it rather "
            "than behind them",
            "one small gather in place of one per product; low-rank products of which several are read",
            "products with weights that are whole on the axis are computed by every rank",
            "the two forms of sequence parallelism (arXiv 2205.05198); gather + GEMM against GEMM + gather "
            "in Async-TP and TensorRT-LLM",
        ),
        _places, _before,
        "FLOPs of products with whole weights are repeated on the axis; fewer collectives",
        frozenset(("latency", "scale-up", "scale-out")), same_matrix_work=False,
        inverse="product before gather",
    ),
    Rule(
        "product before gather", "collectives",
        Documentation(
            "computes products on the part of the tokens that a rank has, and gathers their results",
            "results narrower than their input (low-rank down projections, routers), and their FLOPs divided",
            "a gather for each result", "the inverse of `gather before product`",
        ),
        _gathered, _behind, "the inverse of `gather before product`",
        frozenset(("matrix", "memory", "scale-up")), same_matrix_work=False,
        inverse="gather before product",
    ),
)  # fmt: skip
