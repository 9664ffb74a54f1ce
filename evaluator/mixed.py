"""Steps of aggregated serving: decode steps with which chunks of prompts ride.

q tokens of prompts join the 1 + d tokens of every sequence. A kernel that does not depend on the context
runs once over all of them: it reads its weights once, and the experts that all tokens together hit. Kernels
of attention, of what comes after the last cache, and of draft layers do the work of decode plus the share
ρ = q / (mean tokens of a chunk) of an average chunk's, whose weights are there already. Under `achievable`
rates the two parts of an attention kernel follow each other; else each of its resources is one sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from catalogue.devices import Device
from evaluator.clocks import steps
from evaluator.contexts import Sequences
from evaluator.evaluate import Evaluation, evaluate
from evaluator.numeric import Value, largest, total
from evaluator.prefill import Chunks
from evaluator.price import Price
from evaluator.scenario import Scenario
from rooflang.design import Design

Floats = NDArray[np.float64]


def mixed(
    design: Design,
    devices: Mapping[str, Device],
    scenario: Scenario,
    batch: Value,
    sequences: Sequences,
    cut: Chunks,
    riding: Value,
    *,
    axes: Mapping[str, Value] | None = None,
    microbatches: Value | None = None,
    overlap: Value | None = None,
    drafted: Value = 0.0,
    setting: str = "physical",
    redundant: Value = 0.0,
) -> Evaluation:
    """A step of `batch` decoding sequences with `riding` prompt tokens for each of them.

    `sequences` are the contexts of those that decode, `cut` the chunks of prompts. Results have a leading
    axis of size 1. Arguments and errors as of `evaluate`.
    """
    arrays = [batch, microbatches, overlap, drafted, redundant, riding, *(axes or {}).values()]
    ndim = max(np.ndim(a) for a in arrays if a is not None)

    def at(contexts: Floats, weights: Floats, queries: Floats | None, more: Value) -> Evaluation:
        def leading(values: Floats) -> Floats:
            return values.reshape(-1, *([1] * ndim))

        return evaluate(
            design, devices, scenario, batch, axes=axes, microbatches=microbatches, overlap=overlap,
            drafted=drafted, setting=setting, redundant=redundant, context=leading(contexts),
            weights=weights, queries=None if queries is None else leading(queries), riding=more,
        )  # fmt: skip

    decode = at(sequences.contexts, sequences.weights, None, 0.0)
    if not np.any(riding):
        return decode
    joint = at(sequences.contexts, sequences.weights, None, riding)
    queries = np.concatenate([np.full(len(cut.ends), cut.size), cut.last_queries])
    ends = np.concatenate([cut.ends, cut.last_ends])
    chunk = at(ends, np.concatenate([cut.weights, cut.last_weights]) / cut.count, queries, 0.0)
    plan = decode.plan
    passes = np.maximum(decode.drafted, 1.0)
    draft = {i.work for i in plan.items if i.draft}
    last = {i.work for i in plan.items if i.last}
    prices: list[Price] = []
    for number, work in enumerate(plan.works):
        if number not in draft and number not in last and not work.depends_on("S"):
            prices.append(joint.prices[number])
            continue
        share = riding / cut.computed if number in last else riding * cut.count / cut.computed
        share = share / passes if number in draft else share
        follow = plan.attention[number] and setting == "achievable"
        prices.append(_together(decode.prices[number], chunk.prices[number], share, follow))
    inputs = decode.steps.inputs
    found = steps(
        plan, prices, joint.numerics, decode.rates, decode.microbatches, inputs.overlap, decode.drafted,
        decode.stages,
    )  # fmt: skip
    return replace(decode, prices=prices, steps=found, numerics=joint.numerics, whole=joint.whole)


def _together(decode: Price, chunk: Price, share: Value, follow: bool) -> Price:
    """One kernel with the work of a decode step and a share of a chunk's, weights counted once."""
    resources = dict(decode.resources)
    for name, seconds in chunk.resources.items():
        more = share * (seconds - chunk.weights if name == "memory" else seconds)
        resources[name] = resources[name] + more if name in resources else more
    stored = share * (chunk.certain - chunk.weights)
    found = replace(decode, resources=resources, certain_parts=[decode.certain, stored])
    alone = largest(list(chunk.resources.values()))
    together = np.maximum(largest(list(resources.values())), decode.floor) + decode.latency
    found.seconds = total([decode.seconds, share * alone]) if follow else together
    return found
