"""Computing on every rank what could be cut and gathered, and the reverse, weight by weight."""

from __future__ import annotations

from fractions import Fraction

from mutations.anatomy import Part, parts
from mutations.edit import all_axes, lines, mesh_axes, with_lines
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Op

_SMALLEST = 64


def _kept_whole(design: Design) -> dict[str, tuple[Part, ...]]:
    """Weights that one product reads without a choice, by name; not where one name means different "
    "weights."""
    found: dict[str, list[Part]] = {}
    spoiled: set[str] = set()
    for part in parts(design.program):
        for name, weight in part.weights.items():
            if any(part.kind != p.kind or p.weights[name].dims != weight.dims for p in found.get(name, ())):
                spoiled.add(name)
            found.setdefault(name, []).append(part)
    names = {p.name for p in parts(design.program)} | spoiled
    return {n: tuple(p) for n, p in found.items() if n not in names and p[0].kind in ("attention", "moe")}


def _products(part: Part, weight: str) -> list[Op]:
    """The products that read the weight."""
    return [op for op in part.ops if any(o.name == weight and o.index is None for o in op.operands)]


def _places(design: Design) -> tuple[Site, ...]:
    found: list[Site] = []
    sizes = design.program.sizes
    for name, same in _kept_whole(design).items():
        part = same[0]
        uses = _products(part, name)
        if len(uses) != 1 or uses[0].operator != "einsum" or uses[0].dims is None:
            continue
        said = {a for line in lines(design, name).values() for a in line}
        made = [d for d in part.weights[name].dims if d in uses[0].dims and _large(sizes[d].constant)]
        around = [lines(design, target) for target in (part.unit.rpartition(".")[2], part.name)]
        for axis in mesh_axes(design, dict(design.placement.homes).get(part.name)):
            # Along an axis that cuts tokens or this weight already, nothing is repeated.
            busy = any(
                axis in axes and (d in part.weights[name].dims or d == "B")
                for line in around
                for d, axes in line.items()
            )
            if axis not in said and not busy:
                found.extend(site(name, dim=d, axis=axis) for d in made)
    return tuple(found)


def _large(size: Fraction | int | None) -> bool:
    return size is not None and size >= _SMALLEST


def _cut(design: Design, where: Site) -> Design | None:
    if where not in _places(design):
        return None
    said, dim = lines(design, where.target), where.get("dim")
    axes = tuple(sorted((*said.get(dim, ()), where.get("axis")), key=all_axes(design).index))
    return with_lines(design, where.target, {**said, dim: axes})


def _cuts(design: Design) -> tuple[Site, ...]:
    weights = _kept_whole(design)
    found = (s for s in design.placement.shards if s.target in weights)
    return tuple(site(s.target, dim=s.dim, axis=a) for s in found for a in s.axes)


def _repeat(design: Design, where: Site) -> Design | None:
    if where not in _cuts(design):
        return None
    said, dim = lines(design, where.target), where.get("dim")
    said[dim] = tuple(a for a in said[dim] if a != where.get("axis"))
    return with_lines(design, where.target, said)


RULES = (
    Rule(
        "gather instead of repeat", "duplication",
        Documentation(
            "cuts a weight that every rank of an axis multiplies with the same tokens (low-rank down "
            "projections, "
            "routers, compressors), and gathers the product",
            "weights and FLOPs that tensor parallelism leaves whole, such as the down projections of "
            "latent attention",
            "one more collective of a small value before it is used",
            "TensorRT-LLM and SGLang replicate q_a and kv_a; cutting them is the alternative that they "
            "leave out",
        ),
        _places, _cut,
        "FLOPs and reads of that weight are divided by the axis; its product is gathered",
        frozenset(("memory", "matrix", "capacity")), same_matrix_work=False,
        inverse="repeat instead of gather",
    ),
    Rule(
        "repeat instead of gather", "duplication",
        Documentation(
            "keeps a small weight whole on every rank of an axis and computes its product there",
            "a collective that costs more latency than the product costs time",
            "the weight is read, and the product computed, on each rank",
            "every engine for routers and low-rank down projections",
        ),
        _cuts, _repeat, "FLOPs and reads of that weight are repeated on the axis",
        frozenset(("latency", "scale-up")), same_matrix_work=False, inverse="gather instead of repeat",
    ),
)  # fmt: skip
