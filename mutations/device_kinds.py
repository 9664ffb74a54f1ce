"""Pools on devices of another kind. The problem says which kinds there are, so the rule is made for one."""

from __future__ import annotations

from dataclasses import replace

from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design

SAME = "any"
"""In a structure: the device that the problem is about."""


def device_kind(kinds: tuple[str, ...]) -> Rule:
    """The rule that puts a pool beyond the first on devices of another of these kinds."""

    def places(design: Design) -> tuple[Site, ...]:
        return tuple(
            site(pool.name, device=kind)
            for pool in design.pools[1:]
            for kind in (SAME, *kinds)
            if kind != pool.device
        )

    def move(design: Design, where: Site) -> Design | None:
        if where not in places(design):
            return None
        pools = tuple(
            replace(p, device=where.get("device")) if p.name == where.target else p for p in design.pools
        )
        return design.with_(pools=pools)

    return Rule(
        "device kind", "disaggregation",
        Documentation(
            "puts a pool on devices of another kind",
            "parts that want another ratio of bandwidth, arithmetic, memory and price: attention and "
            "indexers bandwidth and capacity, experts at large batches arithmetic",
            "pools of different kinds are joined by scale-out links alone; devices count by their price",
            "MegaScale-Infer (arXiv 2504.02263) and Step-3 (arXiv 2507.19427) on H20 and H800; Splitwise "
            "(arXiv 2311.18677)",
        ),
        places, move, "none: the same work on other devices",
        frozenset(("memory", "matrix", "capacity")), inverse="device kind",
    )  # fmt: skip
