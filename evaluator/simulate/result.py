"""What a simulation found: seconds per step, how busy engines are, and the critical path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from evaluator.errors import ScenarioError
from evaluator.evaluate import Evaluation
from evaluator.report import scalar
from evaluator.simulate.machine import Played, play
from evaluator.simulate.tasks import Part, Tasks, engine_names, tasks


@dataclass(frozen=True, slots=True)
class Event:
    """A task part that ran: start and end in seconds from the start of the period (before it: negative)."""

    part: Part
    batch: int
    layer: int
    start: float
    end: float


@dataclass(frozen=True)
class Simulated:
    """A step in steady decoding. `seconds` is the period in which every micro-batch makes one step;
    `periodic` says whether that was seen to repeat (else it is an average over steps)."""

    evaluation: Evaluation
    tasks: Tasks
    played: Played

    @property
    def seconds(self) -> float:
        return self.played.period

    @property
    def periodic(self) -> bool:
        return self.played.periodic

    @cached_property
    def window(self) -> tuple[float, float]:
        """The last whole period, on the simulation's clock."""
        end = max(e[-1] for e in self.played.ends if e)
        return max(0.0, end - self.seconds), end

    @cached_property
    def engines(self) -> Mapping[int, str]:
        return engine_names(self.tasks)

    def events(self) -> Iterator[Event]:
        """Everything that ran in the last period, in no particular order."""
        begin, end = self.window
        for batch, steps in enumerate(self.played.steps):
            for step in steps:
                for number, (start, stop) in enumerate(zip(step.start, step.end, strict=True)):
                    if start < 0 or start >= end or 0 <= stop <= begin:
                        continue
                    until = end if stop < 0 else min(stop, end)
                    for part in self.tasks.parts[number]:
                        yield Event(part, batch, self.tasks.layer[number], start - begin, until - begin)

    def busy(self) -> dict[str, float]:
        """Share of the period in which each engine works."""
        found = dict.fromkeys(self.engines.values(), 0.0)
        for event in self.events():
            found[self.engines[event.part.engine]] += event.end - max(0.0, event.start)
        return {name: seconds / self.seconds for name, seconds in found.items()}

    def critical_path(self) -> dict[tuple[str, str], float]:
        """Seconds of the period by (section, engine) on the path of tasks that let each other start."""
        begin, end = self.window
        steps = self.played.steps
        last = max(
            ((e[-1], b, len(e) - 1) for b, e in enumerate(self.played.ends) if e), key=lambda x: x[0]
        )  # fmt: skip
        _, batch, number = last
        task = max(range(len(self.tasks.parts)), key=lambda t: steps[batch][number].end[t])
        found: dict[tuple[str, str], float] = {}
        at: tuple[int, int, int] | None = (number, batch, task)
        until = end
        while at is not None and until > begin:
            number, batch, task = at
            step = steps[batch][number]
            part = self.tasks.parts[task][0]
            start = max(begin, step.start[task])
            key = (self.section(part), self.engines[part.engine])
            found[key] = found.get(key, 0.0) + until - start
            until, at = start, step.cause[task]
        return dict(sorted(found.items(), key=lambda f: -f[1]))

    def section(self, part: Part) -> str:
        """The last name of a task's section."""
        if part.item < 0:
            return "next stage"
        return self.evaluation.plan.items[part.item].section.rpartition(".")[2]


def simulate(evaluation: Evaluation) -> Simulated:
    """Simulate a single-point evaluation. Raises ScenarioError for one over a grid, UnavailableError where a
    step has no time."""
    counts = [scalar(v) for v in (evaluation.batch, evaluation.microbatches, evaluation.steps.inputs.overlap)]
    if any(c != c for c in counts):
        raise ScenarioError(
            "a simulation must have one operating point, but got a grid; simulate them in turn"
        )
    serial = float(evaluation.seconds("serial"))  # refuses what has no time
    found = tasks(evaluation)
    played = play(found, int(counts[1]), bool(counts[2]))
    if counts[2] and played.period > serial:
        # Links may overlap, and need not: on pipeline stages waiting for each other's kernels can cost more.
        apart = play(found, int(counts[1]), False)
        played = min(played, apart, key=lambda p: p.period)
    return Simulated(evaluation, found, played)
