"""Weights fetched before they are needed: onto the chip under transfers, and out of the host's memory."""

from __future__ import annotations

from mutations.anatomy import kinds
from mutations.edit import with_schedule
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design

_KINDS = ("attention", "moe", "experts", "shared", "mlp", "head", "embed")


def _free(design: Design) -> tuple[Site, ...]:
    names = [n for n in kinds(design.program, *_KINDS) if n not in design.schedule.prefetch]
    every = (site("schedule", sections=" ".join(names)),) if len(names) > 1 else ()
    return (*every, *(site(n, sections=n) for n in names))


def _add(design: Design, where: Site) -> Design | None:
    if where not in _free(design):
        return None
    return with_schedule(design, prefetch=(*design.schedule.prefetch, *where.words("sections")))


def _named(design: Design) -> tuple[Site, ...]:
    names = design.schedule.prefetch
    every = (site("schedule", sections=" ".join(names)),) if len(names) > 1 else ()
    return (*every, *(site(n, sections=n) for n in names))


def _remove(design: Design, where: Site) -> Design | None:
    gone = where.words("sections")
    return with_schedule(design, prefetch=tuple(n for n in design.schedule.prefetch if n not in gone))


RULES = (
    Rule(
        "prefetch", "overlap",
        Documentation(
            "fetches a section's weights while transfers before it leave the memory idle, as many as fit on "
            "the chip; and what it keeps in the host's memory, beside everything that runs before",
            "small batches, where a step reads weights between short collectives; weights or caches in the "
            "host's memory",
            "room on the chip; staging buffers for what comes from the host; chosen experts and rows are not "
            "known before",
            "weight prefetch into L2 under all-reduce in TensorRT-LLM; FlexGen (arXiv 2303.06865)",
        ),
        _free, _add, "the same bytes, earlier", frozenset(("memory", "scale-up", "latency", "host")),
        inverse="no prefetch",
    ),
    Rule(
        "no prefetch", "overlap",
        Documentation(
            "reads weights when they are needed", "room on the chip, no staging buffers",
            "the memory is idle during transfers", "the default of most engines",
        ),
        _named, _remove, "the inverse of `prefetch`", frozenset(("capacity",)), inverse="prefetch",
    ),
)  # fmt: skip
