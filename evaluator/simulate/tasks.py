"""What one micro-batch does in a step, as tasks on the engines of one device per pool and stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluator.evaluate import Evaluation
from evaluator.order import Ordered, layer_name, ordered
from evaluator.prefetch import prefetched
from evaluator.report import scalar
from evaluator.simulate.partition import partition


@dataclass(frozen=True, slots=True)
class Part:
    """The share of a task on one device: item of the plan (-1: the residual passed to the next stage),
    engine (even: compute, odd: links), seconds alone, and the share of them that memory is busy."""

    item: int
    engine: int
    seconds: float
    memory: float


@dataclass(slots=True)
class Tasks:
    """Tasks of one micro-batch in program order.

    `parts` has one entry per task, or both sides of a transfer between pools; `followers` are the tasks that
    wait for it, `waits` how many it waits for. `layer` numbers the layers as they are passed. Device i is
    `devices[i]` = (pool, stage) with engines 2i (compute) and 2i + 1 (links); those from `hosts` on are the
    links to the hosts' memory, in the same order, with one engine each.
    """

    devices: tuple[tuple[str, int], ...]
    hosts: int
    parts: list[tuple[Part, ...]] = field(default_factory=list)
    followers: list[list[int]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    layer: list[int] = field(default_factory=list)
    side: list[bool] = field(default_factory=list)
    first: list[int] = field(default_factory=list)

    def add(self, parts: tuple[Part, ...], before: list[int], layer: int, side: bool) -> int:
        number = len(self.parts)
        self.parts.append(parts)
        self.followers.append([])
        self.waits.append(len(before))
        self.layer.append(layer)
        self.side.append(side)
        for b in before:
            self.followers[b].append(number)
        if not before:
            self.first.append(number)
        return number


def tasks(e: Evaluation) -> Tasks:
    """The tasks of a single-point evaluation, layers unrolled and pipeline stages cut."""
    passed = _passed(e)
    pipeline = e.steps.pipeline_pool
    stages = int(scalar(e.stages)) if pipeline else 1
    stage_of = _stages(e, passed, stages)
    devices: list[tuple[str, int]] = []
    for pool in e.rates:
        devices += [(pool, s) for s in range(stages if pool == pipeline else 1)]
    place = {device: i for i, device in enumerate(devices)}
    early = [scalar(e.prices[item.work].early) for item in e.plan.items]
    found = Tasks(tuple(devices * 2 if any(early) else devices), len(devices))
    prices = [_priced(e, index) for index in range(len(e.plan.items))]
    saved = _fetched(e)
    last: list[int] = []
    copied: dict[int, int] = {}  # by device: the last copy from its host
    stage = 0

    def move_on(last: list[int], layer: int) -> list[int]:
        seconds = scalar(e.steps.pass_seconds)
        part = Part(-1, 2 * place[pipeline or "", stage] + 1, seconds, 0.0)
        return [found.add((part,), last, layer, False)]

    for number, (unit, block) in enumerate(passed):
        while stage_of[number] > stage:
            last = move_on(last, block)
            stage += 1
        ids: list[int] = []
        for node in unit.nodes:
            parts = []
            before = [ids[b] for b in node.before] if node.before else list(last)
            for index in node.items:
                pool, link, seconds, memory = prices[index]
                device = place[pool, stage if pool == pipeline else 0]
                less = seconds - saved.get(index, 0.0)
                parts.append(
                    Part(index, 2 * device + link, less, min(1.0, memory * seconds / less) if less else 0.0)
                )
                if early[index]:
                    copy = Part(index, 2 * (found.hosts + device), early[index], 0.0)
                    after = [copied[device]] if device in copied else []
                    copied[device] = found.add((copy,), after, block, True)
                    before.append(copied[device])
            ids.append(found.add(tuple(parts), before, block, node.side))
        last = [ids[i] for i in unit.last]
    while stages > 1 and stage < stages:
        last = move_on(last, passed[-1][1])
        stage += 1
    return found


def _fetched(e: Evaluation) -> dict[int, float]:
    """By item: seconds that it is shorter because its weights came while transfers left the memory idle.

    With several micro-batches whose transfers overlap, the memory is not idle then.
    """
    if not any(e.plan.fetched) or (scalar(e.steps.inputs.overlap) and scalar(e.microbatches) > 1):
        return {}
    found: dict[int, float] = {}
    saved = prefetched(e.plan, e.prices, e.rates)
    for unit in ordered(e.plan):
        dense = {
            i: scalar(e.prices[e.plan.items[i].work].dense)
            for node in unit.nodes
            for i in node.items
            if e.plan.fetched[e.plan.items[i].work]
        }
        whole = sum(dense.values())
        for index, part in dense.items():
            found[index] = -scalar(saved.get(unit.unit, 0.0)) * part / whole if whole else 0.0
    return found


def _passed(e: Evaluation) -> list[tuple[Ordered, int]]:
    """The units in the order of a step, each with a number that its layer's units share."""
    units: dict[str, list[Ordered]] = {}
    for unit in ordered(e.plan):
        if e.plan.items[unit.nodes[0].items[0]].layers:
            units.setdefault(unit.segment, []).append(unit)
    found: list[tuple[Ordered, int]] = []
    block = 0
    drafted = int(scalar(e.drafted))
    segments = e.plan.lowered.segments
    for segment in segments:
        if segment.draft:
            continue
        for _ in range(segment.count):
            group = None
            for unit in units.get(segment.name, ()):
                if layer_name(unit) != group:
                    group, block = layer_name(unit), block + 1
                found.append((unit, block))
    block += 1
    for _ in range(drafted):
        for segment in segments:
            for _ in range(segment.count if segment.draft else 0):
                found += [(unit, block) for unit in units.get(segment.name, ())]
    return found


