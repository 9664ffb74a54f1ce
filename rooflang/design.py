"""A design as the language holds it: four immutable parts and their statements.

Nothing here is derived. Shapes, layouts, kernels and collectives are computed by `typing` and `lower`
and never stored, so they cannot go stale. A hash is kept, so that results are found by a design cheaply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import TypeAlias

from rooflang.node import Node, node
from rooflang.size import Size, symbol

Attribute: TypeAlias = "str | int | float | bool"


@node
class Operand(Node):
    """A use of a value: `x`, `x[ids]` (rows of x chosen by ids), `x over D` (the axis acted on)."""

    name: str
    index: str | None = None
    over: str | None = None


@node
class Weight(Node):
    """A parameter tensor. A derived weight is computed once, offline, by `derived` from others."""

    name: str
    dtype: str
    dims: tuple[str, ...]
    derived: Op | None = None


@node
class State(Node):
    """A cache: dims are (B, rows, ...). A query at position p sees

    append      rows r <= p
    window n    rows p - n < r <= p
    every n     rows with (r + 1)·n <= p + 1: one row per finished block of n tokens

    A state of kind `last` has no rows, and dims (B, ...): it holds what the last token left.
    """

    name: str
    dtype: str
    dims: tuple[str, ...]
    rows: str = "append"
    span: int = 1


@node
class Input(Node):
    name: str
    dtype: str
    dims: tuple[str, ...]


@node
class Op(Node):
    """`result: dtype = operator(operands, attributes -> dims)`.

    `dims` is written for operators whose result is not implied (einsum, concat, slice, topk);
    `dtype` is written where it differs from the operator's default.
    """

    result: str
    operator: str
    operands: tuple[Operand, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    dims: tuple[str, ...] | None = None
    dtype: str | None = None

    def attribute(self, name: str, default: Attribute | None = None) -> Attribute | None:
        for key, value in self.attributes:
            if key == name:
                return value
        return default


@node
class Section(Node):
    """A named part of a layer; placement and pools are given per section."""

    name: str
    body: tuple[Statement, ...]


@node
class Repeat(Node):
    """`count` layers of the same text with their own weights and states.

    A name that is defined before the repeat and assigned inside it is carried from layer to layer.
    `draft` layers run once per drafted token with one query token each.
    """

    name: str
    count: int
    body: tuple[Statement, ...]
    draft: bool = False


Statement: TypeAlias = "Weight | State | Input | Op | Section | Repeat"


@node
class Program(Node):
    """What is computed. `dims` maps each dimension name to its size over B, Q, S."""

    dims: tuple[tuple[str, Size], ...]
    body: tuple[Statement, ...]
    outputs: tuple[str, ...] = ()

    @property
    def sizes(self) -> Mapping[str, Size]:
        """Sizes by name; `B` and `Q` are dimensions of every program."""
        return {"B": symbol("B"), "Q": symbol("Q"), **dict(self.dims)}


@node
class Pool(Node):
    """`count` devices of one kind."""

    name: str
    device: str
    count: int


@node
class Mesh(Node):
    """The axes of a pool, outermost first: the last axis joins neighbouring ranks."""

    pool: str
    axes: tuple[tuple[str, int], ...]


@node
class Shard(Node):
    """`target: dim over axes`. The target is a section (its last name, or a dotted path) or a value.

    In a value's line two words stand in place of a dimension: `whole`, which no axis cuts, and `partial`,
    an unfinished sum, which linear operators may read as it is.
    """

    target: str
    dim: str
    axes: tuple[str, ...]


@node
class Placement(Node):
    """`homes` sends sections and values to pools (the first pool is the default); `pipeline` names the axis
    over which layers are split into stages; `tiers` are weights and states (or sections with them) kept in a
    memory other than the device's own."""

    meshes: tuple[Mesh, ...] = ()
    shards: tuple[Shard, ...] = ()
    homes: tuple[tuple[str, str], ...] = ()
    pipeline: str | None = None
    tiers: tuple[tuple[str, str], ...] = ()


@node
class Fusion(Node):
    """Operators of a section that run as one kernel: what they pass to each other stays on chip."""

    target: str
    values: tuple[str, ...]


@node
class Schedule(Node):
    """`overlap` names the engines that may run at the same time: `links` lets the transfers of one
    micro-batch run under the arithmetic of another; `streams` lists sections that run beside the
    transfers of the same micro-batch; `prefetch` sections whose weights, and whatever they keep in the
    host's memory, are fetched before they are needed; `cascade` sections that attend to a prefix which
    sequences share once for all of them."""

    microbatches: int = 1
    fusions: tuple[Fusion, ...] = ()
    overlap_links: bool = False
    streams: tuple[str, ...] = ()
    prefetch: tuple[str, ...] = ()
    cascade: tuple[str, ...] = ()


@node
class Design(Node):
    """Program, system, placement and schedule."""

    name: str
    program: Program
    pools: tuple[Pool, ...] = ()
    placement: Placement = field(default_factory=Placement)
    schedule: Schedule = field(default_factory=Schedule)

    def with_(self, **parts: object) -> Design:
        """A copy with some parts replaced."""
        return replace(self, **parts)  # type: ignore[arg-type]


def walk(
    body: tuple[Statement, ...], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Statement]]:
    """Every statement with the names of the repeats and sections around it, in order."""
    for statement in body:
        yield path, statement
        if isinstance(statement, Section | Repeat):
            yield from walk(statement.body, (*path, statement.name))


@lru_cache(maxsize=4096)
def reads(body: tuple[Statement, ...]) -> frozenset[str]:
    """Names that statements read from outside: used before they are assigned or declared here."""
    found: set[str] = set()
    known: set[str] = set()
    for _, statement in walk(body):
        if isinstance(statement, Op):
            found.update(n for o in statement.operands for n in (o.name, o.index) if n and n not in known)
            if statement.operator != "append":
                known.add(statement.result)
        elif not isinstance(statement, Section | Repeat):
            known.add(statement.name)
    return frozenset(found)
