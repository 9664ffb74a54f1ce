"""What a design delivers: step time by clock, tokens per second, memory, and what binds.

Shapes: every argument may be a number or an array; arrays broadcast against each other and so do the
results. Throughput counts all devices of all pools; interactivity is emitted tokens over step time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from catalogue.devices import Device
from evaluator.averaged import Averaged
from evaluator.clocks import CLOCKS, Steps, steps
from evaluator.errors import ConfigurationError, ScenarioError, UnavailableError
from evaluator.kinds import counted_as, one_fabric
from evaluator.memory import Memory, memory
from evaluator.numeric import Numeric, Value
from evaluator.plan import Plan, plan, unfinished
from evaluator.price import Price, price
from evaluator.rates import Rates, rates_for
from evaluator.routing import Skew
from evaluator.scenario import Scenario
from evaluator.unknown import not_modelled, unpriced
from rooflang.design import Design
from rooflang.lower import lower
from rooflang.work.cascade import SHARED_PREFIX, SHARERS
from rooflang.work.links import ONE_FABRIC


@dataclass(frozen=True)
class Evaluation:
    """Results over a grid. `seconds` by clock; tokens per second follow from them.

    `batch` is sequences in flight per replica, `devices` those of a replica (of several kinds, by their price
    in those of the first pool), `emitted` tokens per step.
    """

    plan: Plan
    prices: list[Price]
    rates: Mapping[str, Rates]
    steps: Steps
    batch: Value
    devices: Value
    emitted: Value
    allowed: Value
    microbatches: Value
    drafted: Value
    stages: Value
    numerics: Mapping[str, Numeric]
    drafts: Mapping[str, Numeric]
    whole: Mapping[str, Numeric]
    apart: frozenset[int] = frozenset()  # works priced at the queries of `drafts`
    redundant: Value = 0.0

    @cached_property
    def memory(self) -> Mapping[str, Memory]:
        """Bytes per device by pool."""
        capacity = {pool: float(r.device.memory_bytes) for pool, r in self.rates.items()}
        host = {pool: float(r.device.host_memory_bytes or 0) for pool, r in self.rates.items()}
        return memory(
            self.plan, self.whole, self.numerics, capacity, self.stages, self.drafted, self.redundant, host
        )

    @cached_property
    def fits(self) -> Value:
        """Whether every pool's memory holds what the design keeps there."""
        fits: Value = True
        for pool in self.memory.values():
            fits = np.logical_and(fits, pool.fits)
        return fits

    @cached_property
    def _any_context(self) -> Mapping[int, Price]:
        """Prices that do not depend on the context."""
        return {i: p for i, p in enumerate(self.prices) if not self.plan.works[i].depends_on("S")}

    def at_context(self, context: Value) -> Evaluation:
        """The same at another context; only what depends on it is evaluated again."""
        moved: dict[int, Numeric] = {}

        def at(numerics: Mapping[str, Numeric]) -> dict[str, Numeric]:
            for n in numerics.values():
                moved.setdefault(id(n), n.moved("S", context))
            return {pool: moved[id(n)] for pool, n in numerics.items()}

        main, drafts = at(self.numerics), at(self.drafts)
        prices = price(self.plan, main, self.rates, drafts, self.apart, self._any_context)
        found = steps(
            self.plan, prices, main, self.rates, self.microbatches, self.steps.inputs.overlap, self.drafted,
            self.stages,
        )  # fmt: skip
        return replace(self, prices=prices, steps=found, numerics=main, drafts=drafts, whole=at(self.whole))

    @cached_property
    def unavailable(self) -> str:
        """Why a step has no time: the figures that a device lacks; empty where it has one."""
        return unpriced(self.plan, self.prices, self.rates, self.numerics, self.stages)

    @cached_property
    def not_modelled(self) -> Mapping[str, str]:
        """Resources that a step's time leaves out, with the figure that the device lacks."""
        return not_modelled(self.plan, self.rates)

    def seconds(self, clock: str) -> Value:
        """Seconds of a step. Raises UnavailableError where a figure of a device that it needs is unknown."""
        self._check(clock)
        return self.steps.seconds(clock)

    def _check(self, clock: str) -> None:
        if clock not in CLOCKS:
            raise ScenarioError(f"a clock must be one of {', '.join(CLOCKS)}, but got {clock!r}")
        if self.unavailable:
            raise UnavailableError(
                f"the time of a step must come from known figures, but {self.unavailable}; use fewer devices "
                "per replica, another device, or a device file with the figure"
            )

    def per_user(self, clock: str) -> Value:
        """Tokens per second and user (interactivity)."""
        return self.emitted / self.seconds(clock)

    def per_gpu(self, clock: str) -> Value:
        """Tokens per second and device, all devices of the replica counted."""
        return self.batch * self.emitted / self.seconds(clock) / self.devices

    def binding(self, clock: str) -> str:
        """What sets the step time under a clock, for a single point."""
        self._check(clock)
        parts = self.steps.parts(clock)
        return max(parts, key=lambda k: float(np.max(parts[k])))


