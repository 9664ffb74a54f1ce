"""Micro-batches: a step run part by part must give what the whole batch gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mutations.verify.comparison import Runner
from rooflang.run import Failure, Machine, Outcome, Step, Trial, Value


def wider(trial: Trial) -> Trial:
    """Three times the batch, so that micro-batches of different sizes divide as the whole does."""
    sizes = replace(trial.sizes, dims={**trial.sizes.dims, "B": 3 * trial.sizes.dim("B")})
    steps = tuple(Step(s.start * 3, s.valid * 3, s.queries) for s in trial.steps)
    return Trial(sizes, steps)


def narrower(trial: Trial) -> Trial:
    """A wider trial's sizes as they were; its steps are left alone."""
    dims = {**trial.sizes.dims, "B": trial.sizes.dim("B") // 3}
    return replace(trial, sizes=replace(trial.sizes, dims=dims))


def parts(batch: int, trial: Trial) -> tuple[tuple[int, int], ...]:
    """Two micro-batches of a batch of three units: the first takes the larger share (a split by ceiling)."""
    unit = batch // 3
    return ((0, 2 * unit), (2 * unit, batch))


def in_parts(runner: Runner, number: int, step: Step, split: tuple[tuple[int, int], ...]) -> Outcome:
    """Run a step one micro-batch after the other; together they must be the whole batch, in order."""
    whole = runner.environment(number, step)
    unit = runner.side.unit
    outputs: list[Mapping[str, Value]] = []
    states: list[Mapping[str, Value]] = []
    ends = [0, *(b for _, b in split)]
    if [a for a, _ in split] != ends[:-1] or ends[-1] != step.batch:
        message = f"micro-batches must cover {step.batch} sequences once and in order, but are {list(split)}"
        return Outcome(failures=(Failure("microbatch.partition", unit.path, message),))
    for a, b in split:
        sizes = replace(runner.trial.sizes, dims={**runner.trial.sizes.dims, "B": b - a})
        part = Step(step.start[a:b], step.valid[a:b], step.queries)
        outcome = Machine(sizes).execute(unit, {n: _rows(v, a, b) for n, v in whole.items()}, part)
        if outcome.failures:
            return outcome
        outputs.append(outcome.outputs)
        states.append(outcome.states)
    joined = Outcome(
        {n: _join([o[n] for o in outputs]) for n in outputs[0]},
        {n: _join([o[n] for o in states]) for n in states[0]},
    )
    runner.states.update(joined.states)
    return joined


def _rows(v: Value, a: int, b: int) -> Value:
    if "B" not in v.names:
        return v
    mask = v.mask
    if mask is not None and "B" in mask.names and mask.array.shape[mask.names.index("B")] != 1:
        index = [slice(None)] * mask.array.ndim
        index[mask.names.index("B")] = slice(a, b)
        mask = replace(mask, array=mask.array[tuple(index)])
    index = [slice(None)] * v.data.ndim
    index[1 + v.names.index("B")] = slice(a, b)
    return replace(v, data=v.data[tuple(index)], mask=mask)


def _join(values: list[Value]) -> Value:
    v = values[0]
    if "B" not in v.names:
        return v
    levels = min(len(x.data) for x in values)
    data = np.concatenate([x.data[:levels] for x in values], axis=1 + v.names.index("B"))
    mask = v.mask
    if mask is not None and "B" in mask.names:
        arrays = [x.mask.array for x in values if x.mask is not None]
        mask = replace(mask, array=np.concatenate(arrays, axis=mask.names.index("B")))
    return replace(v, data=data, mask=mask)
