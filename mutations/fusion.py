"""Kernels grown and split: what operators of one kernel pass to each other stays on chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from mutations.anatomy import Part, parts
from mutations.edit import reads, with_schedule
from mutations.levels import levels
from mutations.rule import Documentation, Rule, RuleError, Site, site
from rooflang.design import Design, Fusion, Op, Program, walk
from rooflang.operators import OPERATORS

# Elements per token that may pass on chip from one kernel to the next.
_LARGEST = 1 << 17


@lru_cache(maxsize=256)
def units(program: Program) -> Mapping[str, tuple[tuple[Op, ...], ...]]:
    """Operators of each unit, those of sections inside it included, by the unit's last name."""
    found: dict[str, list[tuple[Op, ...]]] = {}
    for part in parts(program):
        if part.path == part.unit:
            found.setdefault(part.name, []).append(tuple(s for _, s in walk(part.body) if isinstance(s, Op)))
    return {name: tuple(same) for name, same in found.items()}


def kernels(design: Design, unit: str) -> list[tuple[str, ...]]:
    """The kernels of units of this name, each as the values that it makes; views are kernels of no one."""
    fused = [f.values for f in design.schedule.fusions if f.target == unit]
    taken = {v for values in fused for v in values}
    alone: dict[str, None] = {}
    for ops in units(design.program)[unit]:
        alone.update(
            dict.fromkeys(o.result for o in ops if o.result not in taken and not OPERATORS[o.operator].view)
        )
    return [*fused, *((v,) for v in alone)]


def _edges(
    ops: tuple[Op, ...], owner: Mapping[str, int]
) -> tuple[dict[tuple[int, int], set[str]], list[set[int]]]:
    """(values passed between kernels, kernels that each kernel reads from), views looked through."""
    maker: dict[str, set[int]] = {}
    passed: dict[tuple[int, int], set[str]] = {}
    before: list[set[int]] = [set() for _ in range(max(owner.values(), default=-1) + 1)]
    for op in ops:
        sources = {(n, k) for n in reads(op) for k in maker.get(n, ())}
        here = owner.get(op.result)
        if here is None:
            maker[op.result] = {k for _, k in sources}
            continue
        for name, kernel in sources:
            if kernel != here:
                passed.setdefault((kernel, here), set()).add(name)
                before[here].add(kernel)
        maker[op.result] = {here}
    return passed, before


def _apart(first: int, second: int, before: list[set[int]]) -> bool:
    """Whether some third kernel stands between the two."""
    stack, seen = [k for k in before[second] if k != first], set()
    while stack:
        kernel = stack.pop()
        if kernel == first:
            return True
        if kernel not in seen:
            seen.add(kernel)
            stack.extend(before[kernel])
    return False


def _small(values: set[str], part: Part, program: Program) -> bool:
    total = 0
    for value in values:
        elements = 1
        for dim in part.types[value].dims if value in part.types else ():
            if dim not in ("B", "Q"):
                size = program.sizes[dim].constant
                elements *= int(size) if size is not None else _LARGEST + 1
        total += elements
    return total <= _LARGEST


def _inputs(ops: tuple[Op, ...], values: tuple[str, ...]) -> set[str]:
    """What a kernel reads and does not make."""
    return {n for op in ops if op.result in values for n in reads(op)} - set(values)


def _pairs(design: Design) -> Iterator[Site]:
    """Producers and consumers with little between them, and kernels that share an input."""
    for unit, bodies in units(design.program).items():
        found = kernels(design, unit)
        owner = {v: i for i, values in enumerate(found) for v in values}
        graphs = [_edges(ops, owner) for ops in bodies]
        same = [p for p in parts(design.program) if p.path == p.unit and p.name == unit]
        joined = dict.fromkeys(pair for passed, _ in graphs for pair in sorted(passed))
        read = [{n for ops in bodies for n in _inputs(ops, values)} for values in found]
        beside = [(a, b) for a in range(len(found)) for b in range(a + 1, len(found)) if read[a] & read[b]]
        for a, b in (*joined, *(p for p in beside if p not in joined and p[::-1] not in joined)):
            legal = all(not _apart(a, b, g[1]) and not _apart(b, a, g[1]) for g in graphs)
            moved = ((g[0].get((a, b), set()), p) for g, p in zip(graphs, same, strict=True))
            if legal and all(_small(values, p, design.program) for values, p in moved):
                yield site(unit, producer=found[a][0], consumer=found[b][0])


