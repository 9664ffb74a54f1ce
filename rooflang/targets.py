"""What the targets of placement and schedule mean in a value graph, each resolved once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeAlias

from rooflang.value_graph import Graph

Places: TypeAlias = tuple[str, ...]  # canonical spellings of blocks and definitions
Line: TypeAlias = tuple[tuple[Places, ...], object]


class Targets:
    """Resolves names as placement does: a section by the end of its dotted path, a value by its name."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.named: dict[str, list[int]] = {}
        for number, node in enumerate(graph.nodes):
            self.named.setdefault(node.name, []).append(number)
        self._last: dict[str, list[int]] = {}
        for number, block in enumerate(graph.blocks[1:], 1):
            self._last.setdefault(block.path.rpartition(".")[2], []).append(number)
        self.blocks = cache(self._blocks)
        self.values = cache(self._values)
        self.inside = cache(self._inside)

    def _blocks(self, target: str) -> list[int]:
        """Sections and repeats whose path ends with the target."""
        near = self._last.get(target.rpartition(".")[2], [])
        paths = self.graph.blocks
        return [b for b in near if paths[b].path == target or paths[b].path.endswith("." + target)]

    def _values(self, target: str) -> list[int]:
        """Definitions of that name, in the sections that the target names before it."""
        section, _, name = target.rpartition(".")
        found = self.named.get(name, [])
        blocks = set(self.blocks(section)) if section else set()
        return [n for n in found if not section or self.graph.nodes[n].block in blocks]

    def _inside(self, target: str) -> frozenset[int]:
        """Those blocks and all blocks within them."""
        found = set(self._blocks(target))
        for number, block in enumerate(self.graph.blocks):
            if block.parent in found:
                found.add(number)
        return frozenset(found)


class Spelling:
    """Spells resolved targets in canonical numbers."""

    def __init__(self, targets: Targets, node: dict[int, int], block: dict[int, int]) -> None:
        self._targets, self._node, self._block = targets, node, block
        self.sections = cache(self._sections)
        self.anything = cache(self._anything)
        self.value = cache(self._value)

    def _sections(self, target: str) -> Places:
        found = sorted(f"b{self._block[b]:06}" for b in self._targets.blocks(target))
        return tuple(found) or (f"?{target}",)

    def _anything(self, target: str) -> Places:
        blocks = [f"b{self._block[b]:06}" for b in self._targets.blocks(target)]
        values = [f"v{self._node[n]:06}" for n in self._targets.values(target)]
        return tuple(sorted(blocks + values)) or (f"?{target}",)

    def _value(self, target: str, name: str) -> Places:
        """The definitions of a name within a section."""
        inside, nodes = self._targets.inside(target), self._targets.graph.nodes
        here = [f"v{self._node[n]:06}" for n in self._targets.named.get(name, ()) if nodes[n].block in inside]
        return tuple(sorted(here)) or (f"?{target}.{name}",)


def independent(lines: Iterable[Line]) -> tuple[Sequence[Places], list[tuple[list[int], object]]]:
    """The distinct places, sorted, and the lines as indices into them.

    Lines are sorted too, unless two of them speak of partly the same, when their order may matter.
    """
    lines = list(lines)
    distinct = sorted({places for parts, _ in lines for places in parts})
    index = {places: i for i, places in enumerate(distinct)}
    found = [(sorted({index[places] for places in parts}), rest) for parts, rest in lines]
    owner: dict[int, list[int]] = {}
    elements = [place for places in distinct for place in places]
    apart = len(elements) == len(set(elements)) and all(
        owner.setdefault(i, parts) == parts for parts, _ in found for i in parts
    )
    return distinct, sorted(found, key=lambda line: line[0]) if apart else found
