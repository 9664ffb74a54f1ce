"""Single weights cut otherwise than their section: by rows, by columns, or whole on every rank of an axis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from mutations.anatomy import Part, parts
from mutations.edit import all_axes, lines, lowered_or_none, mesh_axes, with_lines
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Op
from rooflang.layout import Split, cell
from rooflang.limits import WHOLE
from rooflang.lower import lower
from rooflang.lowered import Tensor


def _product(part: Part, weight: str) -> Op | None:
    """The product that alone reads a weight, without a choice."""
    users = [op for op in part.ops if any(o.name == weight for o in op.operands)]
    if len(users) != 1 or users[0].operator != "einsum" or users[0].dims is None:
        return None
    return users[0] if all(o.index is None for o in users[0].operands) else None


def _stored(design: Design) -> dict[str, Tensor]:
    """Weights of the lowered design by the path that a line may name: last section and weight."""
    found: dict[str, Tensor] = {}
    for _, unit in lower(design).units():
        for tensor in unit.weights:
            *sections, name = f"{unit.path}.{tensor.name}".split(".")
            found.setdefault(f"{sections[-1]}.{name}", tensor)
    return found


def _choices(design: Design) -> Iterator[Site]:
    stored = _stored(design)
    for part in parts(design.program):
        for name in part.weights:
            target = f"{part.name}.{name}"
            tensor = stored.get(target)
            if tensor is None or _product(part, name) is None:
                continue
            for axis in mesh_axes(design, tensor.pool):
                now = cell(tensor.layout, axis)
                held = now.dim if isinstance(now, Split) else WHOLE
                for dim in (*_wide(design, tensor), WHOLE):
                    if dim != held:
                        yield site(part.name, weight=name, axis=axis, cut=dim)


def _wide(design: Design, tensor: Tensor) -> tuple[str, ...]:
    sizes = design.program.sizes
    return tuple(d for d in tensor.dims if (sizes[d].constant or 0) > 1)


@lru_cache(maxsize=64)
def _untried(design: Design) -> tuple[Site, ...]:
    return tuple(dict.fromkeys(_choices(design)))


@lru_cache(maxsize=64)
def _places(design: Design) -> tuple[Site, ...]:
    return tuple(w for w in _untried(design) if _recut(design, w) is not None)


def _cut(design: Design, where: Site) -> Design | None:
    return _recut(design, where) if where in _untried(design) else None


def _recut(design: Design, where: Site) -> Design | None:
    axis, wanted = where.get("axis"), where.get("cut")
    target = f"{where.target}.{where.get('weight')}"
    own = {d: tuple(a for a in axes if a != axis) for d, axes in lines(design, target).items()}
    plain = with_lines(design, target, own)
    # A line that says what the section says anyway is left out.
    known = lowered_or_none(plain)
    if known is not None and _holds(plain, target, axis) == wanted:
        return plain
    order = all_axes(design)
    own[wanted] = tuple(sorted((*own.get(wanted, ()), axis), key=order.index))
    result = with_lines(design, target, own)
    return result if lowered_or_none(result) is not None else None


def _holds(design: Design, target: str, axis: str) -> str:
    tensor = _stored(design).get(target)
    now = cell(tensor.layout, axis) if tensor is not None else None
    return now.dim if isinstance(now, Split) else WHOLE


RULES = (
    Rule(
        "cut weight", "sharding",
        Documentation(
            "changes what one axis cuts in one weight: a name that its product sums over (rows: sums are "
            "reduced behind it), one that it makes (columns: the input is gathered before it), or nothing "
            "(whole on every rank)",
            "each product has its own best cut: columns before and rows behind where both are wide, whole "
            "where a launch or a collective costs more than reading it on every rank; replicated against "
            "sharded indexers",
            "rows: a reduction of the result; columns: a gather of the input; whole: reads, FLOPs and memory "
            "on every rank",
            "Megatron-LM's row- and column-parallel layers (arXiv 1909.08053); replicated indexers of "
            "DeepSeek-V3.2 in SGLang and vLLM",
        ),
        _places, _cut,
        "FLOPs, reads and memory of the weight are divided by the axis, or repeated on it",
        frozenset(("memory", "capacity", "matrix")), same_matrix_work=False,
        inverse="cut weight", untried=_untried,
    ),
)  # fmt: skip
