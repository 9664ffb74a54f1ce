"""Products that share an input, merged into one: weights laid end to end, one product, slices of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mutations.anatomy import Part, parts, unit_of
from mutations.edit import fresh, lines, matches, reads, rewrite, with_kernels, with_program
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Op, Operand, Statement, Weight, walk
from rooflang.size import Size, add


@dataclass(frozen=True, slots=True)
class _Product:
    """`op` multiplies values by one weight of this section; `axis` is the name that is laid end to end."""

    op: Op
    weight: Weight
    axis: str
    shared: tuple[str, ...]

    @property
    def key(self) -> tuple[object, ...]:
        others = tuple(o for o in self.op.operands if o.name != self.weight.name)
        use = next(o for o in self.op.operands if o.name == self.weight.name)
        rest = frozenset(d for d in self.weight.dims if d != self.axis)
        return others, use.index, self.op.dtype, self.weight.dtype, rest, self.shared


def _products(part: Part) -> list[_Product]:
    found = []
    weights = part.weights
    for op in part.ops:
        used = [o for o in op.operands if o.name in weights]
        if op.operator != "einsum" or op.dims is None or len(op.operands) != 2 or len(used) != 1:
            continue
        other = next(o for o in op.operands if o is not used[0])
        own = [d for d in weights[used[0].name].dims if d in op.dims and d not in _dims(part, other)]
        if own and other.index is None:
            shared = tuple(d for d in op.dims if d != own[-1])
            found.append(_Product(op, weights[used[0].name], own[-1], shared))
    return found


def _dims(part: Part, operand: Operand) -> tuple[str, ...]:
    return part.types[operand.name].dims if operand.name in part.types else ()


def _groups(part: Part) -> list[tuple[_Product, ...]]:
    """Products of one section that may become one, in order of the text; pairs and whole groups."""
    by: dict[tuple[object, ...], list[_Product]] = {}
    counts: dict[str, int] = {}
    for op in part.ops:
        counts[op.result] = counts.get(op.result, 0) + 1
    for product in _products(part):
        if counts[product.op.result] == 1:
            by.setdefault(product.key, []).append(product)
    found: list[tuple[_Product, ...]] = []
    for group in by.values():
        if 2 <= len(group) <= 4:
            found.append(tuple(group))
        if len(group) > 2:
            found.extend((a, b) for i, a in enumerate(group) for b in group[i + 1 :])
    return found


def _mergeable(design: Design) -> list[tuple[Site, str]]:
    """Sites, each with the path of its first section."""
    found: dict[Site, str] = {}
    sizes = design.program.sizes
    for part in parts(design.program):
        cut = {
            s.dim
            for s in design.placement.shards
            if matches(s.target, part.path) or matches(s.target, part.unit)
        }
        for group in _groups(part):
            own = {d for p in group for d in lines(design, p.weight.name)}
            fixed = all(sizes[p.axis].constant is not None for p in group)
            # A name that an axis cuts cannot be laid end to end with another and cut the same way.
            if fixed and not own and not any(p.axis in cut for p in group):
                found.setdefault(site(part.name, products=" ".join(p.op.result for p in group)), part.path)
    return list(found.items())


def _merge(design: Design, where: Site) -> Design | None:
    sites = dict(_mergeable(design))
    if where not in sites:
        return None
    wanted = where.words("products")
    sizes = design.program.sizes
    dims = dict(design.program.dims)
    by_path = {p.path: p for p in parts(design.program)}
    start = by_path[sites[where]]
    group = next(g for g in _groups(start) if tuple(p.op.result for p in g) == wanted)
    total: Size = sizes[group[0].axis]
    for product in group[1:]:
        total = add(total, sizes[product.axis])
    axis = fresh("".join(dict.fromkeys(p.axis for p in group)) + "s", set(sizes))
    names = {s.name for _, s in walk(design.program.body) if isinstance(s, Weight)}
    weight = fresh("_".join(p.weight.name for p in group), names)
    value = fresh("_".join(wanted), {s.result for _, s in walk(design.program.body) if isinstance(s, Op)})

    def change(path: str, body: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
        groups = _groups(by_path[path]) if path in by_path else []
        same = next((g for g in groups if tuple(p.op.result for p in g) == wanted), None)
        return None if same is None else _merged(body, same, (axis, weight, value), sizes)

    dims[axis] = total
    result = rewrite(design, where.target, change)
    if result is None:
        return None
    slices = {wanted[0]: (value, *wanted)}
    gone = dict.fromkeys(wanted[1:], ())
    return with_program(
        with_kernels(result, unit_of(design, where.target), {**gone, **slices}), dims=tuple(dims.items())
    )


def _merged(
    body: tuple[Statement, ...], group: tuple[_Product, ...], names: tuple[str, str, str], sizes: object
) -> tuple[Statement, ...]:
    axis, weight, value = names
    first = group[0]
    result: list[Statement] = []
    hoisted = {p.weight.name for p in group}
    gone = {p.op.result for p in group}
    use = next(o for o in first.op.operands if o.name == first.weight.name)
    laid = tuple(axis if d == first.axis else d for d in first.weight.dims)
    concat = Op(weight, "concat", tuple(Operand(p.weight.name, over=p.axis) for p in group), (), laid)
    for statement in body:
        if isinstance(statement, Weight) and statement.name in hoisted:
            continue
        if not isinstance(statement, Op) or statement.result not in gone:
            result.append(statement)
            continue
        if statement != first.op:
            continue
        result.extend(p.weight for p in group)
        result.append(Weight(weight, first.weight.dtype, laid, concat))
        dims = tuple(axis if d == first.axis else d for d in first.op.dims or ())
        operands = tuple(replace(o, name=weight) if o is use else o for o in first.op.operands)
        result.append(replace(first.op, result=value, operands=operands, dims=dims))
        start = 0
        for product in group:
            cut = (("start", start),)
            result.append(Op(product.op.result, "slice", (Operand(value, over=axis),), cut, product.op.dims))
            size = sizes[product.axis].constant  # type: ignore[index]
            start += int(size or 0)
    return tuple(result)


def _merged_sites(design: Design) -> tuple[Site, ...]:
    found: dict[Site, None] = {}
    for part in parts(design.program):
        for weight in part.weights.values():
            users = [op for op in part.ops if weight.name in reads(op)]
            if weight.derived and weight.derived.operator == "concat" and len(users) == 1:
                value = users[0].result
                if all(op.operator == "slice" for op in part.ops if value in reads(op)):
                    found[site(part.name, product=value, weight=weight.name)] = None
    return tuple(found)


def _unmerge(design: Design, where: Site) -> Design | None:
    if where not in _merged_sites(design):
        return None
    value, name = where.get("product"), where.get("weight")
    slices: dict[str, None] = {}
    axes: set[str] = set()

    def change(_: str, body: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
        weight = next((s for s in body if isinstance(s, Weight) and s.name == name), None)
        op = next((s for s in body if isinstance(s, Op) and s.result == value), None)
        if weight is None or weight.derived is None or op is None:
            return None
        parts_of = {s.result: s for s in body if isinstance(s, Op) and value in reads(s)}
        order = sorted(parts_of.values(), key=lambda s: int(s.attribute("start") or 0))
        axes.update(o.over for s in order for o in s.operands if o.over)
        slices.update(dict.fromkeys(parts_of))
        result: list[Statement] = []
        for statement in body:
            if statement is op:
                for part, source in zip(order, weight.derived.operands, strict=True):
                    operands = tuple(
                        replace(o, name=source.name) if o.name == name else o for o in op.operands
                    )
                    result.append(replace(op, result=part.result, operands=operands, dims=part.dims))
            elif statement is not weight and not (isinstance(statement, Op) and statement.result in parts_of):
                result.append(statement)
        return tuple(result)

    result = rewrite(design, where.target, change)
    if result is None:
        return None
    left = {d for _, s in walk(result.program.body) if isinstance(s, Op | Weight) for d in s.dims or ()}
    dims = tuple((d, size) for d, size in result.program.dims if d not in axes or d in left)
    # Slices that are already values of the kernel stand where the product stood.
    return with_program(
        with_kernels(result, unit_of(design, where.target), {value: tuple(slices)}), dims=dims
    )


RULES = (
    Rule(
        "merge products", "algebra",
        Documentation(
            "lays the weights of products that share an input end to end (a derived weight), computes one "
            "product and "
            "takes slices of it: query and KV down projections, a compressor's value and gate, gate and up",
            "one launch and one read of the input; small products fill the device better together",
            "names that an axis cuts cannot be merged; slices of a wide row are strided views",
            "fused_qkv_a_proj in SGLang and vLLM; merged column-parallel layers",
        ),
        lambda d: tuple(s for s, _ in _mergeable(d)), _merge,
        "matrix FLOPs and weight bytes are kept; one launch less per merged product",
        frozenset(("latency", "memory")), inverse="unmerge products",
    ),
    Rule(
        "unmerge products", "algebra",
        Documentation(
            "takes a merged product apart again", "sharding the parts differently",
            "one launch more for each part", "the inverse of `merge products`",
        ),
        _merged_sites, _unmerge, "the inverse of `merge products`",
        frozenset(("scale-up", "capacity")), inverse="merge products",
    ),
)  # fmt: skip
