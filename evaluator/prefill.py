"""Prefill: the time until a batch of prompts has been computed, in chunks, and how much memory that takes.

A prompt of L tokens of which the share h is already cached has n = L - ⌊h·L⌋ tokens to compute, at least
one (a cached token gives no logits); they attend to all L. In chunks of c tokens, chunk i ends at context
L - n + i·c. A chunk is one step of the same program with Q = c query tokens, and a prompt's time is the sum
over its chunks; what comes after the last cache runs in the last chunk, on one token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalogue.devices import Device
from evaluator.errors import ScenarioError
from evaluator.evaluate import Evaluation, evaluate
from evaluator.lengths import Lengths
from evaluator.numeric import Value
from evaluator.scenario import Scenario
from rooflang.design import Design

Floats = NDArray[np.float64]

POINTS = 1 << 20
"""Points evaluated at a time: chunks of long prompts on wide grids are taken in pieces of this many."""


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of a distribution of prompts: whole ones, in which no prompt ends, and last ones.

    Arrays over chunks: context at the end, and weight (chunks per prompt). `size` is that of whole chunks,
    `last_queries` the tokens of last ones, `computed` the mean tokens of a prompt that are computed.
    """

    size: float
    ends: Floats
    weights: Floats
    last_queries: Floats
    last_ends: Floats
    last_weights: Floats

    @property
    def computed(self) -> float:
        return float(self.size * self.weights.sum() + self.last_queries @ self.last_weights)

    @property
    def count(self) -> float:
        """Mean chunks of a prompt."""
        return float(self.weights.sum() + self.last_weights.sum())


def chunks(prompts: Lengths, hit: float = 0.0, chunk: int | None = None) -> Chunks:
    """Cut prompts into chunks of at most `chunk` tokens (whole prompts without), the share `hit` cached.

    Raises ScenarioError for a share outside 0 … 1 or a chunk below 1.
    """
    if not 0 <= hit <= 1:
        raise ScenarioError(f"a hit rate must be between 0 and 1, but got {hit}")
    if chunk is not None and chunk < 1:
        raise ScenarioError(f"a chunk must be at least 1 token, but got {chunk}")
    lengths, weights = prompts.arrays
    cached = np.minimum(np.floor(hit * lengths), lengths - 1)
    computed = lengths - cached
    size = float(np.max(computed) if chunk is None else chunk)
    whole = np.ceil(computed / size).astype(int) - 1
    of = np.repeat(np.arange(len(lengths)), whole)
    number = np.arange(len(of)) - np.repeat(np.cumsum(whole) - whole, whole) + 1
    return Chunks(size, cached[of] + number * size, weights[of], computed - whole * size, lengths, weights)


@dataclass(frozen=True)
class Prefill:
    """Prefill of batches of prompts over a grid.

    `seconds` of a batch on average over the prompts' lengths (all prompts of a batch are equally long);
    `batch` prompts per replica, `devices` of a replica. `step` is the evaluation of the largest chunk at the
    end of the longest prompt.
    """

    seconds: Value
    batch: Value
    devices: Value
    cut: Chunks
    step: Evaluation

    @property
    def per_gpu(self) -> Value:
        """Prompt tokens computed per second and device."""
        return self.batch * self.cut.computed / self.seconds / self.devices

    @property
    def prompts_per_second(self) -> Value:
        """Of a replica."""
        return self.batch / self.seconds

    @property
    def fits(self) -> Value:
        """Whether every device holds weights, the caches of all prompts, and a chunk's activations."""
        return self.step.fits


def prefill(
    design: Design,
    devices: Mapping[str, Device],
    scenario: Scenario,
    batch: Value,
    prompts: Lengths,
    *,
    hit: float = 0.0,
    chunk: int | None = None,
    axes: Mapping[str, Value] | None = None,
    microbatches: Value | None = None,
    overlap: Value | None = None,
    drafted: Value = 0.0,
    setting: str = "physical",
    clock: str = "overlapped",
    redundant: Value = 0.0,
) -> Prefill:
    """Time, throughput and memory of prefill over a grid of four axes or at one point.

    Arguments as of `evaluate`; with `drafted`, draft layers fill their caches in one pass over the prompt.
    Raises ConfigurationError or ScenarioError with what must hold.
    """
    cut = chunks(prompts, hit, chunk)
    arrays = [batch, microbatches, overlap, drafted, redundant, *(axes or {}).values()]
    ndim = max(np.ndim(a) for a in arrays if a is not None)

    def step(queries: Value, end: Value, *, last: bool = True) -> Evaluation:
        return evaluate(
            design, devices, scenario, batch, axes=axes, microbatches=microbatches, overlap=overlap,
            drafted=drafted, setting=setting, context=end, queries=queries, ends=last, redundant=redundant,
        )  # fmt: skip

    final = step(_leading(cut.last_queries, ndim), _leading(cut.last_ends, ndim))
    seconds = _weighed(cut.last_weights, final.seconds(clock))
    piece = max(1, POINTS // max(1, int(np.prod(np.shape(seconds)))))
    for start in range(0, len(cut.ends), piece):
        part = step(cut.size, _leading(cut.ends[start : start + piece], ndim), last=False)
        seconds = seconds + _weighed(cut.weights[start : start + piece], part.seconds(clock))
    largest = step(cut.size if len(cut.ends) else float(cut.last_queries.max()), prompts.longest)
    return Prefill(seconds if ndim else float(seconds), batch, final.devices, cut, largest)


def _leading(values: Floats, ndim: int) -> Floats:
    """Values along an axis in front of the grid's."""
    return values.reshape(-1, *([1] * ndim))


def _weighed(weights: Floats, seconds: Value) -> Value:
    """Sum over the leading axis."""
    each = np.asarray(seconds)
    found: Floats = np.tensordot(weights, np.broadcast_to(each, (len(weights), *each.shape[1:])), axes=(0, 0))
    return found
