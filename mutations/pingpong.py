"""Micro-batches whose transfers run under each other's arithmetic: two-batch overlap, ping-pong of pools."""

from __future__ import annotations

from mutations.edit import with_schedule
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design

_COUNTS = ("2", "3", "4")


def _counts(design: Design) -> tuple[Site, ...]:
    now = (str(design.schedule.microbatches), design.schedule.overlap_links)
    return tuple(site("schedule", count=c) for c in _COUNTS if (c, True) != now)


def _overlap(design: Design, where: Site) -> Design | None:
    if where.target != "schedule" or where.get("count") not in _COUNTS:
        return None
    return with_schedule(design, microbatches=int(where.get("count")), overlap_links=True)


def _overlapping(design: Design) -> tuple[Site, ...]:
    """Undo both, or keep the micro-batches (a pipeline wants them) and only stop the overlap."""
    found = []
    if design.schedule.microbatches > 1 or design.schedule.overlap_links:
        found.append(site("schedule", count="1"))
    if design.schedule.microbatches > 1 and design.schedule.overlap_links:
        found.append(site("schedule", count=str(design.schedule.microbatches)))
    return tuple(found)


def _serial(design: Design, where: Site) -> Design | None:
    if where.target != "schedule" or not where.get("count").isdigit():
        return None
    return with_schedule(design, microbatches=max(1, int(where.get("count"))), overlap_links=False)


RULES = (
    Rule(
        "micro-batches", "overlap",
        Documentation(
            "splits the batch into 2, 3 or 4 micro-batches; transfers of one run under the arithmetic of "
            "another "
            "(between pools: ping-pong, each pool working on its own micro-batch)",
            "steps that spend much of their time on collectives or in transfers between pools",
            "every micro-batch reads the weights again, and kernels and messages are smaller",
            "DeepSeek-V3 report section 3.4 (two micro-batches), MegaScale-Infer (ping-pong), SGLang "
            "two-batch overlap",
        ),
        _counts, _overlap,
        "arithmetic and link bytes are kept; weight reads are multiplied by the number of micro-batches",
        frozenset(("scale-up", "scale-out", "latency")), inverse="no overlap",
    ),
    Rule(
        "no overlap", "overlap",
        Documentation(
            "one micro-batch (or as many as before, one after the other), transfers not overlapped",
            "small batches, where reading weights twice costs more than the transfers",
            "devices idle while links work",
            "the default of most engines",
        ),
        _overlapping, _serial,
        "weight reads are divided by the number of micro-batches",
        frozenset(("memory", "latency")), inverse="micro-batches",
    ),
)  # fmt: skip
