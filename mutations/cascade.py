"""Attention over a prefix that several sequences share: once for all of them, merged with their own rows."""

from __future__ import annotations

from mutations.anatomy import Part, kinds
from mutations.edit import with_schedule
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, State


def _whole_rows(part: Part) -> bool:
    """Whether attention reads a growing cache row by row, without a choice."""
    grown = {s.name for s in part.body if isinstance(s, State) and s.rows in ("append", "every")}
    return any(
        op.operator == "einsum" and any(o.name in grown and o.index is None for o in op.operands)
        for op in part.ops
    )


def _places(design: Design) -> tuple[Site, ...]:
    found = kinds(design.program, "attention").items()
    return tuple(
        site(name) for name, same in found
        if name not in design.schedule.cascade and any(_whole_rows(p) for p in same)
    )  # fmt: skip


def _split(design: Design, where: Site) -> Design | None:
    if where not in _places(design):
        return None
    return with_schedule(design, cascade=(*design.schedule.cascade, where.target))


def _named(design: Design) -> tuple[Site, ...]:
    return tuple(site(n) for n in design.schedule.cascade)


def _join(design: Design, where: Site) -> Design | None:
    return with_schedule(design, cascade=tuple(n for n in design.schedule.cascade if n != where.target))


RULES = (
    Rule(
        "cascade attention", "algebra",
        Documentation(
            "attends to the prefix that a group of sequences shares in one pass for the whole group, and to "
            "each sequence's own rows in another; their log-sums merge the two",
            "scenarios with a shared prefix (`prefix`, `sharers`): system prompts, few-shot examples, "
            "parallel samples; its rows are read once per group",
            "two more kernels per attention, and partial results written and read; nothing is gained without "
            "a shared prefix",
            "cascade inference in FlashInfer (arXiv 2501.01005); Hydragen (arXiv 2402.05099); vLLM's cascade "
            "attention",
        ),
        _places, _split,
        "FLOPs are kept; of the prefix's rows one read per group instead of one per sequence",
        frozenset(("memory",)), inverse="one-pass attention",
    ),
    Rule(
        "one-pass attention", "algebra",
        Documentation(
            "attends to all rows of a sequence in one kernel", "short or unshared prefixes",
            "a shared prefix is read by every sequence", "the inverse of `cascade attention`",
        ),
        _named, _join, "the inverse of `cascade attention`", frozenset(("latency",)),
        inverse="cascade attention",
    ),
)  # fmt: skip
