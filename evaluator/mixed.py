"""Steps of aggregated serving: decode steps with which chunks of prompts ride.

q tokens of prompts join the 1 + d tokens of every sequence. A kernel that reads no cache runs once over all
of them: it reads its weights once, and the experts that all tokens together hit. Kernels that read caches,
of what comes after the last one, and of draft layers do the work of decode plus the share
ρ = q / (mean tokens of a chunk) of an average chunk's, whose weights are there already. Under `achievable`
rates the two parts of an attention kernel follow each other; else each of its resources is one sum.

Prompts may have a program of their own that differs in attention alone (latent attention written out). Then
what the two programs share is as above, kernels that only decode has run on its tokens alone, and those that
only prompts have join the attention kernel of their section.
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
from evaluator.plan import Plan
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
    prompt_form: Design | None = None,
    axes: Mapping[str, Value] | None = None,
    microbatches: Value | None = None,
    overlap: Value | None = None,
    drafted: Value = 0.0,
    setting: str = "physical",
    redundant: Value = 0.0,
) -> Evaluation:
    """A step of `batch` decoding sequences with `riding` prompt tokens for each of them.

    `sequences` are the contexts of those that decode, `cut` the chunks of prompts. Results have a leading
    axis of size 1. `prompt_form` is the program of prompts, with the placement of `design`. Other arguments
    and errors as of `evaluate`.
    """
    arrays = [batch, microbatches, overlap, drafted, redundant, riding, *(axes or {}).values()]
    ndim = max(np.ndim(a) for a in arrays if a is not None)

    def at(
        contexts: Floats, weights: Floats, queries: Floats | None, more: Value, form: Design = design
    ) -> Evaluation:
        def leading(values: Floats) -> Floats:
            return values.reshape(-1, *([1] * ndim))

        return evaluate(
            form, devices, scenario, batch, axes=axes, microbatches=microbatches, overlap=overlap,
            drafted=drafted, setting=setting, redundant=redundant, context=leading(contexts),
            weights=weights, queries=None if queries is None else leading(queries), riding=more,
        )  # fmt: skip

    decode = at(sequences.contexts, sequences.weights, None, 0.0)
    if not np.any(riding):
        return decode
    joint = at(sequences.contexts, sequences.weights, None, riding)
    queries = np.concatenate([np.full(len(cut.ends), cut.size), cut.last_queries])
    ends = np.concatenate([cut.ends, cut.last_ends])
    shares = np.concatenate([cut.weights, cut.last_weights]) / cut.count
    chunk = at(ends, shares, queries, 0.0, prompt_form or design)
    plan = decode.plan
    parts = _parts(plan, chunk.plan)
    passes = np.maximum(decode.drafted, 1.0)
    draft = {i.work for i in plan.items if i.draft}
    last = {i.work for i in plan.items if i.last}
    prices: list[Price] = []
    for number, work in enumerate(plan.works):
        mine = parts.get(number, ())
        if not mine:
            prices.append(decode.prices[number])
            continue
        caches = work.depends_on("S") or "state" in work.reads
        if number not in draft and number not in last and not caches:
            prices.append(joint.prices[number])
            continue
        share = riding / cut.computed if number in last else riding * cut.count / cut.computed
        share = share / passes if number in draft else share
        follow = plan.attention[number] and setting == "achievable"
        prices.append(_together(decode.prices[number], [chunk.prices[i] for i in mine], share, follow))
    inputs = decode.steps.inputs
    found = steps(
        plan, prices, joint.numerics, decode.rates, decode.microbatches, inputs.overlap, decode.drafted,
        decode.stages,
    )  # fmt: skip
    return replace(decode, prices=prices, steps=found, numerics=joint.numerics, whole=joint.whole)


def _parts(decode: Plan, prompts: Plan) -> dict[int, tuple[int, ...]]:
    """By kernel of decode: those that do the same for prompts; nothing for one that prompts do without."""
    if prompts.works == decode.works:
        return {number: (number,) for number in range(len(decode.works))}
    found: dict[int, tuple[int, ...]] = {}
    units = sorted({i.unit for i in decode.items})
    for unit in units:
        ours = dict.fromkeys(i.work for i in decode.items if i.unit == unit)
        theirs = [i.work for i in prompts.items if i.unit == unit]
        same = {a: b for a in ours for b in theirs if decode.works[a] == prompts.works[b]}
        others = tuple(b for b in theirs if b not in same.values())  # equal ones as often as they run
        for number in ours:
            if number in same:
                found[number] = (same[number],)
            elif decode.attention[number] and others:
                found[number], others = others, ()
    return found


def _together(decode: Price, chunks: list[Price], share: Value, follow: bool) -> Price:
    """One kernel with the work of a decode step and a share of a chunk's, weights counted once."""
    resources = dict(decode.resources)
    certain = [decode.certain]
    for chunk in chunks:
        for name, seconds in chunk.resources.items():
            more = share * (seconds - chunk.weights if name == "memory" else seconds)
            resources[name] = resources[name] + more if name in resources else more
        certain.append(share * (chunk.certain - chunk.weights))
    found = replace(decode, resources=resources, certain_parts=certain)
    alone = total([largest(list(chunk.resources.values())) for chunk in chunks])
    together = np.maximum(largest(list(resources.values())), decode.floor) + decode.latency
    found.seconds = total([decode.seconds, share * alone]) if follow else together
    return found
