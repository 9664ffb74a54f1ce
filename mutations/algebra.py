"""Chains of products in another order, and constant factors moved through linear operators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from mutations.anatomy import Part, parts, unit_of
from mutations.edit import fresh, lines, lowered_or_none, reads, rewrite, with_kernels
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Op, Operand, State, Statement, Weight
from rooflang.operators import OPERATORS, union
from rooflang.typing import operand_type


@dataclass(frozen=True, slots=True)
class _Chain:
    """`outer` reads the result of `inner` once: (left · right) · last. `keep` is which of left and right
    stays outside when the other is multiplied with `last` first."""

    inner: Op
    outer: Op
    keep: Operand
    join: Operand
    last: Operand
    dims: tuple[str, ...]


def _single_use(part: Part, op: Op) -> Op | None:
    """The only reader of a result that is assigned once, if it reads it once."""
    if sum(o.result == op.result for o in part.ops) != 1:
        return None
    users = [o for o in part.ops if op.result in reads(o)]
    inside = [s for s in part.body if not isinstance(s, Op | Weight | State)]
    if len(users) != 1 or inside or reads(users[0]).count(op.result) != 1:
        return None
    return users[0]


def _chains(part: Part, program_outputs: tuple[str, ...]) -> list[_Chain]:
    found: list[_Chain] = []
    for inner in part.ops:
        outer = _single_use(part, inner)
        if outer is None or inner.operator != "einsum" or outer.operator != "einsum" or inner.dims is None:
            continue
        if len(inner.operands) != 2 or len(outer.operands) != 2 or inner.result in program_outputs:
            continue
        mine = next((o for o in outer.operands if o.name == inner.result), None)
        last = next((o for o in outer.operands if o.name != inner.result), None)
        if mine is None or last is None or mine.index or _written(part, inner, outer):
            continue
        found.extend(_orders(part, inner, outer, last))
    for weight in part.weights.values():
        formula = weight.derived
        users = [o for o in part.ops if weight.name in reads(o)]
        if formula is None or len(users) != 1 or not all(_pair(o) for o in (formula, users[0])):
            continue
        last = next(o for o in users[0].operands if o.name != weight.name)
        found.extend(_orders(part, formula, users[0], last))
    return found


def _pair(op: Op) -> bool:
    return op.operator == "einsum" and op.dims is not None and len(op.operands) == 2


def _orders(part: Part, inner: Op, outer: Op, last: Operand) -> list[_Chain]:
    found: list[_Chain] = []
    for keep, join in (inner.operands, inner.operands[::-1]):
        first = operand_type(keep, part.types, "").dims
        second = operand_type(join, part.types, "").dims
        third = operand_type(last, part.types, "").dims
        summed = set(union(first, second)) - set(inner.dims or ())
        # A name summed inside may not mean something else outside.
        if summed & (set(third) | set(outer.dims or ())):
            continue
        wanted = set(first) | set(outer.dims or ())
        # Outer products of scores and weights are larger than either order needs.
        weights = part.weights
        if last.name in weights and join.name not in weights and "Q" in second:
            continue
        dims = tuple(d for d in union(("B", "Q"), third, second) if d in wanted and d in (*second, *third))
        if set(union(second, third)) - wanted and not keep.index and not join.index and not last.index:
            found.append(_Chain(inner, outer, keep, join, last, dims))
    return found


def _written(part: Part, inner: Op, outer: Op) -> bool:
    """Whether a cache or name that the inner product reads is written before the outer one."""
    ops = list(part.ops)
    between = ops[ops.index(inner) + 1 : ops.index(outer)]
    written = {o.operands[0].name if o.operator == "append" else o.result for o in between}
    return bool(written & set(reads(inner)))


def _orders_of(design: Design) -> tuple[Site, ...]:
    found: list[Site] = []
    for part in parts(design.program):
        for chain in _chains(part, design.program.outputs):
            where = site(part.name, inner=chain.inner.result, first=chain.join.name)
            # Where one axis cuts two names, or a line names a value, the other order may have no layout.
            if where not in found and _lowers(design, where):
                found.append(where)
    return tuple(found)


@lru_cache(maxsize=1024)
def _lowers(design: Design, where: Site) -> bool:
    turned = _ordered(design, where)
    return turned is not None and lowered_or_none(turned) is not None


def _reassociate(design: Design, where: Site) -> Design | None:
    return _ordered(design, where) if where in _orders_of(design) else None


def _ordered(design: Design, where: Site) -> Design | None:
    by_path = {p.path: p for p in parts(design.program)}
    wanted = (where.get("inner"), where.get("first"))

    def change(path: str, _: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
        here = by_path.get(path)
        found = _chains(here, design.program.outputs) if here else []
        chain = next((c for c in found if (c.inner.result, c.join.name) == wanted), None)
        return None if chain is None or here is None else _turned(here, chain)

    result = rewrite(design, where.target, change)
    return None if result is None else _kernels(result, unit_of(design, where.target), where.get("inner"))


def _kernels(design: Design, unit: str, name: str) -> Design:
    """A product that became a derived weight belongs to no kernel."""
    here = [p for p in parts(design.program) if p.unit.rpartition(".")[2] == unit]
    gone = not any(op.result == name for part in here for op in part.ops)
    return with_kernels(design, unit, {name: ()}) if gone else design


def _turned(part: Part, chain: _Chain) -> tuple[Statement, ...]:
    """The chain with `join` and `last` multiplied first; offline, if both are weights."""
    weights = part.weights
    name = chain.inner.result
    stored = chain.join.name in weights and chain.last.name in weights
    states = {s.name for s in part.body if isinstance(s, State)}
    # Values first, then caches, then weights, as programs are written.
    pair = sorted((chain.join, chain.last), key=lambda o: 2 * (o.name in weights) + (o.name in states))
    made = Op(name, "einsum", tuple(pair), (), chain.dims, chain.inner.dtype)
    taken = {s.result if isinstance(s, Op) else s.name for s in part.body}
    if stored:
        name = fresh(f"{chain.join.name}_{chain.last.name}", taken)
    outer = replace(
        chain.outer,
        operands=tuple(
            chain.keep if o.name == chain.inner.result else Operand(name) for o in chain.outer.operands
        ),
    )
    result: list[Statement] = []
    for statement in part.body:
        if statement == chain.outer:
            if stored:
                formula = replace(made, result=name, dtype=None)
                result.append(Weight(name, "bf16", chain.dims, formula))
            else:
                result.append(made)
            result.append(outer)
        elif chain.inner not in (statement, statement.derived if isinstance(statement, Weight) else None):
            result.append(statement)
    return tuple(result)


def _scales(part: Part) -> list[tuple[Op, Op, str]]:
    """(first, second, way): a scale and the linear operator behind it, or before it."""
    found = []
    for first in part.ops:
        second = _single_use(part, first)
        if second is None:
            continue
        at = next((i for i, o in enumerate(second.operands) if o.name == first.result), None)
        if first.operator == "scale" and _linear(second, at) and first.dtype is None:
            found.append((first, second, "down"))
        if second.operator == "scale" and _linear(first, 0) and second.dtype is None:
            found.append((first, second, "up"))
    return found


def _linear(op: Op, at: int | None) -> bool:
    """Whether a factor of that operand is a factor of the result."""
    known = OPERATORS[op.operator]
    several = op.operator in ("add", "concat")
    return at is not None and at in known.linear and not several and op.operator != "scale"


def _movable(design: Design) -> tuple[Site, ...]:
    found: list[Site] = []
    for part in parts(design.program):
        for first, second, way in _scales(part):
            if not lines(design, first.result) and not lines(design, second.result):
                found.append(site(part.name, first=first.result, second=second.result, way=way))
    return tuple(found)


def _move(design: Design, where: Site) -> Design | None:
    if where not in _movable(design):
        return None
    by_path = {p.path: p for p in parts(design.program)}
    wanted = (where.get("first"), where.get("second"), where.get("way"))

    def change(path: str, body: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
        scales = _scales(by_path[path]) if path in by_path else []
        found = next((f for f in scales if (f[0].result, f[1].result, f[2]) == wanted), None)
        if found is None:
            return None
        first, second, _ = found
        # The first value takes the second's operator on the first's operand, and the other way round.
        if first.operator == "scale":
            source = first.operands[0].name
            use = tuple(replace(o, name=source) if o.name == first.result else o for o in second.operands)
            new = replace(second, result=first.result, operands=use)
            last = replace(first, result=second.result, operands=(Operand(first.result),), dtype=None)
        else:
            used, *rest = first.operands
            new = replace(second, result=first.result, operands=(Operand(used.name, used.index),))
            use = (Operand(first.result, over=used.over), *rest)
            last = replace(first, result=second.result, operands=use)
        moved: dict[Op, tuple[Op, ...]] = {second: (new, last), first: ()}
        return tuple(n for s in body for n in (moved.get(s, (s,)) if isinstance(s, Op) else (s,)))

    return rewrite(design, where.target, change)


RULES = (
    Rule(
        "reassociate", "algebra",
        Documentation(
            "computes a chain of two products in another order: (a·b)·c as a·(b·c) or b·(a·c); two weights "
            "are "
            "multiplied once, offline. Absorbs or un-absorbs low-rank pairs such as MLA's w_uk and w_uv",
            "decoding wants latent attention absorbed, long queries want it expanded; a weight pair of "
            "small rank "
            "is cheaper apart, one of large rank together",
            "FLOPs and bytes change with the sizes of the names; a derived weight is stored in bf16",
            "DeepSeek-V2 (arXiv 2405.04434) section 2.1; FlashMLA",
        ),
        _orders_of, _reassociate,
        "2 · (names of each product): follows from the new order",
        frozenset(("matrix", "memory", "capacity")), same_matrix_work=False, inverse="reassociate",
    ),
    Rule(
        "move scale", "algebra",
        Documentation(
            "moves a constant factor through a linear operator, forwards or backwards",
            "fewer elements to scale, or a scale that lands in another kernel's epilogue",
            "rounding may differ where formats are narrow",
            "attention kernels that scale scores instead of queries",
        ),
        _movable, _move, "vector operations: the elements of one side instead of the other's",
        frozenset(("vector",)), inverse="move scale",
    ),
)  # fmt: skip