def _stages(e: Evaluation, passed: list[tuple[Ordered, int]], stages: int) -> list[int]:
    if stages == 1:
        return [0] * len(passed)
    seconds: dict[int, float] = {}
    layers: dict[int, int] = {}
    deep = {u.path.split(".")[0] for u, _ in passed if u.path.count(".") > 1}
    for unit, block in passed:
        items = [i for n in unit.nodes for i in n.items[:1]]
        seconds[block] = seconds.get(block, 0.0) + sum(scalar(e.prices[e.plan.items[i].work].seconds)
                                                       for i in items)  # fmt: skip
        first = e.plan.items[items[0]]
        name, inner = layer_name(unit)
        layers[block] = int(first.repeated and not first.draft and (bool(inner) or name not in deep))
    found = partition(list(seconds.values()), list(layers.values()), stages, -(-e.plan.layers // stages))
    stage = dict(zip(seconds, found, strict=True))
    return [stage[block] for _, block in passed]


def _priced(e: Evaluation, index: int) -> tuple[str, int, float, float]:
    """(pool, 1 for the links, seconds, share of them that memory is busy)."""
    item = e.plan.items[index]
    price = e.prices[item.work]
    seconds = scalar(price.seconds)
    memory = scalar(price.resources.get("memory", 0.0)) / seconds if seconds > 0 else 0.0
    return e.plan.works[item.work].pool, int(item.kernel.engine == "link"), seconds, min(1.0, memory)


def engine_names(tasks: Tasks) -> Mapping[int, str]:
    """Names of the engines: `main compute`, `main host`, or `main.2 links` with pipeline stages."""
    staged = {pool for pool, stage in tasks.devices if stage}
    found = {}
    for number, (pool, stage) in enumerate(tasks.devices):
        name = f"{pool}.{stage}" if pool in staged else pool
        if number >= tasks.hosts:
            found[2 * number] = f"{name} host"
        else:
            found[2 * number], found[2 * number + 1] = f"{name} compute", f"{name} links"
    return found
