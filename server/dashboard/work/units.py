"""One operating point as a graph: units in program order, their kernels and collectives, and whose data
each of them reads."""

from __future__ import annotations

from typing import Any

from evaluator.evaluate import Evaluation
from evaluator.order import ordered
from evaluator.report import rows

Json = dict[str, Any]


def units(e: Evaluation) -> list[Json]:
    """Units with the kernels that run; one of a repeat stands once, with how many layers it stands for.

    A kernel has `id`, its place in the plan, and `reads`, the ids of those in its unit whose data it needs;
    what follows from others is left out. A collective has `collective`, such as "all gather over tp".
    """
    reads = _reads(e)
    joins = _collectives(e)
    every = enumerate(e.plan.items)
    live = [i for i, item in every if item.layers and (not item.draft or float(e.drafted))]
    shown = set(live)
    found: list[Json] = []
    for row, index in zip(rows(e), live, strict=False):
        item = e.plan.items[index]
        if not found or found[-1]["number"] != item.unit:
            found.append({"number": item.unit, "layers": item.layers, "draft": item.draft, "kernels": []})
        found[-1]["kernels"].append(
            {
                "id": index, "reads": [i for i in reads.get(index, ()) if i in shown],
                "name": row.name, "section": row.section, "engine": row.engine, "pool": row.pool,
                "collective": joins.get((item.unit, item.kernel.name), ""), "runs": row.runs,
                "flops": row.flops, "bytes": sum(row.memory_bytes.values()),
                "link_bytes": sum(row.link_bytes.values()), "seconds": row.seconds, "bound": row.bound,
                "stream": item.stream,
            }
        )  # fmt: skip
    return found


def _reads(e: Evaluation) -> dict[int, list[int]]:
    """By item of the plan. Of a transfer between pools, the receiving side reads the sending one."""
    found: dict[int, list[int]] = {}
    for unit in ordered(e.plan):
        for node in unit.nodes:
            found[node.items[0]] = [unit.nodes[n].items[-1] for n in node.reads]
            for before, after in zip(node.items, node.items[1:], strict=False):
                found[after] = [before]
    return found


def _collectives(e: Evaluation) -> dict[tuple[int, str], str]:
    """By unit and name of a kernel: what the collective does, and over which axes of the mesh."""
    found: dict[tuple[int, str], str] = {}
    for number, (_, unit) in enumerate(e.plan.lowered.units()):
        for op in unit.ops:
            if op.axes or op.operator == "send":
                text = op.operator.replace("_", " ") + (f" over {', '.join(op.axes)}" if op.axes else "")
                # The work of a collective is a kernel for each side of it, numbered behind a colon.
                for side in (0, 1):
                    found.setdefault((number, f"{op.kernel}:{side}"), text)
    return found