def evaluate(
    design: Design,
    devices: Mapping[str, Device],
    scenario: Scenario,
    batch: Value,
    *,
    axes: Mapping[str, Value] | None = None,
    microbatches: Value | None = None,
    overlap: Value | None = None,
    drafted: Value = 0.0,
    setting: str = "physical",
    context: Value | None = None,
    weights: NDArray[np.float64] | None = None,
    queries: Value | None = None,
    ends: bool = True,
    riding: Value = 0.0,
    redundant: Value = 0.0,
) -> Evaluation:
    """Evaluate a design at one point or over a grid.

    `axes` overrides mesh sizes of the design; `batch` is sequences in flight per replica, at least 1;
    `microbatches` and `overlap` (1 where transfers run under arithmetic) override the schedule's;
    `context` overrides the scenario's cached tokens per sequence (to sweep it), and with `weights` gives the
    contexts of the sequences along a leading axis, over which work is averaged. `queries` makes it a step of
    prefill: so many tokens of each prompt, the last of them at the context; what comes after the last cache
    runs on the last token alone, if the prompt `ends` here; `emitted` are the prompt's tokens. `riding`
    tokens of prompts join each sequence's own in a decode step. `redundant` experts are replicated on every
    rank under skewed routing.
    Raises ConfigurationError or ScenarioError with what must hold.
    """
    if np.min(batch) < 1:
        raise ScenarioError(f"a batch must be at least 1 sequence, but got {np.min(batch):g}")
    compiled = plan(lower(design)) if ends else unfinished(plan(lower(design)))
    sizes: dict[str, Value] = {a: float(size) for mesh in design.placement.meshes for a, size in mesh.axes}
    for name, value in (axes or {}).items():
        if name not in sizes:
            raise ConfigurationError(f"an axis must be one of {', '.join(sizes) or 'none'}, but got {name!r}")
        sizes[name] = value
    m: Value = float(design.schedule.microbatches) if microbatches is None else microbatches
    d: Value = drafted if compiled.has_draft else np.minimum(drafted, 0.0)
    rates = {pool: rates_for(devices[pool], setting) for pool, _ in compiled.lowered.meshes}
    routing = scenario.skew or scenario.routing_of(setting)
    sizes["redundant"] = redundant
    sizes[ONE_FABRIC] = one_fabric({pool: devices[pool] for pool, _ in compiled.lowered.meshes})
    sizes |= {SHARED_PREFIX: float(scenario.prefix), SHARERS: float(scenario.sharers)}
    part_batch = np.ceil(batch / m)
    cached: Value = float(scenario.context) if context is None else context
    if queries is None:
        tokens = 1.0 + d + riding
        apart = frozenset(i.work for i in compiled.items if i.draft)
    else:
        d = np.minimum(d, 1.0)  # draft layers fill their caches in one pass
        tokens = queries
        apart = frozenset(i.work for i in compiled.items if i.last)
    main = _numerics(compiled, rates, sizes, cached, part_batch, tokens, routing, weights)
    drafts = _numerics(compiled, rates, sizes, cached, part_batch, 1.0, routing, weights)
    prices = price(compiled, main, rates, drafts, apart)
    pipeline = design.placement.pipeline
    stages: Value = sizes[pipeline] if pipeline else 1.0
    links: Value = float(design.schedule.overlap_links) if overlap is None else overlap
    found = steps(compiled, prices, main, rates, m, links, d, stages)
    whole = _numerics(compiled, rates, sizes, cached, batch, tokens, routing, weights)
    total: Value = 0.0
    worth = counted_as({pool: devices[pool] for pool, _ in compiled.lowered.meshes})
    for pool, names in compiled.lowered.meshes:
        ranks: Value = 1.0
        for name in names:
            ranks = ranks * sizes[name]
        total = total + ranks * worth[pool]
    return Evaluation(
        compiled, prices, rates, found, batch, total, _emitted(scenario, d) if queries is None else queries,
        _allowed(compiled, sizes), m, d, stages, main, drafts, whole, apart, redundant,
    )  # fmt: skip


def _numerics(
    compiled: Plan,
    rates: Mapping[str, Rates],
    sizes: Mapping[str, Value],
    context: Value,
    batch: Value,
    queries: Value,
    routing: str | Skew,
    weights: NDArray[np.float64] | None,
) -> dict[str, Numeric]:
    made: dict[tuple[int, bool], Numeric] = {}
    found: dict[str, Numeric] = {}
    for pool, r in rates.items():
        key = (r.domain, r.in_network)
        if key not in made:
            symbols = {
                **sizes, "B": batch, "Q": queries, "S": context, "domain": float(key[0]),
                "innet": float(key[1]),
            }  # fmt: skip
            made[key] = Numeric(symbols, routing) if weights is None else Averaged(symbols, routing, weights)
        found[pool] = made[key]
    return found


def _emitted(scenario: Scenario, drafted: Value) -> Value:
    depths = np.asarray(drafted)
    table = np.array([scenario.emitted(d) for d in range(int(depths.max()) + 1)])
    chosen = table[depths.astype(int)]
    return float(chosen) if depths.ndim == 0 else chosen


def _allowed(compiled: Plan, sizes: Mapping[str, Value]) -> Value:
    """Whether every size divides by the axes that cut it."""
    allowed: Value = True
    for condition in compiled.lowered.conditions:
        size = compiled.lowered.sizes[condition.dim].constant
        ranks: Value = float(condition.multiple)
        for axis in condition.axes:
            ranks = ranks * sizes[axis]
        allowed = np.logical_and(allowed, np.mod(float(size or 1), ranks) == 0)
    return allowed
