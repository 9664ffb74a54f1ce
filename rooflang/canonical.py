"""Two identities of a design, the same under renaming and under reordering of independent statements.

`structure_hash` covers the program and the form of placement and schedule: which axes a mesh has, but
not how long they are; whether there are micro-batches, but not how many. `design_hash` adds those
numbers and the devices. Neither covers the design's own name.

Definitions are numbered by walking from the outputs through the operands; what the outputs do not
reach is ordered by three rounds of colour refinement, and by its order in the text where it is alike.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rooflang.colours import coloured_roots
from rooflang.design import Design
from rooflang.limits import FIXED_SYMBOLS, PARTIAL, WHOLE
from rooflang.targets import Line, Spelling, Targets, independent
from rooflang.text.sizes import print_size
from rooflang.value_graph import Graph, value_graph


def structure_hash(design: Design) -> str:
    """64 hex digits for program and form. Raises DesignError for a name that is never defined."""
    return _digest(_form(design))


def design_hash(design: Design) -> str:
    """64 hex digits for program, form and numbers. Raises DesignError for a name that is never defined."""
    numbers = (
        tuple((p.device, p.count) for p in design.pools),
        tuple(tuple(size for _, size in m.axes) for m in design.placement.meshes),
        design.schedule.microbatches,
    )
    return _digest((*_form(design), numbers))


def _digest(parts: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


class _Numbers(dict[str, int]):
    """Names numbered as they are first asked for."""

    def __missing__(self, name: str) -> int:
        self[name] = found = len(self)
        return found


@dataclass(slots=True)
class _Numbering:
    graph: Graph
    dims: _Numbers
    node: dict[int, int]
    block: dict[int, int]


def _form(design: Design) -> tuple[object, ...]:
    axes, pools = _Numbers(), _Numbers()
    for pool in design.pools:
        pools[pool.name]
    meshes = [(pools[m.pool], [axes[a] for a, _ in m.axes]) for m in design.placement.meshes]
    graph = value_graph(design.program)
    targets = Targets(graph)
    order = _order(graph, lambda: _marks(design, targets, axes, pools))
    numbering = _Numbering(graph, _Numbers(), {n: i for i, n in enumerate(order)}, {0: 0})
    nodes = [_node(numbering, n) for n in order]
    for block in sorted(range(len(graph.blocks)), key=lambda b: (graph.blocks[b].label, b)):
        _block(numbering, block)
    parents = [(graph.blocks[b].label, graph.blocks[b].parent) for b in numbering.block]
    blocks = [(label, numbering.block.get(parent, -1)) for label, parent in parents]
    spelling = Spelling(targets, numbering.node, numbering.block)
    placement = _placement(design, numbering.dims, spelling, axes, pools)
    schedule = _schedule(design, spelling)
    outputs = [numbering.node[n] for n in graph.outputs]
    dims = _sizes(design, numbering.dims, axes)
    return nodes, blocks, outputs, dims, len(design.pools), meshes, placement, schedule


def _sizes(design: Design, dims: _Numbers, axes: _Numbers) -> list[str]:
    """The size of every dimension by number, then those of unused ones. `B` and `Q` are known to all."""

    def rename(symbol: str) -> str:
        return (
            f"axis{axes[symbol]}" if symbol in axes else symbol if symbol in FIXED_SYMBOLS else f"?{symbol}"
        )

    sizes = dict(design.program.dims)
    used = [print_size(sizes[d], rename) if d in sizes else f"={d}" for d in dims]
    return [*used, "unused", *sorted(print_size(s, rename) for d, s in sizes.items() if d not in dims)]


def _order(graph: Graph, marks: Callable[[], dict[int, int]]) -> list[int]:
    """Every definition once: operands follow their first user, starting at the outputs."""
    users = _needed(graph)
    order: list[int] = []
    seen: set[int] = set()

    def walk(root: int) -> None:
        stack = [root]
        while stack:
            number = stack.pop()
            if number in seen:
                continue
            seen.add(number)
            order.append(number)
            stack.extend(reversed(list(graph.nodes[number].reads())))

    for root in graph.outputs:
        walk(root)
    left = [n for n in users if n not in seen]
    if left:
        for root in coloured_roots(graph, left, order, marks()):
            walk(root)
    return order


def _needed(graph: Graph) -> list[int]:
    """All definitions but the carried values that no layer reads."""
    read = {n for node in graph.nodes for n in node.reads()}
    return [n for n, node in enumerate(graph.nodes) if n in read or node.label != "carried"]


def _node(numbering: _Numbering, number: int) -> tuple[object, ...]:
    node = numbering.graph.nodes[number]
    dims, known = numbering.dims, numbering.node
    uses = [(known[n], known.get(i, -1), -1 if over is None else dims[over]) for n, i, over in node.uses]
    return node.label, _block(numbering, node.block), [dims[d] for d in node.names], uses


def _block(numbering: _Numbering, block: int) -> int:
    found = numbering.block.get(block)
    if found is None:
        _block(numbering, numbering.graph.blocks[block].parent)
        found = numbering.block[block] = len(numbering.block)
    return found


def _placement(design: Design, dims: _Numbers, spelling: Spelling, axes: _Numbers, pools: _Numbers) -> object:
    placement = design.placement
    shards: list[Line] = [
        (
            (spelling.anything(s.target),),
            (s.dim if s.dim in (WHOLE, PARTIAL) else dims[s.dim], [axes[a] for a in s.axes]),
        )
        for s in placement.shards
    ]
    homes: list[Line] = [((spelling.anything(target),), pools[pool]) for target, pool in placement.homes]
    tiers: list[Line] = [((spelling.anything(target),), tier) for target, tier in placement.tiers]
    pipeline = -1 if placement.pipeline is None else axes[placement.pipeline]
    further = (independent(tiers),) if tiers else ()
    return independent(shards), independent(homes), pipeline, *further


def _schedule(design: Design, spelling: Spelling) -> object:
    schedule = design.schedule
    streams: list[Line] = [((spelling.sections(target),), 0) for target in schedule.streams]
    fusions: list[Line] = [
        (tuple(spelling.value(f.target, v) for v in f.values), 0) for f in schedule.fusions
    ]
    words = {"prefetch": schedule.prefetch, "cascade": schedule.cascade}
    further = tuple(
        (word, independent([((spelling.sections(target),), 0) for target in targets]))
        for word, targets in words.items()
        if targets
    )
    return (
        schedule.microbatches > 1, schedule.overlap_links, independent(streams), independent(fusions),
        *further,
    )  # fmt: skip


def _marks(design: Design, targets: Targets, axes: _Numbers, pools: _Numbers) -> dict[int, int]:
    """What placement and schedule say of a definition, counted, to tell apart what is otherwise alike."""
    marks: dict[int, int] = {}
    blocks: dict[int, int] = {}

    def mark(found: dict[int, int], numbers: Iterable[int], amount: int) -> None:
        for number in numbers:
            found[number] = found.get(number, 0) + amount

    for shard in design.placement.shards:
        amount = 1 + sum((axes[a] + 1) * 31**i for i, a in enumerate(shard.axes[:8]))
        mark(marks, targets.values(shard.target), amount * 1_000_003)
        mark(blocks, targets.blocks(shard.target), amount * 7_919)
    for target, pool in design.placement.homes:
        mark(marks, targets.values(target), (pools[pool] + 1) * 1_299_709)
        mark(blocks, targets.blocks(target), (pools[pool] + 1) * 104_729)
    for target, _ in design.placement.tiers:
        mark(marks, targets.values(target), 6_700_417)
        mark(blocks, targets.blocks(target), 2_147_483_647)
    schedule = design.schedule
    for targeted, amount in (
        (schedule.streams, 15_485_863), (schedule.prefetch, 32_452_843), (schedule.cascade, 49_979_687)
    ):  # fmt: skip
        for target in targeted:
            mark(blocks, targets.blocks(target), amount)
    fused = Counter((f.target, v, len(f.values)) for f in design.schedule.fusions for v in f.values)
    for (target, value, length), count in fused.items():
        inside = targets.inside(target)
        here = (n for n in targets.named.get(value, ()) if targets.graph.nodes[n].block in inside)
        mark(marks, here, 179_424_673 * length * count)
    total = {0: 0}
    for number, block in enumerate(targets.graph.blocks[1:], 1):
        total[number] = total[block.parent] + blocks.get(number, 0)
    return {n: marks.get(n, 0) + total[node.block] for n, node in enumerate(targets.graph.nodes)}