def _fuse(design: Design, where: Site) -> Design | None:
    if where.target not in units(design.program):
        return None
    found = kernels(design, where.target)
    first = next((k for k in found if k[0] == where.get("producer")), None)
    second = next((k for k in found if k[0] == where.get("consumer")), None)
    if first is None or second is None or first == second:
        return None
    return _replaced(design, where.target, (first, second), ((*first, *second),))


def _replaced(
    design: Design, unit: str, gone: tuple[tuple[str, ...], ...], new: tuple[tuple[str, ...], ...]
) -> Design:
    """Kernels of a unit in place of others; a kernel of one value needs no line."""
    kept = [f for f in design.schedule.fusions if f.target != unit or f.values not in gone]
    made = [Fusion(unit, values) for values in new if len(values) > 1]
    return with_schedule(design, fusions=(*kept, *made))


def _levels(design: Design) -> Iterator[Site]:
    for unit in units(design.program):
        try:
            wanted = levels(design, unit)
        except RuleError:
            continue
        if set(wanted) != {f.values for f in design.schedule.fusions if f.target == unit}:
            yield site(unit, kernels=str(len(wanted)))


def _whole(design: Design, where: Site) -> Design | None:
    if where.target not in units(design.program):
        return None
    gone = tuple(f.values for f in design.schedule.fusions if f.target == where.target)
    return _replaced(design, where.target, gone, levels(design, where.target))


def _cuts(design: Design) -> Iterator[Site]:
    """Points of a kernel where little passes, or whose halves share an input."""
    for fusion in design.schedule.fusions:
        bodies = units(design.program).get(fusion.target, ())
        same = [p for p in parts(design.program) if p.path == p.unit and p.name == fusion.target]
        for at in range(1, len(fusion.values)):
            halves = fusion.values[:at], fusion.values[at:]
            owner = {v: i for i, values in enumerate(halves) for v in values}
            passed = [_edges(ops, owner)[0].get((0, 1), set()) for ops in bodies]
            shared = any(_inputs(ops, halves[0]) & _inputs(ops, halves[1]) for ops in bodies)
            small = all(_small(v, p, design.program) for v, p in zip(passed, same, strict=True))
            views = {o.result for ops in bodies for o in ops if OPERATORS[o.operator].view}
            if small and (any(passed) or shared) and all(set(half) - views for half in halves):
                yield site(fusion.target, kernel=fusion.values[0], at=fusion.values[at])


def _split(design: Design, where: Site) -> Design | None:
    for fusion in design.schedule.fusions:
        if fusion.target == where.target and fusion.values[0] == where.get("kernel"):
            at = fusion.values.index(where.get("at")) if where.get("at") in fusion.values else 0
            if at > 0:
                halves = (fusion.values[:at], fusion.values[at:])
                return _replaced(design, where.target, (fusion.values,), halves)
    return None


RULES = (
    Rule(
        "fuse", "fusion",
        Documentation(
            "makes one kernel of two where one reads what the other makes, if that is at most 128 K "
            "elements per "
            "token: norm + quantize + product, product + activation + quantize, router + top-k + shares, "
            "attention with its epilogue, all of a hyper-connection",
            "small batches, where launches and the round trip through memory cost more than the arithmetic",
            "larger kernels; a product computed with a norm needs the whole row on one multiprocessor or a "
            "second pass",
            "FlashInfer, TensorRT-LLM and vLLM fusion passes; FlashAttention (arXiv 2205.14135)",
        ),
        lambda d: tuple(_pairs(d)), _fuse,
        "arithmetic is kept; the value between is neither written nor read; one launch less",
        frozenset(("latency", "memory")), inverse="split kernel",
    ),
    Rule(
        "fuse between collectives", "fusion",
        Documentation(
            "makes one kernel of everything in a section that lies between two collectives",
            "small batches: launches are as few as the collectives allow",
            "all intermediates of a step must stay on chip, so the batch per device is limited",
            "Mirage persistent kernels (arXiv 2512.22219); Hazy Research's Llama megakernel",
        ),
        lambda d: tuple(_levels(d)), _whole,
        "arithmetic is kept; only weights, caches and what collectives move is read or written",
        frozenset(("latency", "memory")),
    ),
    Rule(
        "split kernel", "fusion",
        Documentation(
            "splits one kernel in two at a value", "engines without that kernel; large batches",
            "the value between is written and read; one launch more", "the inverse of `fuse`",
        ),
        lambda d: tuple(_cuts(d)), _split, "the inverse of `fuse`",
        frozenset(("capacity",)), inverse="fuse",
    ),
)  # fmt: skip
