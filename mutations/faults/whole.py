"""Faults of whole designs: layers lost or out of order, and lines of the schedule that speak of nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutations.faults.fault import WholeFault
from rooflang.design import Design, Fusion, Schedule
from rooflang.lower import lower
from rooflang.lowered import Lowered, Segment

_NOTHING = "nothing_of_that_name"


def _counted(lowered: Lowered, by: int) -> Iterator[tuple[str, Lowered]]:
    for i, segment in enumerate(lowered.segments):
        if segment.count > 1:
            segments = list(lowered.segments)
            segments[i] = replace(segment, count=segment.count + by)
            yield segment.name, replace(lowered, segments=tuple(segments))


def layer_dropped(lowered: Lowered) -> Iterator[tuple[str, Lowered]]:
    yield from _counted(lowered, -1)


def layer_doubled(lowered: Lowered) -> Iterator[tuple[str, Lowered]]:
    yield from _counted(lowered, 1)


def sections_swapped(lowered: Lowered) -> Iterator[tuple[str, Lowered]]:
    """A section runs before the one whose result it reads: on what the layer before left."""
    for i, segment in enumerate(lowered.segments):
        for j, (first, second) in enumerate(zip(segment.units, segment.units[1:], strict=False)):
            made = {n for n, _ in first.outputs} if first.ops else set()  # what only declares runs nothing
            if not made & {n for n, _ in second.inputs}:
                continue
            units = (*segment.units[:j], second, first, *segment.units[j + 2 :])
            segments: list[Segment] = list(lowered.segments)
            segments[i] = replace(segment, units=units)
            yield first.path, replace(lowered, segments=tuple(segments))


def _scheduled(design: Design, **changes: object) -> Lowered:
    schedule: Schedule = replace(design.schedule, **changes)  # type: ignore[arg-type]
    return lower(design.with_(schedule=schedule))


def batch_lost(lowered: Lowered) -> Iterator[tuple[str, Lowered]]:
    yield "schedule", _scheduled(lowered.design, microbatches=0)


def kernel_of_nothing(lowered: Lowered) -> Iterator[tuple[str, Lowered]]:
    """A kernel keeps the name of a value that a rewrite removed."""
    fusions = lowered.design.schedule.fusions
    for i, fusion in enumerate(fusions):
        bad = Fusion(fusion.target, (*fusion.values, _NOTHING))
        yield fusion.target, _scheduled(lowered.design, fusions=(*fusions[:i], bad, *fusions[i + 1 :]))


def fused_twice(lowered: Lowered) -> Iterator[tuple[str, Lowered]]:
    """A value belongs to the kernel that made it before a rewrite, and to the one that makes it now."""
    fusions = lowered.design.schedule.fusions
    for fusion in fusions:
        yield (
            fusion.target,
            _scheduled(lowered.design, fusions=(*fusions, Fusion(fusion.target, fusion.values))),
        )


def line_of_nothing(lowered: Lowered) -> Iterator[tuple[str, Lowered]]:
    """A line speaks of a section that is not there: what it was to do is not done."""
    design = lowered.design
    for key in ("streams", "prefetch", "cascade"):
        yield key, _scheduled(design, **{key: (_NOTHING,)})
    tiers = (*design.placement.tiers, (_NOTHING, "host"))
    yield "tiers", lower(design.with_(placement=replace(design.placement, tiers=tiers)))


FAULTS = (
    WholeFault("layer dropped", "stages lose a layer between them", layer_dropped),
    WholeFault("layer doubled", "two stages compute the same layer", layer_doubled),
    WholeFault("sections swapped", "a section runs before the one whose result it reads", sections_swapped),
    WholeFault("micro-batches lost", "no micro-batch is computed", batch_lost),
    WholeFault("kernel of nothing", "a kernel names a value that is gone", kernel_of_nothing),
    WholeFault("value fused twice", "a value is made by two kernels", fused_twice),
    WholeFault("line of nothing", "a line of the schedule or of residence names nothing", line_of_nothing),
)
