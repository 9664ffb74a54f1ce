"""A conventional placement from degrees of parallelism: `--tp --dp --ep --pp --cp` become mesh and shards.

tp   heads of attention, width of dense feed-forwards, the vocabulary of the head
cp   rows of every attended cache whose length grows with the context
dp   sequences
ep   experts, over the innermost ranks of dp x cp x tp; all of them unless told otherwise
pp   layers
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from mutations.anatomy import kinds
from rooflang.design import Design, Mesh, Placement, Pool, Shard
from rooflang.lower import lower
from seis.cli.problems import UsageError

POOL = "main"


@dataclass(frozen=True, slots=True)
class Degrees:
    """Degrees of parallelism of one replica, each at least 1."""

    pp: int = 1
    dp: int = 1
    cp: int = 1
    tp: int = 1
    ep: int = 1

    @property
    def devices(self) -> int:
        return self.pp * self.dp * self.cp * self.tp


def place(design: Design, degrees: Degrees, device: str, microbatches: int) -> Design:
    """The design on one pool of `device` with these degrees and this many micro-batches."""
    axes, experts = _axes(degrees)
    batch, rows, heads = (tuple(a for a in axes if a.startswith(kind)) for kind in ("dp", "cp", "tp"))
    shards: list[Shard] = []
    for name, dim, by in _cuts(design, degrees, batch, rows, heads, experts):
        if by:
            shards.append(Shard(name, dim, by))
    pipeline = "pp" if degrees.pp > 1 else None
    placement = Placement((Mesh(POOL, tuple(axes.items())),), tuple(shards), (), pipeline)
    overlap = microbatches > degrees.pp  # more than the stages need: transfers of one pass under the other
    schedule = replace(design.schedule, microbatches=microbatches, overlap_links=overlap)
    pool = Pool(POOL, device, degrees.devices)
    return design.with_(pools=(pool,), placement=placement, schedule=schedule)


Names = tuple[str, ...]


def _cuts(
    design: Design, degrees: Degrees, batch: Names, rows: Names, heads: Names, experts: Names
) -> Iterator[tuple[str, str, Names]]:
    """(section, dimension, axes) for every section of the program."""
    wanted = ("embed", "attention", "mlp", "moe", "experts", "head")
    sizes = design.program.sizes
    for name, sections in kinds(design.program, *wanted).items():
        first = sections[0]
        if first.kind == "experts":
            yield name, first.experts, experts
            continue
        yield name, "B", (*batch, *rows, *heads) if first.kind == "moe" else batch
        if first.kind == "head":
            yield name, first.vocabulary, (*rows, *heads)
        elif first.kind == "mlp":
            for dim in first.width[:1]:
                yield name, dim, (*rows, *heads)
        elif first.kind == "attention":
            cut: dict[str, Names] = {}
            for section in sections:
                whole = [
                    h for h in section.heads if all((sizes[d].constant or 0) % degrees.tp == 0 for d in h)
                ]
                for dim in (whole or section.heads or ((),))[0]:
                    cut[dim] = heads
                for dim, kind, _ in section.rows:
                    if kind != "window":
                        cut[dim] = rows
            for dim, axes in cut.items():
                yield name, dim, axes


def _axes(d: Degrees) -> tuple[dict[str, int], Names]:
    """Mesh axes with sizes, outermost first, and those that cut the experts: the innermost `ep` ranks."""
    inner: list[tuple[str, int]] = []
    experts: list[str] = []
    left = d.ep
    for name, size in (("tp", d.tp), ("cp", d.cp), ("dp", d.dp)):
        if left % size and size % left:
            raise UsageError(
                f"--ep must fill --tp, --cp and --dp from the inside, but got ep {d.ep} with tp {d.tp}, "
                f"cp {d.cp}, dp {d.dp}; try --ep {d.dp * d.cp * d.tp}"
            )
        share = min(left, size)
        left //= share
        if 1 < share < size:
            inner += [(name, share), (f"{name}_outer", size // share)]
        else:
            inner.append((name, size))
        if share > 1:
            experts.append(name)
    if left > 1:
        raise UsageError(
            f"--ep must be at most dp x cp x tp = {d.dp * d.cp * d.tp}, but got {d.ep}; lower it"
        )
    outer = [("pp", d.pp)] if d.pp > 1 else []
    return dict([*outer, *reversed(inner)]), tuple(reversed(experts))


def undivided(design: Design, structure: Design | None = None) -> str:
    """The first size that its mesh does not divide, such as `E = 384 by dp 60`, or nothing.

    `structure` is a design that differs in mesh sizes alone and is lowered in its place.
    """
    axes = {a: size for mesh in design.placement.meshes for a, size in mesh.axes}
    lowered = lower(structure or design)
    for condition in lowered.conditions:
        size = lowered.sizes[condition.dim].constant
        ranks = prod(axes[a] for a in condition.axes) * condition.multiple
        if size is not None and size % ranks:
            cut = [a for a in condition.axes if axes[a] > 1] or condition.axes
            by = " x ".join(f"{a} {axes[a]}" for a in cut)
            if condition.multiple > 1:
                by += f" (in blocks of {condition.multiple})"
            return f"{condition.dim} = {size} by {by}"
    return ""
