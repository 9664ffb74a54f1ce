"""Faults of caches: appends, versions, masks, and the statistics of a softmax over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutations.faults.edit import alike, put, rebuilt, retensored, with_operand
from mutations.faults.fault import Fault, Meshes
from rooflang.lowered import LocalOp, Tensor, Unit


def append_dropped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in enumerate(unit.ops):
        if op.operator == "append":
            yield op.result.name, put(unit, i, op.operands[0].tensor)


def append_elsewhere(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """What belongs to one cache is written to another one."""
    appends = [(i, op) for i, op in enumerate(unit.ops) if op.operator == "append"]
    for i, op in appends:
        value = op.operands[1].tensor
        for j, other in appends:
            t = other.operands[1].tensor
            if j < i and t.name != value.name and alike(t, value):
                yield op.result.name, put(unit, i, with_operand(op, 1, t))
                break


def stale_version(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A cache is read as it was before this step's rows were written."""
    yield from _versions(unit, late=False)


def early_version(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A cache that must be read as it was is read after it was written (taps of a convolution shift)."""
    yield from _versions(unit, late=True)


def _versions(unit: Unit, late: bool) -> Iterator[tuple[str, Unit]]:
    for i, append in enumerate(unit.ops):
        if append.operator != "append":
            continue
        old, new = append.operands[0].tensor, append.result
        for j, op in enumerate(unit.ops):
            for position, use in enumerate(op.operands):
                if op.operator == "append":
                    continue
                if not late and j > i and use.tensor.name == new.name:
                    yield (
                        op.result.name,
                        put(unit, j, with_operand(op, position, old)),
                    )
                if late and j < i and use.tensor.name == old.name:
                    moved = (
                        *unit.ops[:j],
                        *unit.ops[j + 1 : i + 1],
                        with_operand(op, position, new),
                        *unit.ops[i + 1 :],
                    )
                    if append.operands[1].tensor.name != op.result.name:
                        yield op.result.name, replace(unit, ops=moved)


def span_off(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A window, or the tokens of a block, is off by one."""
    for state in unit.states:
        if state.rows in ("window", "every") and state.span > 1:
            yield state.name, retensored(unit, state, lambda t: replace(t, span=t.span - 1))


def mask_off(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Rows are seen by other queries: a window for all rows, or all rows for a window."""
    for state in unit.states:
        if state.rows in ("append", "window"):

            def other(t: Tensor) -> Tensor:
                return (
                    replace(t, rows="append", span=1)
                    if t.rows == "window"
                    else replace(t, rows="window", span=4)
                )

            yield state.name, retensored(unit, state, other)


def part_of_sum_dropped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A sink, or the scores of one of several caches, is left out of the softmax's sum."""
    for i, op in enumerate(unit.ops):
        if op.operator == "logsumexp" and len(op.operands) > 1:
            for position in range(len(op.operands)):

                def less(o: LocalOp, position: int = position) -> tuple[LocalOp, ...]:
                    uses = tuple(u for j, u in enumerate(o.operands) if j != position)
                    return (replace(o, operands=uses),)

                yield op.result.name, rebuilt(unit, i, less)


def local_statistics(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Each rank normalises by the sum over its own rows; the parts are merged without statistics."""
    for i, op in enumerate(unit.ops):
        if op.is_collective and op.attribute("partial") == "lse":
            yield (
                op.result.name,
                put(unit, i, replace(op, operator="cast", axes=(), attributes=())),
            )


FAULTS = (
    Fault("append dropped", "this step's rows are not written", append_dropped),
    Fault("append elsewhere", "a cache gets the rows of another", append_elsewhere),
    Fault("stale version", "a cache is read before it is written", stale_version),
    Fault("early version", "a cache is read after it is written", early_version),
    Fault("span off by one", "a window or a block is one token short", span_off),
    Fault("wrong mask", "queries see other rows", mask_off),
    Fault(
        "part of sum dropped", "a sink or the scores of one cache miss in the softmax", part_of_sum_dropped
    ),
    Fault("local statistics", "parts of a softmax are merged without its sums", local_statistics),
)
