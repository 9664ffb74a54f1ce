"""Weights and caches in the host's memory, read over its link."""

from __future__ import annotations

from mutations.anatomy import Part, kinds
from mutations.edit import with_placement
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, State

_TIER = "host"
_KINDS = ("attention", "moe", "experts", "shared", "mlp", "head", "embed")


def _held(same: tuple[Part, ...], what: str) -> tuple[str, ...]:
    """Targets of lines that send the weights, or the caches, of sections of one name to another memory."""
    names: dict[str, None] = {}
    for part in same:
        found = part.weights if what == "weights" else [s.name for s in part.body if isinstance(s, State)]
        names.update(dict.fromkeys(f"{part.name}.{name}" for name in found))
    return tuple(names)


def _places(design: Design) -> tuple[Site, ...]:
    kept = {target for target, _ in design.placement.tiers}
    found = []
    for name, same in kinds(design.program, *_KINDS).items():
        for what in ("weights", "caches"):
            targets = _held(same, what)
            if targets and not kept.intersection(targets):
                found.append(site(name, keep=what))
    return tuple(found)


def _move(design: Design, where: Site) -> Design | None:
    if where not in _places(design):
        return None
    targets = _held(kinds(design.program, *_KINDS)[where.target], where.get("keep"))
    return with_placement(design, tiers=(*design.placement.tiers, *((t, _TIER) for t in targets)))


def _moved(design: Design) -> tuple[Site, ...]:
    kept = {target for target, _ in design.placement.tiers}
    found = []
    for name, same in kinds(design.program, *_KINDS).items():
        for what in ("weights", "caches"):
            if kept.intersection(_held(same, what)):
                found.append(site(name, keep=what))
    return tuple(found)


def _back(design: Design, where: Site) -> Design | None:
    if where not in _moved(design):
        return None
    gone = _held(kinds(design.program, *_KINDS)[where.target], where.get("keep"))
    return with_placement(design, tiers=tuple(t for t in design.placement.tiers if t[0] not in gone))


RULES = (
    Rule(
        "keep in host", "residency",
        Documentation(
            "keeps the weights of a section, or its caches, in the host's memory; kernels read them over the "
            "host's link, and what is known before (all but chosen experts and rows) may be fetched ahead",
            "capacity: larger batches, longer contexts, fewer devices; parts that are read rarely",
            "the host's link is 10 to 100 times slower than the device's memory; staging buffers if fetched",
            "FlexGen (arXiv 2303.06865); KTransformers' experts on the host; KV offloading in vLLM, SGLang "
            "and Dynamo; unified memory of Grace systems",
        ),
        _places, _move,
        "FLOPs are kept; bytes move from the device's memory to the host's link",
        frozenset(("capacity",)), inverse="keep in device",
    ),
    Rule(
        "keep in device", "residency",
        Documentation(
            "keeps weights or caches in the device's own memory", "speed", "capacity",
            "the inverse of `keep in host`",
        ),
        _moved, _back, "the inverse of `keep in host`",
        frozenset(("host",)), inverse="keep in host",
    ),
)  # fmt: skip
