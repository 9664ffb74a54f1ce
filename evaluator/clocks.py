"""The three clocks of a step, from the prices of its kernels.

    serial       nothing overlaps: m times the sum over kernels
    overlapped   the schedule as written: the longest of one micro-batch's chain, each engine's work, and
                 the memory traffic of engines that run at the same time
    limit        perfect overlap of everything that dependencies allow, activations on chip

A clock is computed when it is asked for. `m` micro-batches re-read the weights that they use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from evaluator.critical import hidden_in_pool, irregular, longest_path, one_after_another, over_units
from evaluator.numeric import Numeric, Value, largest, plus, times, total
from evaluator.plan import Plan
from evaluator.prefetch import prefetched
from evaluator.price import RESOURCES, Price
from evaluator.rates import Rates
from evaluator.stages import fullest, heaviest, layer_kinds, most_layers
from rooflang.work import product

CLOCKS = ("limit", "overlapped", "serial")


@dataclass(frozen=True, slots=True)
class Runs:
    """How often each distinct kernel runs in a step: by work, in layers of the model and of the draft."""

    model: tuple[tuple[int, int], ...]
    draft: tuple[tuple[int, int], ...]


@lru_cache(maxsize=512)
def _runs(plan: Plan, kind: str, pool: str = "", segment: str = "") -> Runs:
    """Runs of the kernels of one kind: chain, layers, or an engine (optionally of a pool or a segment)."""
    model: dict[int, int] = {}
    draft: dict[int, int] = {}
    for item in plan.items:
        if segment and item.segment != segment:
            continue
        if pool and plan.works[item.work].pool != pool:
            continue
        if kind == "layers" and (item.draft or not item.repeated):
            continue
        if kind in ("chain", "layers") and item.pair is not None:
            continue  # both sides of a transfer between pools run at the same time
        if kind in ("compute", "link") and item.kernel.engine != kind:
            continue
        target = draft if item.draft else model
        target[item.work] = target.get(item.work, 0) + item.layers
    return Runs(tuple(model.items()), tuple(draft.items()))


def _accumulate(runs: tuple[tuple[int, int], ...], value: Callable[[int], Value]) -> Value:
    """Sum of runs times values; narrow arrays are summed apart and widened once."""
    groups: dict[tuple[int, ...], Value] = {}
    for work, count in runs:
        term = value(work)
        if isinstance(term, float) and term == 0.0:
            continue
        shape = np.shape(term)
        if shape not in groups:
            groups[shape] = term * float(count)
        elif shape and count == 1:
            groups[shape] += term
        else:
            groups[shape] += term * float(count)
    return total(list(groups.values()))


@dataclass(slots=True, weakref_slot=True)
class _Inputs:
    plan: Plan
    prices: list[Price]
    numerics: Mapping[str, Numeric]
    rates: Mapping[str, Rates]
    microbatches: Value
    overlap: Value
    drafted: Value
    stages: Value


@dataclass
class Steps:
    """Seconds of one step of B sequences by clock, and what it is the maximum of (`parts`)."""

    inputs: _Inputs
    _parts: dict[str, dict[str, Value]] = field(default_factory=dict)
    _seconds: dict[str, Value] = field(default_factory=dict)

    def seconds(self, clock: str) -> Value:
        if clock not in self._seconds:
            if clock == "limit":
                self._seconds[clock] = np.minimum(
                    largest(list(self.parts("limit").values())), self.seconds("overlapped")
                )
            elif clock == "serial":
                # Micro-batches may also run one after the other, so no schedule has to be slower than that.
                self._seconds[clock] = np.maximum(
                    largest(list(self.parts("serial").values())), self.seconds("overlapped")
                )
            else:
                different = {id(v): v for v in self.parts(clock).values()}
                self._seconds[clock] = largest(list(different.values()))
        return self._seconds[clock]

    def parts(self, clock: str) -> dict[str, Value]:
        """The terms of which the clock is the maximum, in seconds."""
        if clock not in self._parts:
            make = {"limit": self._limit, "overlapped": self._overlapped, "serial": self._serial}[clock]
            self._parts[clock] = make()
        return self._parts[clock]

    def over_kernels(
        self, kind: str, value: Callable[[Price], Value], pool: str = "", segment: str = ""
    ) -> Value:
        """Sum over the kernels of one kind of a value of their price, for one micro-batch."""
        i = self.inputs
        runs = _runs(i.plan, kind, pool, segment)
        model = _accumulate(runs.model, lambda w: value(i.prices[w]))
        if runs.draft and np.any(i.drafted):
            return total([model, i.drafted * _accumulate(runs.draft, lambda w: value(i.prices[w]))])
        return model

    @cached_property
    def chain(self) -> Value:
        """Seconds of one micro-batch: its kernels one after the other, where nothing lets them overlap."""
        return plus(self._in_order, over_units(self.inputs.plan, self.inputs.drafted, self._hidden))

    @cached_property
    def _in_order(self) -> Value:
        """Sum over one micro-batch's kernels, of a transfer between pools its own side."""
        return self.over_kernels("chain", _seconds)

    @cached_property
    def _irregular(self) -> dict[int, tuple[Value, Value, Value]]:
        """By unit whose time is not that sum: the sum, one after another, and the longest path."""
        plan, found = self.inputs.plan, {}
        for unit in irregular(plan):
            summed = total([self._item(n.items[0]) for n in unit.nodes])
            apart = one_after_another(unit, self._item)
            found[unit.unit] = summed, apart, longest_path(plan, unit, self._item)
        return found

    @cached_property
    def _saved(self) -> dict[int, Value]:
        return {unit: path - summed for unit, (summed, _, path) in self._irregular.items()}

    @cached_property
    def _added(self) -> dict[int, Value]:
        return {unit: apart - summed for unit, (summed, apart, _) in self._irregular.items()}

    @cached_property
    def _hidden(self) -> dict[int, Value]:
        """By unit: what overlap takes off the sum over its kernels (negative)."""
        return prefetched(self.inputs.plan, self.inputs.prices, self.inputs.rates) | self._saved

    def _item(self, index: int) -> Value:
        return self.inputs.prices[self.inputs.plan.items[index].work].seconds

    @property
    def pipeline_pool(self) -> str | None:
        """The pool whose devices are divided into pipeline stages."""
        axis = self.inputs.plan.lowered.design.placement.pipeline
        return next((p for p, axes in self.inputs.plan.lowered.meshes if axis in axes), None)

    @cached_property
    def pass_seconds(self) -> Value:
        """Seconds of passing the residual of one micro-batch on to the next stage."""
        i = self.inputs
        pool = self.pipeline_pool
        if pool is None:
            return 0.0
        n, r = i.numerics[pool], i.rates[pool]
        near = n(product(dict(i.plan.lowered.meshes)[pool])) <= r.domain
        amount = n(i.plan.residual[pool]) if pool in i.plan.residual else 0.0
        up, far = r.up_bytes_per_second, r.far_bytes_per_second
        seconds = np.where(
            near,
            (amount / up if up else 0.0) + r.efficiency.scale_up_latency_seconds,
            (amount / far if far else 0.0) + r.efficiency.scale_out_latency_seconds,
        )
        return np.where(np.asarray(i.stages) > 1, seconds, 0.0)

    def _fullest(self, kind: str, value: Callable[[Price], Value], pool: str) -> Value:
        """A sum over kernels, on the pipeline stage that has most of it (at least)."""
        i = self.inputs
        whole = self.over_kernels(kind, value, pool)
        return self._staged(pool, kind, lambda n: value(i.prices[i.plan.items[n].work]), whole, {})

    def _staged(
        self, pool: str, kind: str, value: Callable[[int], Value], whole: Value, more: Mapping[int, Value]
    ) -> Value:
        i = self.inputs
        if self.pipeline_pool is None or pool != self.pipeline_pool:
            return whole  # a pool without the pipeline axis serves the layers of all stages

        def counts(index: int) -> bool:
            item = i.plan.items[index]
            engine = item.kernel.engine if kind in ("compute", "link") else kind
            return engine == kind and (kind == "chain" or i.plan.works[item.work].pool == pool)

        return np.maximum(whole / i.stages, fullest(i.plan, i.stages, counts, value, more))

    def _overlapped(self) -> dict[str, Value]:
        i = self.inputs
        send = self.pass_seconds
        parts: dict[str, Value] = {"chain": plus(self.chain, send * i.stages)}
        for pool in i.rates:
            passed = send if pool == self.pipeline_pool else 0.0
            apart = self._engines_apart(pool, passed) if np.any(i.overlap) else {}
            if np.all(i.overlap):
                parts.update(apart)
            else:
                joint = times(plus(self._joint(pool), passed), i.microbatches)
                # Where the links do overlap, the engines bind one by one; elsewhere they take turns.
                parts[f"{pool} engine"] = (
                    np.where(i.overlap, largest(list(apart.values())), joint) if apart else joint
                )
            host = self._fullest("compute", _early, pool)
            if np.any(host):
                parts[f"{pool} host"] = i.microbatches * host
        return parts

    def _joint(self, pool: str) -> Value:
        """What keeps a pool busy with one micro-batch when its engines take turns."""
        i = self.inputs
        if len(i.rates) == 1:
            return self._staged(pool, "chain", self._item, self.chain, self._hidden)
        if not i.plan.lowered.design.schedule.streams:
            return self._fullest("all", _seconds, pool)
        hidden = {u.unit: -hidden_in_pool(i.plan, u, pool, self._item) for u in irregular(i.plan)}
        whole = self.over_kernels("all", _seconds, pool) + over_units(i.plan, i.drafted, hidden)
        return self._staged(pool, "all", self._item, whole, hidden)

    def _engines_apart(self, pool: str, send: Value) -> dict[str, Value]:
        """Arithmetic, transfers and the memory that both use, when they run at the same time."""
        m = self.inputs.microbatches
        return {
            f"{pool} compute": m * self._fullest("compute", _seconds, pool),
            f"{pool} links": m * (self._fullest("link", _seconds, pool) + send),
            f"{pool} memory": m * self._fullest("all", _resource("memory"), pool),
        }

    def _serial(self) -> dict[str, Value]:
        i = self.inputs
        whole = (
            self._in_order + over_units(i.plan, i.drafted, self._added) + self.over_kernels("chain", _early)
        )
        if self.pipeline_pool is None:
            return {"chain": times(whole, i.microbatches)}
        # Layers are dealt out evenly; what stands outside of them may all be on one stage.
        held = most_layers(i.plan, i.stages)
        outside = whole - self._model_layers()
        stage = np.minimum(whole, held * heaviest(i.plan, self._first, self._item, self._added) + outside)
        # A pool without the pipeline axis is shared by all stages, which may wait for it.
        shared = [self.over_kernels("all", _seconds, p) for p in i.rates if p != self.pipeline_pool]
        return {"chain": np.maximum(i.microbatches, i.stages) * total([stage, self.pass_seconds, *shared])}

    def _model_layers(self) -> Value:
        """Sum over the model's layers, one after another."""
        i = self.inputs
        kinds = layer_kinds(i.plan)
        inside = {u: v for u, v in self._added.items() if any(u in k.units for k in kinds)}
        repeated = [
            self._item(n) * float(k.count) for k in kinds for n in k.items if self._first(n)
        ]  # fmt: skip
        return total([*repeated, over_units(i.plan, 0.0, inside)])

    def _first(self, index: int) -> bool:
        return self.inputs.plan.items[index].pair is None

    def _limit(self) -> dict[str, Value]:
        """Work over rates; with several pools a token also visits them in turn."""
        i = self.inputs
        parts: dict[str, Value] = {}
        for pool, r in i.rates.items():
            credit = r.onchip_seconds
            stages = i.stages if pool == self.pipeline_pool else 1.0
            for name in RESOURCES:
                whole = self.over_kernels("all", _certain if name == "memory" else _resource(name), pool)
                work = whole if isinstance(stages, float) and stages == 1.0 else whole / stages
                if name == "memory":
                    work = np.maximum(work - credit, 0.0)
                parts[f"{pool} {name}"] = times(work, i.microbatches)
        if len(i.rates) > 1:
            parts["chain of pools"] = self._visits()
        return parts

    def _visits(self) -> Value:
        i = self.inputs
        visits: list[Value] = []
        for segment in dict.fromkeys(item.segment for item in i.plan.items):
            for pool, r in i.rates.items():
                credit = r.onchip_seconds
                worst: Value = 0.0
                for name in RESOURCES:
                    value = self.over_kernels(
                        "all", _certain if name == "memory" else _resource(name), pool, segment
                    )
                    worst = np.maximum(worst, value - (credit if name == "memory" else 0.0))
                visits.append(worst)
        return total(visits)


def steps(
    plan: Plan,
    prices: list[Price],
    numerics: Mapping[str, Numeric],
    rates: Mapping[str, Rates],
    microbatches: Value,
    overlap: Value,
    drafted: Value,
    stages: Value,
) -> Steps:
    """The clocks of a plan; `prices` are those of one micro-batch, arrays broadcast over the grid."""
    return Steps(_Inputs(plan, prices, numerics, rates, microbatches, overlap, drafted, stages))


def _seconds(price: Price) -> Value:
    return price.seconds


def _early(price: Price) -> Value:
    return price.early


def _certain(price: Price) -> Value:
    return price.certain


def _resource(name: str) -> Callable[[Price], Value]:
    return lambda price: price.resources.get(name, 0.0)
