"""The lowered program: local operators on local shapes, every collective explicit.

It is the one object that all readers share: `check` judges it, `run` executes it, `work` prices it.
Sizes stay symbolic in B, Q, S and the mesh axes, so one lowered program stands for every size of its
structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from rooflang.design import Attribute, Design, Op
from rooflang.layout import Layout
from rooflang.node import Node, node
from rooflang.size import Size


@node
class Tensor(Node):
    """A value on a pool: dims and format as in the program, `layout` along the mesh.

    `name` is unique in its unit; `kind` is weight, state, input or value; `every` as in operators.Type.
    States also carry their visibility (`rows`, `span`). `tier` is the memory that holds a weight or state,
    empty for the device's own; along the axes in `deferred` a partial sum may be read unfinished.
    """

    name: str
    kind: str
    dims: tuple[str, ...]
    dtype: str
    layout: Layout
    pool: str
    every: int = 1
    rows: str = ""
    span: int = 1
    derived: Op | None = None
    tier: str = ""
    deferred: tuple[str, ...] = ()


@node
class Use(Node):
    """A local operand; `index` are positions into one of its dims, `over` the axis acted on."""

    tensor: Tensor
    index: Tensor | None = None
    over: str | None = None


@node
class LocalOp(Node):
    """One local operator or collective.

    `sharding` lists, for each name of the iteration space that is cut in this operator, the axes that
    cut it. Collectives have one operand; `axes` are those that they join, `operator` says what they do:

        all_reduce      partial -> replicated
        reduce_scatter  partial -> split(dim)
        all_gather      split(dim) -> replicated
        all_to_all      split(dim) -> split(other)
        keep            replicated -> partial(one): the axis's first rank keeps it (moves nothing)
        cut             replicated -> split(dim): each rank keeps its part (moves nothing)
        dispatch        split(B) -> partial(any): rows go to the ranks that were chosen for them
        combine         partial(sum, routed) -> split(B): the way back
        gather_top      split(over): every rank gets the k best candidates of all
        send            from one pool to another
    """

    operator: str
    result: Tensor
    operands: tuple[Use, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    sharding: tuple[tuple[str, tuple[str, ...]], ...] = ()
    axes: tuple[str, ...] = ()
    section: str = ""
    kernel: str = ""

    @property
    def is_collective(self) -> bool:
        return self.operator in MOVES

    def attribute(self, name: str, default: Attribute | None = None) -> Attribute | None:
        for key, value in self.attributes:
            if key == name:
                return value
        return default


MOVES = frozenset(
    ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "keep", "cut", "dispatch", "combine",
     "gather_top", "send")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Routing:
    """Which names a choice binds: `ids` picks positions of `target` (an expert or row name)."""

    tag: str
    target: str
    picks: tuple[str, ...]
    axes: tuple[str, ...]
    of_state: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """The full size of `dim` must divide by the product of the axes (times `multiple`)."""

    dim: str
    axes: tuple[str, ...]
    multiple: int = 1


@node
class Unit(Node):
    """A section (or a run of loose statements) lowered for its pool: the grain of verification.

    `inputs` and `outputs` are the values that cross its boundary, by their name in the program. `kernels`
    are the schedule's fusions inside it: (value in the program, kernel); `cascade` says that it attends to a
    prefix shared by several sequences once for all of them.
    """

    path: str
    pool: str
    ops: tuple[LocalOp, ...]
    inputs: tuple[tuple[str, Tensor], ...]
    outputs: tuple[tuple[str, Tensor], ...]
    weights: tuple[Tensor, ...]
    states: tuple[Tensor, ...]
    routings: tuple[Routing, ...] = ()
    conditions: tuple[Condition, ...] = ()
    kernels: tuple[tuple[str, str], ...] = ()
    cascade: bool = False


@lru_cache(maxsize=20_000)
def bare(unit: Unit) -> Unit:
    """What the unit computes, wherever it stands and whatever its kernels are: they change no value."""
    return replace(unit, path="", kernels=(), cascade=False)


@lru_cache(maxsize=20_000)
def fused(unit: Unit) -> Unit:
    """The unit wherever it stands, its operators in the kernels that the schedule gives them."""
    if not unit.kernels:
        return replace(bare(unit), cascade=unit.cascade) if unit.cascade else bare(unit)
    kernels = dict(unit.kernels)
    # A kernel runs on one device, so values on two pools are never in one.
    ops = tuple(
        op
        if op.is_collective or (kernel := kernels.get(made_for(op))) is None
        else replace(op, kernel=kernel if op.result.pool == unit.pool else f"{kernel}@{op.result.pool}")
        for op in unit.ops
    )
    return replace(unit, path="", ops=ops, kernels=())


def made_for(op: LocalOp) -> str:
    """The name in the program of what an operator makes; an append makes a version of its cache."""
    return op.result.name.partition("~")[0].partition("+")[0].rpartition(".")[2]


@lru_cache(maxsize=20_000)
def used_axes(unit: Unit) -> frozenset[str]:
    """The mesh axes that matter to a unit."""
    tensors = {t for _, t in unit.inputs} | {*unit.weights, *unit.states}
    found = {a for r in unit.routings for a in r.axes}
    for op in unit.ops:
        found.update(op.axes)
        tensors.add(op.result)
        for use in op.operands:
            tensors.add(use.tensor)
            if use.index is not None:
                tensors.add(use.index)
    found.update(a for layout in {t.layout for t in tensors} for a, _ in layout)
    return frozenset(found)


@node
class Segment(Node):
    """`count` equal layers, or the statements between repeats (count 1)."""

    name: str
    count: int
    draft: bool
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A whole design, lowered (one object per design: `lower` keeps it).

    `meshes` gives each pool's axes, outermost first.
    """

    design: Design
    segments: tuple[Segment, ...]
    meshes: tuple[tuple[str, tuple[str, ...]], ...]
    conditions: tuple[Condition, ...]

    @property
    def sizes(self) -> Mapping[str, Size]:
        return self.design.program.sizes

    def units(self) -> Iterator[tuple[Segment, Unit]]:
        for segment in self.segments:
            for unit in segment.units:
                yield segment, unit
