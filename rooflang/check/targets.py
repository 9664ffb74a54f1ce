"""Lines of placement and schedule speak of something: a section or value of the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from rooflang.check.problem import Problem
from rooflang.design import Design, Op, Program, Repeat, Section, walk
from rooflang.errors import nearest


def targets(design: Design) -> Iterator[Problem]:
    """Every target of a line that names nothing; fusions are judged by their units."""
    placement, plan = design.placement, design.schedule
    values = dict.fromkeys(
        (
            *(s.target for s in placement.shards),
            *(t for t, _ in placement.homes),
            *(t for t, _ in placement.tiers),
        )
    )
    for target in values:
        if not _names(target, _named(design.program)):
            message = f"a line of placement must name a section or value, but {target!r} is none"
            known = list(_named(design.program))
            yield Problem("placement.target", "placement", message + nearest(target, known), _HINT)
    for target in (*plan.streams, *plan.prefetch, *plan.cascade):
        if not _names(target, _sections(design.program)):
            message = f"a line of the schedule must name a section, but {target!r} is none"
            known = list(_sections(design.program))
            yield Problem("schedule.target", "schedule", message + nearest(target, known), _HINT)


_HINT = "name one of the program, by its last name or the end of its dotted path"


def _names(target: str, known: Mapping[str, tuple[str, ...]]) -> bool:
    paths = known.get(target.rpartition(".")[2], ())
    return any(path == target or path.endswith("." + target) for path in paths)


@lru_cache(maxsize=256)
def _sections(program: Program) -> Mapping[str, tuple[str, ...]]:
    """Paths of sections and repeats by their last name."""
    return _by_name(
        ".".join((*path, s.name)) for path, s in walk(program.body) if isinstance(s, Section | Repeat)
    )


@lru_cache(maxsize=256)
def _named(program: Program) -> Mapping[str, tuple[str, ...]]:
    """Paths of everything that has a name, by its last one."""
    return _by_name(
        ".".join((*path, s.result if isinstance(s, Op) else s.name)) for path, s in walk(program.body)
    )


def _by_name(paths: Iterator[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for path in paths:
        found.setdefault(path.rpartition(".")[2], {})[path] = None
    return {name: tuple(same) for name, same in found.items()}
