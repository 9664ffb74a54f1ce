"""Two identities of a design, the same under renaming and under reordering of independent statements.

`structure_hash` covers the program and the form of placement and schedule: which axes a mesh has, but
not how long they are; whether there are micro-batches, but not how many. `design_hash` adds those
numbers and the devices. Neither covers the design's own name.

Definitions are numbered by walking from the outputs through the operands; what the outputs do not
reach is ordered by three rounds of colour refinement, and by its order in the text where it is alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rooflang.colours import coloured_roots
from rooflang.design import Design, Fusion
from rooflang.limits import FIXED_SYMBOLS
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
    order = _order(graph, lambda: _marks(design, graph, axes, pools))
    numbering = _Numbering(graph, _Numbers(), {n: i for i, n in enumerate(order)}, {0: 0})
    nodes = [_node(numbering, n) for n in order]
    for block in sorted(range(len(graph.blocks)), key=lambda b: (graph.blocks[b].label, b)):
        _block(numbering, block)
    blocks = [
        (graph.blocks[b].label, numbering.block.get(graph.blocks[b].parent, -1)) for b in numbering.block
    ]
    placement = _placement(design, numbering, axes, pools)
    schedule = _schedule(design, numbering)
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


def _placement(design: Design, numbering: _Numbering, axes: _Numbers, pools: _Numbers) -> tuple[object, ...]:
    placement = design.placement
    shards = [
        (_targets(s.target, numbering), (numbering.dims[s.dim], [axes[a] for a in s.axes]))
        for s in placement.shards
    ]
    homes = [(_targets(t, numbering, values=False), pools[p]) for t, p in placement.homes]
    pipeline = -1 if placement.pipeline is None else axes[placement.pipeline]
    return _independent(shards), _independent(homes), pipeline


def _schedule(design: Design, numbering: _Numbering) -> tuple[object, ...]:
    schedule = design.schedule
    streams = sorted(_targets(t, numbering, values=False) for t in schedule.streams)
    named = _named(numbering.graph)
    fusions = [(_fused(f, numbering, named), 0) for f in schedule.fusions]
    return schedule.microbatches > 1, schedule.overlap_links, streams, _independent(fusions)


def _targets(target: str, numbering: _Numbering, values: bool = True) -> tuple[str, ...]:
    """The blocks whose path ends with a target, and the values of that name; the target itself if none."""
    found = [f"b{n:06}" for b, n in numbering.block.items() if _ends(numbering.graph.blocks[b].path, target)]
    if values:
        found += [f"v{i:06}" for n, i in numbering.node.items() if numbering.graph.nodes[n].name == target]
    return tuple(sorted(found)) or (f"?{target}",)


def _named(graph: Graph) -> dict[str, list[int]]:
    """The definitions of each name."""
    named: dict[str, list[int]] = {}
    for number, node in enumerate(graph.nodes):
        named.setdefault(node.name, []).append(number)
    return named


def _fused(fusion: Fusion, numbering: _Numbering, named: dict[str, list[int]]) -> tuple[str, ...]:
    blocks = _inside(numbering.graph, fusion.target)
    found: set[str] = set()
    for value in fusion.values:
        here = [
            f"v{numbering.node[n]:06}"
            for n in named.get(value, ())
            if numbering.graph.nodes[n].block in blocks and n in numbering.node
        ]
        found.update(here or (f"?{fusion.target}.{value}",))
    return tuple(sorted(found))


def _inside(graph: Graph, target: str) -> set[int]:
    """Blocks whose path ends with a target, and all blocks within them."""
    found: set[int] = set()
    for number, block in enumerate(graph.blocks):
        if block.parent in found or _ends(block.path, target):
            found.add(number)
    return found


def _ends(path: str, target: str) -> bool:
    return path == target or path.endswith("." + target)


def _independent(lines: Iterable[tuple[tuple[str, ...], object]]) -> list[tuple[tuple[str, ...], object]]:
    """Lines sorted by what they speak of, unless two of them speak of partly the same."""
    lines = list(lines)
    owner: dict[str, tuple[str, ...]] = {}
    for targets, _ in lines:
        if any(owner.setdefault(t, targets) != targets for t in targets):
            return lines
    return sorted(lines, key=lambda line: line[0])


def _marks(design: Design, graph: Graph, axes: _Numbers, pools: _Numbers) -> dict[int, int]:
    """What placement and schedule say of a definition, counted, to tell apart what is otherwise alike."""
    named = _named(graph)
    marks: dict[int, int] = {}

    def mark(blocks: set[int], nodes: Iterable[int], amount: int) -> None:
        for number in nodes:
            if not blocks or graph.nodes[number].block in blocks:
                marks[number] = marks.get(number, 0) + amount

    everything = range(len(graph.nodes))
    for shard in design.placement.shards:
        amount = 1 + sum((axes[a] + 1) * 31**i for i, a in enumerate(shard.axes))
        mark(set(), named.get(shard.target, ()), amount * 1_000_003)
        blocks = _inside(graph, shard.target)
        if blocks:
            mark(blocks, everything, amount * 7_919)
    for target, pool in design.placement.homes:
        blocks = _inside(graph, target)
        if blocks:
            mark(blocks, everything, (pools[pool] + 1) * 104_729)
    for target in design.schedule.streams:
        blocks = _inside(graph, target)
        if blocks:
            mark(blocks, everything, 15_485_863)
    for fusion in design.schedule.fusions:
        blocks = _inside(graph, fusion.target)
        for value in fusion.values:
            if blocks:
                mark(blocks, named.get(value, ()), 179_424_673 * len(fusion.values))
    return marks
