"""Sections on a second stream, beside the transfers of the same micro-batch."""

from __future__ import annotations

from mutations.anatomy import kinds
from mutations.edit import with_schedule
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design


def _beside(design: Design) -> tuple[Site, ...]:
    return tuple(site(n) for n in kinds(design.program, "shared") if n not in design.schedule.streams)


def _add(design: Design, where: Site) -> Design | None:
    if where not in _beside(design):
        return None
    return with_schedule(design, streams=(*design.schedule.streams, where.target))


def _named(design: Design) -> tuple[Site, ...]:
    return tuple(site(n) for n in design.schedule.streams)


def _remove(design: Design, where: Site) -> Design | None:
    return with_schedule(design, streams=tuple(s for s in design.schedule.streams if s != where.target))


RULES = (
    Rule(
        "second stream", "overlap",
        Documentation(
            "runs the shared expert on a second stream, beside dispatch and combine of the routed experts",
            "the shared expert depends on nothing that is on the way, so its time hides the transfers",
            "none in this model of a device; in practice the two share memory bandwidth and multiprocessors",
            "vLLM and SGLang run shared experts on an alternate stream; DeepEP low-latency kernels need no "
            "SMs",
        ),
        _beside, _add, "none", frozenset(("scale-up", "scale-out", "latency")), inverse="one stream",
    ),
    Rule(
        "one stream", "overlap",
        Documentation(
            "runs the shared expert on the stream of everything else",
            "where an engine has no second stream",
            "the transfers are no longer hidden by it",
            "the inverse of `second stream`",
        ),
        _named, _remove, "none", frozenset(("latency",)), inverse="second stream",
    ),
)  # fmt: skip
