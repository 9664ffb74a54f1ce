"""Comparison of one pair of units over two size assignments and three steps each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mutations.verify.comparison import Runner, Side, correspond, differs, side
from mutations.verify.formats import narrowed
from mutations.verify.pairing import Pair
from mutations.verify.trace import first_difference
from mutations.verify.verdict import Reason
from rooflang.lowered import Lowered, Tensor, Unit
from rooflang.run import ExecutionError, Machine, Outcome, Step, Tally, Trial, Value, leaves, shrink_units

VARIANTS = (0, 1)
# Given a unit, its test sizes and its tally: what is wrong between formula and execution, in words.
WorkFormula = Callable[[Unit, Trial, Step, Tally], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Job:
    """What is needed to compare a pair."""

    reference: Lowered
    candidate: Lowered
    seed: int
    microbatches: int
    work_formula: WorkFormula | None = None


def compare(job: Job, pair: Pair) -> tuple[Reason, ...]:
    """The first differences of a pair, or nothing."""
    theirs = side(pair.candidate)
    ours = theirs if pair.reference is None else side(pair.reference)
    wrong = (*correspond(pair.path, ours, theirs), *narrowed(pair.path, ours, theirs))
    if wrong:
        return wrong
    units = [theirs.unit] if pair.reference is None else [ours.unit, theirs.unit]
    for variant in VARIANTS:
        try:
            trial = shrink_units((job.reference, job.candidate), units, variant)
            if job.microbatches > 1:
                trial = _wider(trial)
        except ExecutionError as error:
            return (Reason(error.code, pair.path, str(error)),)
        found = (
            _moved(job, pair, theirs, trial)
            if pair.reference is None
            else _run(job, pair, ours, theirs, trial)
        )
        if found:
            return found
        if job.work_formula is not None:
            found = _work(job, pair, theirs, trial)
            if found:
                return found
    return ()


def _shapes(ours: Side) -> dict[str, Tensor]:
    given = {f"given/{n}": t for n, t in leaves(ours.unit)}
    return {**given, **{ours.weights[t.name]: t for t in ours.unit.weights}}


def _run(job: Job, pair: Pair, ours: Side, theirs: Side, trial: Trial) -> tuple[Reason, ...]:
    shapes = _shapes(ours)
    first, second = (Runner(s, shapes, trial, job.seed) for s in (ours, theirs))
    for number, step in enumerate(trial.steps):
        want = first.step(number, step)
        if want.failures:
            return tuple(Reason(f.code, f.where, f"the reference fails: {f.message}") for f in want.failures)
        if job.microbatches > 1:
            got = in_parts(second, number, step, parts(step.batch, trial))
        else:
            got = second.step(number, step)
        if got.failures:
            return tuple(Reason(f.code, f.where, f.message) for f in got.failures)
        wrong = _outputs(pair, want.outputs, got.outputs, step)
        wrong += _states(pair, ours, theirs, want, got)
        if wrong:
            hint = first_difference(first, second, number, step)
            return tuple(replace(r, message=f"{r.message}{hint}") for r in wrong)
    return ()


def _outputs(pair: Pair, want: Mapping[str, Value], got: Mapping[str, Value], step: Step) -> list[Reason]:
    found = []
    for name in got:
        if name not in want:
            where = f"{pair.path}.{name}"
            found.append(
                Reason("graph.output", where, f"{name} must not be replaced: the reference keeps it")
            )
    for name, value in want.items():
        where = f"{pair.path}.{name}"
        other = got.get(name)
        if other is None:
            found.append(Reason("graph.output", where, f"{name} must leave the section, but is not computed"))
        elif wrong := differs(value, other, step.exists):
            found.append(
                Reason("value.differs", where, f"{wrong} (cached {step.start[0]}, adding {step.queries})")
            )
    return found


def _states(pair: Pair, ours: Side, theirs: Side, want: Outcome, got: Outcome) -> list[Reason]:
    found = []
    names = {theirs.states[n]: v for n, v in got.states.items() if n in theirs.states}
    given = {n: v for n, v in got.states.items() if n not in theirs.states}
    for name, value in want.states.items():
        other = names.get(ours.states[name]) if name in ours.states else given.get(name)
        where = f"{pair.path}.{name}"
        if other is None:
            found.append(
                Reason("graph.state", where, "a cache that the reference appends to is not appended to")
            )
        elif wrong := differs(value, other, None):
            found.append(Reason("state.differs", where, f"the cache {wrong}"))
    if len(got.states) > len(want.states):
        found.append(
            Reason("graph.state", pair.path, "a cache is appended to that the reference leaves alone")
        )
    return found


def _moved(job: Job, pair: Pair, theirs: Side, trial: Trial) -> tuple[Reason, ...]:
    """A unit between layers must hand on what it is given."""
    runner = Runner(theirs, {}, trial, job.seed)
    step = trial.steps[0]
    given = runner.environment(0, step)
    got = runner.machine.execute(theirs.unit, given, step)
    if got.failures:
        return tuple(Reason(f.code, f.where, f.message) for f in got.failures)
    return tuple(_outputs(pair, {n: given[n] for n in got.outputs}, got.outputs, step))


def _wider(trial: Trial) -> Trial:
    """Three times the batch, so that micro-batches of different sizes divide as the whole does."""
    sizes = replace(trial.sizes, dims={**trial.sizes.dims, "B": 3 * trial.sizes.dim("B")})
    steps = tuple(Step(s.start * 3, s.valid * 3, s.queries) for s in trial.steps)
    return Trial(sizes, steps)


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
        from rooflang.run import Failure

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


def _work(job: Job, pair: Pair, theirs: Side, trial: Trial) -> tuple[Reason, ...]:
    """Layer 3: what was executed against the formula, at a step in which every slot holds a token."""
    if job.work_formula is None:
        return ()
    batch = trial.sizes.dim("B")
    start = trial.steps[1].start
    step = Step((min(start),) * batch, (trial.steps[1].queries,) * batch, trial.steps[1].queries)
    runner = Runner(theirs, {}, trial, job.seed)
    tally = Tally()
    runner.machine.notice = tally.notice
    outcome = runner.step(0, step)
    if outcome.failures:
        return tuple(Reason(f.code, f.where, f.message) for f in outcome.failures)
    return tuple(
        Reason("work.differs", pair.path, text) for text in job.work_formula(theirs.unit, trial, step, tally)
    )
