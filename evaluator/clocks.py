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

from evaluator.numeric import Numeric, Value, largest, total
from evaluator.plan import Plan
from evaluator.price import RESOURCES, Price
from evaluator.rates import Rates
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
                self._seconds[clock] = largest(list(self.parts(clock).values()))
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
        """Seconds of one micro-batch's kernels one after the other, less what runs beside transfers."""
        return self._chain_seconds - self._hidden

    @cached_property
    def _chain_seconds(self) -> Value:
        return self.over_kernels("chain", _seconds)

    @cached_property
    def _hidden(self) -> Value:
        """Time of sections on a second stream that passes beside the transfers of their layer."""
        i = self.inputs
        hidden: Value = 0.0
        beside: dict[int, list[tuple[int, int, bool, bool]]] = {}
        for item in i.plan.items:
            if item.stream or item.kernel.engine == "link":
                beside.setdefault(item.unit, []).append((item.work, item.layers, item.stream, item.draft))
        for group in beside.values():
            streams = [i.prices[w].seconds for w, _, s, _ in group if s]
            moves = [i.prices[w].seconds for w, _, s, _ in group if not s]
            if streams and moves:
                runs = group[0][1] * i.drafted if group[0][3] else float(group[0][1])
                hidden = hidden + runs * np.minimum(sum(streams[1:], streams[0]), sum(moves[1:], moves[0]))
        return hidden

    @property
    def _pipeline_pool(self) -> str | None:
        axis = self.inputs.plan.lowered.design.placement.pipeline
        return next((p for p, axes in self.inputs.plan.lowered.meshes if axis in axes), None)

    @cached_property
    def _stage(self) -> tuple[Value, Value]:
        """(share of a step's work on the fullest pipeline stage, seconds of passing the residual on)."""
        i = self.inputs
        axis = i.plan.lowered.design.placement.pipeline
        if axis is None:
            return 1.0, 0.0
        layers = float(i.plan.layers)
        fullest = np.ceil(layers / i.stages) / layers * self.over_kernels("layers", _seconds)
        share = np.maximum(1.0 / i.stages, fullest / self._chain_seconds)
        pool = self._pipeline_pool or ""
        n, r = i.numerics[pool], i.rates[pool]
        near = n(product(dict(i.plan.lowered.meshes)[pool])) <= r.domain
        amount = n(i.plan.residual[pool]) if pool in i.plan.residual else 0.0
        up, far = r.up_bytes_per_second, r.far_bytes_per_second
        seconds = np.where(
            near,
            (amount / up if up else 0.0) + r.efficiency.scale_up_latency_seconds,
            (amount / far if far else 0.0) + r.efficiency.scale_out_latency_seconds,
        )
        return share, np.where(np.asarray(i.stages) > 1, seconds, 0.0)

    def _overlapped(self) -> dict[str, Value]:
        i = self.inputs
        share, send = self._stage
        parts: dict[str, Value] = {"chain": self.chain + send * i.stages}
        staged = share
        for pool in i.rates:
            # A pool without the pipeline axis serves the layers of all stages.
            share = staged if pool == self._pipeline_pool else 1.0
            apart = self._engines_apart(pool, share, send) if np.any(i.overlap) else {}
            if np.all(i.overlap):
                parts.update(apart)
            else:
                busy = self.over_kernels("all", _seconds, pool) if len(i.rates) > 1 else self.chain
                joint = i.microbatches * (share * busy + send)
                # Where the links do overlap, the engines bind one by one; elsewhere they take turns.
                parts[f"{pool} engine"] = (
                    np.where(i.overlap, largest(list(apart.values())), joint) if apart else joint
                )
        return parts

    def _engines_apart(self, pool: str, share: Value, send: Value) -> dict[str, Value]:
        """Arithmetic, transfers and the memory that both use, when they run at the same time."""
        m = self.inputs.microbatches
        return {
            f"{pool} compute": m * share * self.over_kernels("compute", _seconds, pool),
            f"{pool} links": m * (share * self.over_kernels("link", _seconds, pool) + send),
            f"{pool} memory": m * share * self.over_kernels("all", _resource("memory"), pool),
        }

    def _serial(self) -> dict[str, Value]:
        i = self.inputs
        share, send = self._stage
        if i.plan.lowered.design.placement.pipeline is None:
            return {"chain": i.microbatches * self._chain_seconds}
        return {"chain": np.maximum(i.microbatches, i.stages) * (share * self._chain_seconds + send)}

    def _limit(self) -> dict[str, Value]:
        """Work over rates; with several pools a token also visits them in turn."""
        i = self.inputs
        parts: dict[str, Value] = {}
        for pool, r in i.rates.items():
            credit = r.onchip_seconds
            stages = i.stages if pool == self._pipeline_pool else 1.0
            for name in RESOURCES:
                work = (
                    self.over_kernels("all", _certain if name == "memory" else _resource(name), pool) / stages
                )
                parts[f"{pool} {name}"] = i.microbatches * np.maximum(
                    work - (credit if name == "memory" else 0.0), 0.0
                )
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


def _certain(price: Price) -> Value:
    return price.certain


def _resource(name: str) -> Callable[[Price], Value]:
    return lambda price: price.resources.get(name, 0.0)
