"""The event loop: tasks of several micro-batches on the engines of a few devices, step after step.

Rules, which are those of the schedule:

    an engine runs one task at a time and finishes it;
    tasks are taken in the order in which they became ready, but a micro-batch that holds a device keeps it
    while its next task needs the same one and it has not been to another pool (so computation runs on until
    the next transfer); or, kernel by kernel, the computation that comes soonest to a transfer goes first (an
    engine may choose, so the faster of these two orders counts);
    of several micro-batches on a pipeline stage the one that came first goes first, kernel by kernel, so that
    it leaves the stage soon and the next stage has work;
    without overlapping links, computation and transfers of different micro-batches exclude each other;
    a transfer between pools starts on both sides at once;
    the two engines of a device share its memory: while both want more than there is, neither gets less than
    half, and both slow down accordingly;
    copies from the host's memory run in their order, as early as its link is free in their step;
    a micro-batch begins its next step when it has ended the last one: decoding goes on, without a barrier.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from evaluator.simulate.tasks import Tasks

STEPS = 16
"""Steps after which a simulation that has not become periodic is ended."""
SAME = 1e-7
"""Relative difference up to which two steps count as equally long."""


@dataclass(slots=True)
class Step:
    """One micro-batch in one step: start and end of each task, and what let it start (step, micro-batch,
    task), or None at the very beginning."""

    start: list[float]
    end: list[float]
    cause: list[tuple[int, int, int] | None]


@dataclass(slots=True)
class Played:
    """The steps of each micro-batch, when each ended, and the period (seconds per step)."""

    steps: list[list[Step]]
    ends: list[list[float]]
    period: float
    periodic: bool


@dataclass(slots=True)
class _Slot:
    """An engine: the task part that it runs (micro-batch -1: none) and how far that is."""

    batch: int = -1
    task: int = -1
    memory: float = 0.0
    left: float = 0.0
    rate: float = 1.0
    since: float = 0.0
    version: int = 0
    queue: list[tuple[int, int]] = field(default_factory=list)


def play(tasks: Tasks, microbatches: int, overlap: bool) -> Played:
    """The faster of the two orders; see the rules above."""
    found = _Machine(tasks, microbatches, overlap, False).play()
    if overlap and microbatches > 1 and not any(stage for _, stage in tasks.devices):
        found = min(found, _Machine(tasks, microbatches, overlap, True).play(), key=lambda p: p.period)
    return found


def _before_transfer(tasks: Tasks) -> list[float]:
    """By task: seconds of computation from its start to the next transfer of its micro-batch."""
    found = [0.0] * len(tasks.parts)
    for task in range(len(found) - 1, -1, -1):
        part = tasks.parts[task][0]
        if not part.engine & 1:
            later = [found[f] for f in tasks.followers[task] if tasks.parts[f][0].engine == part.engine]
            found[task] = part.seconds + max(later, default=0.0)
    return found


class _Machine:
    def __init__(self, tasks: Tasks, microbatches: int, overlap: bool, soonest: bool) -> None:
        self.tasks = tasks
        self.exclusive = not overlap
        self.soonest = _before_transfer(tasks) if soonest else None
        self.slots = [_Slot() for _ in range(2 * len(tasks.devices))]
        self.events: list[tuple[float, int, int, int]] = []
        self.waits: list[list[int]] = [[] for _ in range(microbatches)]
        self.open: list[int] = [0] * microbatches
        self.parts: list[dict[int, int]] = [{} for _ in range(microbatches)]
        self.steps: list[list[Step]] = [[] for _ in range(microbatches)]
        self.ends: list[list[float]] = [[] for _ in range(microbatches)]
        self.staged = any(stage for _, stage in tasks.devices)
        self.came = [0] * microbatches  # in which order they came to the stage where they are
        self.arrivals = 0
        self.now = 0.0
        self.count = 0

    def play(self) -> Played:
        """Run until every micro-batch takes the same time for a step again and again, or STEPS steps.

        What does not become periodic is averaged over the later half of its steps.
        """
        for batch in range(len(self.steps)):
            self.begin(batch)
        for engine in range(len(self.slots)):
            self.serve(engine, None)
        while self.events:
            if self.advance():
                known = min(len(e) for e in self.ends)
                lag = self.settled(known)
                if lag:
                    each = (self.ends[0][known - 1] - self.ends[0][known - 1 - lag]) / lag
                    return Played(self.steps, self.ends, each, True)
        return Played(self.steps, self.ends, self.average(), False)

    def average(self) -> float:
        """Seconds per step over the later half of the steps; what an engine or a memory has to do in a step
        cannot take less."""
        work = [0.0] * len(self.slots) + [0.0] * len(self.tasks.devices)
        for parts, side in zip(self.tasks.parts, self.tasks.side, strict=True):
            for part in parts:
                work[part.engine] += part.seconds
                # Engines that take turns share a device as they share its memory.
                turns = self.exclusive and not side
                work[len(self.slots) + part.engine // 2] += part.seconds * (1.0 if turns else part.memory)
        later = [(e[-1] - e[STEPS // 2 - 1]) / (STEPS - STEPS // 2) for e in self.ends]
        return max(sum(later) / len(later), max(work) * len(self.ends))

    def settled(self, known: int) -> int:
        """Steps after which everything repeats, or 0 if that is not seen yet."""
        if len(self.ends) == 1 and known:
            return 1 if known > 1 else 0
        for lag in (1, 2, 3):
            if known < 2 * lag + 1:
                return 0
            spans = [
                e[known - 1 - i] - e[known - 1 - i - lag] for e in self.ends for i in range(lag + 1)
            ]  # fmt: skip
            if max(spans) - min(spans) <= SAME * max(spans):
                return lag
        return 0

    def begin(self, batch: int) -> None:
        """Queue the first tasks of a micro-batch's next step."""
        t = self.tasks
        if len(self.steps[batch]) == STEPS:
            return
        n = len(t.parts)
        self.steps[batch].append(Step([-1.0] * n, [-1.0] * n, [None] * n))
        self.waits[batch] = list(t.waits)
        self.open[batch] = n
        self.arrive(batch)
        for task in t.first:
            self.queue(batch, task)

    def arrive(self, batch: int) -> None:
        """A micro-batch has come to another stage."""
        self.arrivals += 1
        self.came[batch] = self.arrivals

    def queue(self, batch: int, task: int) -> None:
        for part in self.tasks.parts[task]:
            waiting = self.slots[part.engine].queue
            position = len(waiting)
            if self.staged:
                while position and self.came[waiting[position - 1][0]] > self.came[batch]:
                    position -= 1
            elif self.soonest is not None and not part.engine & 1:
                while position and self.soonest[waiting[position - 1][1]] > self.soonest[task]:
                    position -= 1
            waiting.insert(position, (batch, task))

    def free(self, engine: int, batch: int) -> bool:
        if self.slots[engine].batch >= 0:
            return False
        other = self.slots[engine ^ 1].batch
        return not self.exclusive or other < 0 or other == batch

    def start(self, batch: int, task: int, cause: tuple[int, int, int] | None) -> bool:
        parts = self.tasks.parts[task]
        for part in parts:
            if not self.free(part.engine, batch):
                return False
        step = self.steps[batch][-1]
        step.start[task] = self.now
        step.cause[task] = cause
        if len(parts) > 1:
            self.parts[batch][task] = len(parts)
        for part in parts:
            slot = self.slots[part.engine]
            slot.batch, slot.task, slot.memory = batch, task, part.memory
            slot.left, slot.rate, slot.since = part.seconds, 1.0, self.now
            self.share(part.engine)
            if slot.rate == 1.0:
                self.expect(part.engine)
        return True

    def share(self, engine: int) -> None:
        """Give both engines of a device their part of its memory."""
        a, b = self.slots[engine], self.slots[engine ^ 1]
        rates = (1.0, 1.0)
        if a.batch >= 0 and b.batch >= 0 and a.memory + b.memory > 1.0:
            if min(a.memory, b.memory) > 0.5:
                rates = (0.5 / a.memory, 0.5 / b.memory)
            elif a.memory > b.memory:
                rates = ((1.0 - b.memory) / a.memory, 1.0)
            else:
                rates = (1.0, (1.0 - a.memory) / b.memory)
        for slot, rate, number in ((a, rates[0], engine), (b, rates[1], engine ^ 1)):
            if slot.batch >= 0 and slot.rate != rate:
                slot.left -= (self.now - slot.since) * slot.rate
                slot.since, slot.rate = self.now, rate
                self.expect(number)

    def expect(self, engine: int) -> None:
        slot = self.slots[engine]
        slot.version += 1
        self.count += 1
        end = slot.since + max(0.0, slot.left) / slot.rate
        heapq.heappush(self.events, (end, self.count, engine, slot.version))

    def advance(self) -> bool:
        """All that ends at the next moment, then all that can start; whether a micro-batch ended a step."""
        self.now = self.events[0][0]
        freed: list[tuple[int, tuple[int, int, int]]] = []
        ready: list[tuple[int, int, int]] = []
        ended = False
        while self.events and self.events[0][0] <= self.now:
            _, _, engine, version = heapq.heappop(self.events)
            slot = self.slots[engine]
            if slot.version != version:
                continue
            batch, task = slot.batch, slot.task
            freed.append((engine, (len(self.steps[batch]) - 1, batch, task)))
            slot.batch = -1
            slot.version += 1
            if self.slots[engine ^ 1].batch >= 0:
                self.share(engine)
            left = self.parts[batch].pop(task, 1) - 1
            if left:
                self.parts[batch][task] = left
                continue
            followers = self.complete(batch, task)
            ready += [(f, batch, len(freed) - 1) for f in followers]
            if not self.open[batch]:
                self.ends[batch].append(self.now)
                self.begin(batch)
                ended = True
        woken = [
            (follower, self.follow(batch, follower, *freed[n]), freed[n][1]) for follower, batch, n in ready
        ]
        for engine, cause in freed:
            self.serve(engine, cause)
            self.serve(engine ^ 1, cause)
        for task, elsewhere, cause in woken:
            if elsewhere:  # after those that have waited longer
                self.serve(self.tasks.parts[task][0].engine, cause)
        if ended:
            for task in self.tasks.first:
                self.serve(self.tasks.parts[task][0].engine, freed[-1][1])
        return ended

    def complete(self, batch: int, task: int) -> list[int]:
        """The tasks that may run now that this one has ended, those of a second stream last."""
        self.steps[batch][-1].end[task] = self.now
        self.open[batch] -= 1
        waits = self.waits[batch]
        ready = []
        for follower in self.tasks.followers[task]:
            waits[follower] -= 1
            if not waits[follower]:
                ready.append(follower)
        if len(ready) > 1:
            ready.sort(key=lambda r: self.tasks.side[r])
        return ready

    def follow(self, batch: int, task: int, engine: int, cause: tuple[int, int, int]) -> bool:
        """Start a task at once where its micro-batch keeps the device, else queue it; whether that is on
        another device."""
        parts = self.tasks.parts[task]
        crossed = len(parts) > 1 or len(self.tasks.parts[cause[2]]) > 1
        other = parts[0].engine | 1 != engine | 1
        if self.tasks.parts[cause[2]][0].item < 0:
            self.arrive(batch)
        rearranged = self.soonest is not None or (self.staged and not self.exclusive)
        if crossed or other or rearranged or not self.start(batch, task, cause):
            self.queue(batch, task)
        return other

    def serve(self, engine: int, cause: tuple[int, int, int] | None) -> None:
        """Start the first waiting task that may."""
        slot = self.slots[engine]
        if slot.batch >= 0 or not slot.queue:
            return
        kept = 0
        while kept < len(slot.queue):
            batch, task = slot.queue[kept]
            if self.start(batch, task, cause):
                for part in self.tasks.parts[task]:
                    self.slots[part.engine].queue.remove((batch, task))
                return
            kept += 1
