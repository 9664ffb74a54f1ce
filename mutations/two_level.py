"""Sums in two levels: scattered among near ranks, reduced between far ones on a part each, gathered again."""

from __future__ import annotations

from mutations.collectives import carried
from mutations.edit import drop_axis, lines, mesh_axes, with_lines
from mutations.rule import Documentation, Rule, Site, site
from mutations.sharding import factored, neighbours
from rooflang.design import Design


def _places(design: Design) -> tuple[Site, ...]:
    """An axis along which no line cuts the tokens of the residual."""
    axes = mesh_axes(design)
    return tuple(
        site(name, axis=axis)
        for name in carried(design)
        for axis in axes
        if len(axes) < 4 and axis not in lines(design, name).get("B", ())
    )


def _two(design: Design, where: Site) -> Design | None:
    if where not in _places(design):
        return None
    axis = where.get("axis")
    result = factored(design, axis)
    inner = mesh_axes(result)[mesh_axes(result).index(axis) + 1]
    said = lines(result, where.target)
    order = mesh_axes(result)
    wanted = tuple(sorted((*said.get("B", ()), inner), key=order.index))
    return with_lines(result, where.target, {**said, "B": wanted})


def _staged(design: Design) -> tuple[Site, ...]:
    """Neighbouring axes that cut the same everywhere, but that the inner one also cuts the residual."""
    found: list[Site] = []
    for name in carried(design):
        for axis in lines(design, name).get("B", ()):
            plain = _uncut(design, name, axis)
            pairs = (outer for outer, inner in neighbours(plain) if inner == axis)
            found.extend(site(name, outer=outer, inner=axis) for outer in pairs)
    return tuple(found)


def _uncut(design: Design, name: str, axis: str) -> Design:
    said = lines(design, name)
    return with_lines(design, name, {**said, "B": tuple(a for a in said["B"] if a != axis)})


def _one(design: Design, where: Site) -> Design | None:
    if where not in _staged(design):
        return None
    return drop_axis(_uncut(design, where.target, where.get("inner")), where.get("inner"))


RULES = (
    Rule(
        "two-level sum", "collectives",
        Documentation(
            "factors an axis in two and cuts the residual by tokens over the inner one: the all-reduce of a "
            "section becomes reduce-scatter among near ranks, all-reduce between far ones on a part each, "
            "and all-gather of what the next section reads",
            "groups that reach over several domains; the gather moves the rounded input, and norms run on a "
            "part of the tokens",
            "two or three collectives instead of one, so more latency",
            "hierarchical all-reduce of NCCL and Horovod; two-level sequence parallelism in Megatron-LM",
        ),
        _places, _two,
        "an all-reduce becomes reduce-scatter + all-reduce + all-gather; norms and routers are divided by "
        "the inner axis",
        frozenset(("scale-out", "scale-up", "vector", "memory")), same_matrix_work=False,
        inverse="one-level sum",
    ),
    Rule(
        "one-level sum", "collectives",
        Documentation(
            "makes one axis and one all-reduce of two levels", "small batches, where each collective's "
            "latency counts",
            "norms and routers run on every rank", "the inverse of `two-level sum`",
        ),
        _staged, _one, "the inverse of `two-level sum`", frozenset(("latency",)), same_matrix_work=False,
        inverse="two-level sum",
    ),
)  # fmt: skip
