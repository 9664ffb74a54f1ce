"""In which order the kernels of one micro-batch run: within a unit by streams and data, units in turn.

On each pool a micro-batch has one stream, in which its kernels and transfers follow each other as the
program is written; sections that the schedule puts on a second stream have another, which begins and ends
with the unit. Between streams and pools, a kernel waits for the data that it reads. Both the closed forms
(`evaluator/clocks.py`) and the event simulation (`evaluator/simulate`) take their order from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from evaluator.plan import Item, Plan
from rooflang.lowered import LocalOp, Tensor, Unit, fused
from rooflang.work.traffic import VIEWS


@dataclass(frozen=True, slots=True)
class Node:
    """A kernel, or a transfer with both of its sides: items of the plan, and the nodes that it waits for.

    `reads` are those among all earlier nodes whose data it needs; `before` counts its stream's order too.
    In both, what follows from others is left out.
    """

    items: tuple[int, ...]
    before: tuple[int, ...]
    side: bool
    reads: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Nodes that follow each other with nothing between, and the runs that they wait for."""

    nodes: tuple[int, ...]
    before: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ordered:
    """One unit: its nodes in program order, those that nothing waits for, and its runs."""

    unit: int
    path: str
    segment: str
    nodes: tuple[Node, ...]
    last: tuple[int, ...]
    runs: tuple[Run, ...]

    @property
    def branches(self) -> bool:
        """Whether any of its nodes can run beside another one."""
        return len(self.runs) > 1


@lru_cache(maxsize=512)
def ordered(plan: Plan) -> tuple[Ordered, ...]:
    """The units of a plan that have kernels, in the order in which a micro-batch passes them."""
    found: list[Ordered] = []
    items: dict[int, list[int]] = {}
    for index, item in enumerate(plan.items):
        items.setdefault(item.unit, []).append(index)
    for number, (segment, unit) in enumerate(plan.lowered.units()):
        if number in items:
            nodes = _nodes(plan, unit, items[number])
            needed = {b for n in nodes for b in n.before}
            last = tuple(i for i in range(len(nodes)) if i not in needed)
            found.append(Ordered(number, unit.path, segment.name, nodes, last, _runs(nodes)))
    return tuple(found)


def layer_name(unit: Ordered) -> tuple[str, str]:
    """A layer of a repeat; a repeat may hold several layers, each a section with sections."""
    parts = unit.path.split(".")
    return parts[0], parts[1] if len(parts) > 2 else ""


def _nodes(plan: Plan, unit: Unit, items: list[int]) -> tuple[Node, ...]:
    joined: dict[int, list[int]] = {}
    for index in items:
        first = plan.items[index].pair
        joined.setdefault(index if first is None else first, []).append(index)
    groups = list(joined.values())
    bases: dict[str, list[int]] = {}
    for position, group in enumerate(groups):
        bases.setdefault(_base(plan.items[group[0]]), []).append(position)
    read = _read(fused(unit))
    last: dict[tuple[str, bool], int] = {}
    waits: list[int] = []
    flows: list[int] = []
    nodes: list[Node] = []
    for position, group in enumerate(groups):
        item = plan.items[group[0]]
        base = _base(item)
        wanted = {
            p for name in (base, *read.get(base, ())) for p in bases.get(name, ()) if p < position
        }  # fmt: skip
        data = _direct(wanted, flows)
        for index in group:
            stream = (plan.works[plan.items[index].work].pool, item.stream)
            if stream in last:
                wanted.add(last[stream])
            last[stream] = position
        nodes.append(Node(tuple(group), _direct(wanted, waits), item.stream, data))
    return tuple(nodes)


def _direct(wanted: set[int], reached: list[int]) -> tuple[int, ...]:
    """Those that do not follow from others. `reached` has all nodes before each one as bits; one is added."""
    kept, mine = [], 0
    for p in sorted(wanted, reverse=True):
        if not mine >> p & 1:
            kept.append(p)
            mine |= reached[p] | 1 << p
    reached.append(mine)
    return tuple(reversed(kept))


def _base(item: Item) -> str:
    """The name of the kernel that an item is a stage or a side of."""
    name = item.kernel.name
    if item.kernel.engine == "link":
        return name[:-2]
    head, cut, stage = name.rpartition("/")
    return head if cut and stage.isdigit() else name


def _read(unit: Unit) -> Mapping[str, set[str]]:
    """By kernel: the kernels whose results it reads, also through views."""
    made: dict[Tensor, frozenset[str]] = {}
    found: dict[str, set[str]] = {}
    for op in unit.ops:
        sources = frozenset(name for tensor in _operands(op) for name in made.get(tensor, ()))
        if op.operator in VIEWS:
            made[op.result] = sources
        else:
            found.setdefault(op.kernel, set()).update(sources)
            made[op.result] = frozenset((op.kernel,))
    return found


def _operands(op: LocalOp) -> Iterator[Tensor]:
    for use in op.operands:
        yield use.tensor
        if use.index is not None:
            yield use.index


def _runs(nodes: tuple[Node, ...]) -> tuple[Run, ...]:
    followers = [0] * len(nodes)
    for node in nodes:
        for b in node.before:
            followers[b] += 1
    members: list[list[int]] = []
    before: list[tuple[int, ...]] = []
    run_of: list[int] = []
    for position, node in enumerate(nodes):
        if len(node.before) == 1 and followers[node.before[0]] == 1:
            run = run_of[node.before[0]]
            members[run].append(position)
        else:
            run = len(members)
            members.append([position])
            before.append(tuple(sorted({run_of[b] for b in node.before})))
        run_of.append(run)
    return tuple(Run(tuple(m), b) for m, b in zip(members, before, strict=True))
