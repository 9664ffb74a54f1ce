"""Colour refinement: an order of definitions that depends on what they are and how they are used.

A colour is a 64-bit number; equal colours mean "alike as far as three rounds can see".
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from rooflang.value_graph import Graph

_MASK = (1 << 64) - 1
_ROUNDS = 3


def coloured_roots(graph: Graph, left: list[int], numbered: list[int], marks: dict[int, int]) -> list[int]:
    """`left` ordered for a walk: what nobody reads first, then by colour, then by order in the text.

    `numbered` are the definitions whose place is known already; `marks` adds what placement says.
    """
    colour = {n: _mix(1, i) for i, n in enumerate(numbered)}
    colour.update((n, _mix(_label(graph.nodes[n].label), marks.get(n, 0))) for n in left)
    users: dict[int, list[tuple[int, int]]] = {n: [] for n in left}
    for number, node in enumerate(graph.nodes):
        for slot, read in enumerate(node.reads()):
            if read in users and number in colour:
                users[read].append((number, slot))
    dims = _known_dims(graph, numbered)
    blocks: dict[int, int] = {}
    for _ in range(_ROUNDS if len(left) > 1 else 0):
        dims = {**_dim_colours(graph, left, colour), **_known_dims(graph, numbered)}
        blocks = _block_colours(graph, colour)
        for number in left:
            node = graph.nodes[number]
            found = _mix(colour[number], blocks[node.block])
            for name in node.names:
                found = _mix(found, dims[name])
            for read, index, over in node.uses:
                found = _mix(found, colour[read])
                found = _mix(found, colour[index] if index >= 0 else 0)
                found = _mix(found, dims[over] if over is not None else 0)
            colour[number] = found
        for number in reversed(left):
            total = sum(_mix(colour[user], slot) for user, slot in users[number])
            colour[number] = _mix(colour[number], total & _MASK)
    return sorted(left, key=lambda n: (bool(users[n]), graph.nodes[n].label == "carried", colour[n], n))


def _known_dims(graph: Graph, numbered: list[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number in numbered:
        node = graph.nodes[number]
        for name in (*node.names, *(over for _, _, over in node.uses if over is not None)):
            found.setdefault(name, _mix(2, len(found)))
    return found


def _dim_colours(graph: Graph, left: list[int], colour: dict[int, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number in left:
        node = graph.nodes[number]
        overs = (over for _, _, over in node.uses if over is not None)
        for slot, name in enumerate((*node.names, *overs)):
            found[name] = (found.get(name, 3) + _mix(colour[number], slot)) & _MASK
    return found


def _block_colours(graph: Graph, colour: dict[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for number, block in enumerate(graph.blocks):
        found[number] = _mix(_label(block.label), found.get(block.parent, 0))
    for number, value in colour.items():
        block_number = graph.nodes[number].block
        found[block_number] = (found[block_number] + _mix(value, 5)) & _MASK
    return found


def _mix(state: int, value: int) -> int:
    state = (state ^ value) * 0x9E3779B97F4A7C15 & _MASK
    return (state ^ state >> 29) + 0x632BE59BD9B4E019 & _MASK


@lru_cache(maxsize=4096)
def _label(label: str) -> int:
    return int.from_bytes(hashlib.blake2b(label.encode(), digest_size=8).digest())
