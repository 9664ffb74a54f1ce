"""Comparison of one pair of units over two size assignments and the steps of each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

from mutations.verify.comparison import Runner, Side, correspond, differs, side
from mutations.verify.formats import narrowed
from mutations.verify.microbatches import in_parts, narrower, parts, wider
from mutations.verify.pairing import Pair
from mutations.verify.precision import narrowed_values, suspicious
from mutations.verify.reference import MOST_RUNS, ReferenceRun, known_runs
from mutations.verify.trace import first_difference
from mutations.verify.verdict import Reason
from rooflang.lowered import Lowered, Unit, bare
from rooflang.run import CONTEXT, ExecutionError, Outcome, Step, Tally, Trial, Value, refit, shrink_units

ASSIGNMENTS = 2  # of sizes
LEAST_QUERIES = 3
_AGAIN = 1_000_003  # between the seeds of one comparison
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


def compare(job: Job, pair: Pair, trials: int = ASSIGNMENTS) -> tuple[Reason, ...]:
    """The first differences of a pair, or nothing.

    The assignments of sizes are tried in turn; each time they have all been, the contents are drawn anew.
    """
    theirs = side(pair.candidate)
    ours = theirs if pair.reference is None else side(pair.reference)
    wrong = (*correspond(pair.path, ours, theirs), *narrowed(pair.path, ours, theirs))
    if wrong:
        return wrong
    for number in range(trials):
        drawn = replace(job, seed=job.seed + _AGAIN * (number // ASSIGNMENTS))
        try:
            found = _variant(drawn, pair, ours, theirs, number % ASSIGNMENTS)
        except ExecutionError as error:
            return (Reason(error.code, pair.path, str(error)),)
        if found:
            return found
    return ()


def _variant(job: Job, pair: Pair, ours: Side, theirs: Side, variant: int) -> tuple[Reason, ...]:
    """Sizes at which the reference has run are tried first; only fresh ones refuse."""
    programs = (job.reference, job.candidate)
    if pair.reference is None:
        return _moved(job, pair, theirs, shrink_units(programs, [theirs.unit], variant))
    runs = known_runs(job, ours, variant)
    for run in runs:
        trial = refit(run.trial, programs, [ours.unit, theirs.unit], variant)
        if trial is not None and not _run(job, pair, ours, theirs, trial, run):
            return _work(job, pair, theirs, trial)
    trial = shrink_units(programs, [ours.unit, theirs.unit], variant)
    if job.microbatches > 1:
        trial = wider(trial)
    run = ReferenceRun(ours, trial, job.seed)
    found = _run(job, pair, ours, theirs, trial, run)
    if found:
        return found
    runs.append(run)
    del runs[:-MOST_RUNS]
    return _work(job, pair, theirs, trial)


def _run(
    job: Job, pair: Pair, ours: Side, theirs: Side, trial: Trial, run: ReferenceRun
) -> tuple[Reason, ...]:
    second = Runner(theirs, run.shapes, trial, job.seed, run.draws)
    for number, step in enumerate(trial.steps):
        want = run.step(number)
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
            hint = first_difference(run.again(number), second, number, step)
            return tuple(replace(r, message=f"{r.message}{hint}") for r in wrong)
    if suspicious(ours.unit, theirs.unit):
        fresh = Runner(theirs, run.shapes, trial, job.seed, run.draws)
        return tuple(narrowed_values(pair.path, run.again(0), fresh, trial.steps[0]))
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


_RIGHT: set[Hashable] = set()
_MOST_RIGHT = 20_000


def _work(job: Job, pair: Pair, theirs: Side, trial: Trial) -> tuple[Reason, ...]:
    """Layer 3: what was executed against the formula, at a step in which every slot holds a token.

    It depends on the candidate's unit and the sizes alone: what was found right is not counted again for
    another reference or number of micro-batches. A batch that is wider for its parts is taken as it was.
    """
    if job.work_formula is None:
        return ()
    if job.microbatches > 1:
        trial = narrower(trial)
    key = (bare(theirs.unit), job.seed, job.work_formula, _content(trial))
    if key in _RIGHT:
        return ()
    found = _counted(job.work_formula, job.seed, pair.path, theirs, trial)
    if not found:
        if len(_RIGHT) >= _MOST_RIGHT:
            _RIGHT.clear()
        _RIGHT.add(key)
    return found


def _content(trial: Trial) -> Hashable:
    """All sizes of a trial."""
    s = trial.sizes
    every = (s.dims, s.meshes, s.literals, s.spans)
    return (trial.cut, s.rows, *(tuple(sorted(m.items())) for m in every))


def _counted(formula: WorkFormula, seed: int, path: str, theirs: Side, trial: Trial) -> tuple[Reason, ...]:
    # Several tokens, if they can be had, so that the formula's ragged axes are met.
    several = -(-LEAST_QUERIES // trial.cut) * trial.cut
    batch, queries = trial.sizes.dim("B"), several if several < CONTEXT else trial.cut
    step = Step((CONTEXT - queries,) * batch, (queries,) * batch, queries)
    runner = Runner(theirs, {}, trial, seed)
    tally = Tally()
    runner.machine.notice = tally.notice
    outcome = runner.step(0, step)
    if outcome.failures:
        return tuple(Reason(f.code, f.where, f.message) for f in outcome.failures)
    return tuple(Reason("work.differs", path, text) for text in formula(theirs.unit, trial, step, tally))
