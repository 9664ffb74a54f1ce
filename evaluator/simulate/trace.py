"""A simulated step as a trace that Perfetto and chrome://tracing open (Chrome's trace-event format).

Every device (pool and stage) is a process, every engine of it a thread; times are in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.report import bound, scalar
from evaluator.simulate.result import Simulated

ENGINES = ("compute", "links", "host")


def write(path: Path, runs: Mapping[str, Simulated]) -> None:
    """Write one step of each named simulation side by side. Raises OSError where the file cannot be."""
    events: list[dict[str, Any]] = []
    for name, found in runs.items():
        events += trace_events(found, name if len(runs) > 1 else "", len(events))
    document = {"displayTimeUnit": "ms", "traceEvents": events}
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")


def trace_events(found: Simulated, name: str, first: int) -> list[dict[str, Any]]:
    """Complete events (`ph` X) of the last period, and the names (`ph` M) of processes from `first` on."""
    events: list[dict[str, Any]] = []
    staged = any(stage for _, stage in found.tasks.devices)
    hosts = found.tasks.hosts
    for number, (pool, stage) in enumerate(found.tasks.devices[:hosts]):
        title = " ".join(p for p in (name, pool, f"stage {stage}" if staged else "") if p)
        events.append(_named("process_name", first + number, {"name": title}))
        for thread, engine in enumerate(ENGINES):
            events.append({**_named("thread_name", first + number, {"name": engine}), "tid": thread})
    facts: dict[int, dict[str, Any]] = {}
    for event in sorted(found.events(), key=lambda e: e.start):
        item = event.part.item
        start = max(0.0, event.start)
        if item not in facts:
            facts[item] = _facts(found, item)
        args = dict(facts[item])
        label = args.pop("label")
        events.append(
            {
                "name": label, "ph": "X", "ts": start * 1e6, "dur": (event.end - start) * 1e6,
                "pid": first + event.part.engine // 2 % hosts,
                "tid": 2 if event.part.engine >= 2 * hosts else event.part.engine % 2,
                "args": {**args, "micro-batch": event.batch, "layer": event.layer},
            }
        )  # fmt: skip
    return events


def _named(kind: str, process: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "args": args}


def _facts(found: Simulated, index: int) -> dict[str, Any]:
    """Name (`section.operator`) and amounts of a kernel on one device."""
    if index < 0:
        return {"label": "next stage", "bytes": {}, "flops": 0.0, "bound": "scale-out"}
    e = found.evaluation
    item = e.plan.items[index]
    work = e.plan.works[item.work]
    numeric = (e.drafts if item.work in e.apart else e.numerics)[work.pool]
    amounts: dict[str, float] = {}
    for kinds in (work.reads, work.writes):
        for kind, size in kinds.items():
            amounts[kind] = amounts.get(kind, 0.0) + scalar(numeric(size))
    for kind, out, into in (
        ("scale-up", work.up_out, work.up_in), ("scale-out", work.far_out, work.far_in),
    ):  # fmt: skip
        amounts[kind] = max(scalar(numeric(out)), scalar(numeric(into)))
    results = "+".join(dict.fromkeys(r.partition("@")[0] for r in item.kernel.results))
    return {
        "label": f"{item.section.rpartition('.')[2]}.{results}",
        "bytes": {k: v for k, v in amounts.items() if v},
        "flops": sum(scalar(numeric(size)) for size in work.flops.values()),
        "bound": bound(e.prices[item.work]),
    }
