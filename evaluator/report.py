"""Where the time of one operating point goes: by operator, section and resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluator.evaluate import Evaluation
from evaluator.numeric import Value
from evaluator.price import RESOURCES, Price


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel or collective of a section, over all layers and micro-batches of a step.

    `seconds` is its roofline time with latencies, `bound` the resource that sets it; bytes are per device.
    """

    name: str
    section: str
    pool: str
    engine: str
    runs: float
    flops: float
    memory_bytes: Mapping[str, float]
    link_bytes: Mapping[str, float]
    seconds: float
    bound: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def rows(evaluation: Evaluation) -> tuple[Row, ...]:
    """The kernels of a single-point evaluation, in program order."""
    e = evaluation
    m = scalar(e.microbatches)
    found = []
    for item in e.plan.items:
        work, price = e.plan.works[item.work], e.prices[item.work]
        runs = item.layers * m * (scalar(e.drafted) if item.draft else 1.0)
        if runs == 0:
            continue
        numeric = (e.drafts if item.work in e.apart else e.numerics)[work.pool]
        memory: dict[str, float] = {}
        for kinds in (work.reads, work.writes):
            for kind, size in kinds.items():
                memory[kind] = memory.get(kind, 0.0) + scalar(numeric(size)) * runs
        links = {
            "scale-up": max(scalar(numeric(work.up_out)), scalar(numeric(work.up_in))) * runs,
            "scale-out": max(scalar(numeric(work.far_out)), scalar(numeric(work.far_in))) * runs,
        }
        flops = sum(scalar(numeric(size)) for size in work.flops.values()) * runs
        name = "+".join(dict.fromkeys(item.kernel.results))
        found.append(
            Row(name, item.section, work.pool, item.kernel.engine, runs, flops, memory,
                {k: v for k, v in links.items() if v}, scalar(price.seconds) * runs, bound(price))
        )  # fmt: skip
    return tuple(found)


def bound(price: Price) -> str:
    """The resource that sets a kernel's time, or `latency` where floors and latencies exceed it."""
    if not price.resources:
        return "latency"
    name = max(price.resources, key=lambda r: scalar(price.resources[r]))
    busy = scalar(price.resources[name])
    return name if busy >= scalar(price.seconds) / 2 and busy > 0 else "latency"


def by_section(table: tuple[Row, ...]) -> dict[str, float]:
    """Seconds by the last two names of the section, so that equal layers of a kind add up."""
    found: dict[str, float] = {}
    for row in table:
        name = row.section.rpartition(".")[2] if "." in row.section else row.section
        key = ".".join(row.section.split(".")[1:]) or name
        found[key] = found.get(key, 0.0) + row.seconds
    return found


def by_bound(table: tuple[Row, ...]) -> dict[str, float]:
    """Seconds by what binds each kernel."""
    found = dict.fromkeys((*RESOURCES, "latency"), 0.0)
    for row in table:
        found[row.bound] += row.seconds
    return {k: v for k, v in found.items() if v}


def scalar(value: Value) -> float:
    """The number of a single-point result."""
    array = np.asarray(value)
    return float(array.reshape(-1)[0]) if array.size == 1 else float("nan")
