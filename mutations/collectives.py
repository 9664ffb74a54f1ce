"""All-reduce against reduce-scatter and all-gather: is the residual whole or cut between sections?"""

from __future__ import annotations

from mutations.edit import lines, mesh_axes, reads, with_lines
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Op, Repeat, walk


def carried(design: Design) -> tuple[str, ...]:
    """Values that pass from layer to layer: read in a repeat before they are assigned in it."""
    before: set[str] = set()
    found: dict[str, None] = {}
    for statement in design.program.body:
        assigned: set[str] = set()
        read: dict[str, None] = {}
        for _, inner in walk((statement,)):
            if isinstance(inner, Op) and inner.operator != "append":
                read.update(dict.fromkeys(n for n in reads(inner) if n not in assigned))
                assigned.add(inner.result)
        if isinstance(statement, Repeat) and not statement.draft:
            found.update(dict.fromkeys(n for n in read if n in assigned & before))
        before |= assigned
    return tuple(found)


def _whole(design: Design) -> tuple[Site, ...]:
    """Each axis, and all of them, along which the text does not cut the tokens of the residual."""
    axes = mesh_axes(design)
    found: list[Site] = []
    for name in carried(design):
        said = lines(design, name).get("B", ())
        free = [a for a in axes if a not in said]
        found.extend(site(name, axes=a) for a in free)
        if len(free) > 1:
            found.append(site(name, axes=" ".join(free)))
    return tuple(found)


def _cut(design: Design, where: Site) -> Design | None:
    """Cut the residual by tokens: sums are scattered into it, and it is gathered where it is read whole."""
    if where not in _whole(design):
        return None
    wanted = {*lines(design, where.target).get("B", ()), *where.words("axes")}
    axes = tuple(a for a in mesh_axes(design) if a in wanted)
    return with_lines(design, where.target, {"B": axes})


def _scattered(design: Design) -> tuple[Site, ...]:
    found: list[Site] = []
    for name in carried(design):
        said = lines(design, name).get("B", ())
        found.extend(site(name, axes=a) for a in said)
        if len(said) > 1:
            found.append(site(name, axes=" ".join(said)))
    return tuple(found)


def _uncut(design: Design, where: Site) -> Design | None:
    gone = where.words("axes")
    axes = tuple(a for a in lines(design, where.target).get("B", ()) if a not in gone)
    return with_lines(design, where.target, {"B": axes})


RULES = (
    Rule(
        "scatter residual", "collectives",
        Documentation(
            "cuts the residual by tokens over an axis between sections: all-reduce becomes reduce-scatter "
            "before "
            "the norm and all-gather after it, and norms, routers and mixing run on a part of the tokens",
            "norms, hyper-connections and routers that were computed on every tensor-parallel rank; the "
            "gather "
            "moves the rounded input (fp8) instead of the residual",
            "two collectives instead of one, so more latency; needs as many tokens as ranks",
            "sequence parallelism (Korthikanti et al., arXiv 2205.05198); vLLM and SGLang for MoE",
        ),
        _whole, _cut,
        "matrix FLOPs that every rank repeated (routers, mixing) are done once; an all-reduce becomes "
        "reduce-scatter + all-gather",
        frozenset(("vector", "memory", "scale-up", "capacity")), same_matrix_work=False,
        inverse="whole residual",
    ),
    Rule(
        "whole residual", "collectives",
        Documentation(
            "removes the cut of the residual: sections agree among themselves, all-reducing where both "
            "read it whole",
            "small batches, where the latency of a second collective counts",
            "norms and routers run on every rank",
            "Megatron-LM tensor parallelism (arXiv 1909.08053)",
        ),
        _scattered, _uncut, "the inverse of `scatter residual`",
        frozenset(("latency",)), same_matrix_work=False, inverse="scatter residual",
    ),
)  # fmt: skip
