"""Which proposers there are: our own, and those that installed packages offer under `seis.proposers`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any

from agent.bottleneck import Bottleneck
from agent.errors import ProblemError
from agent.evolutionary import Evolutionary
from agent.exhaustive import Exhaustive
from agent.proposer import Factory

GROUP = "seis.proposers"
"""The group of entry points; each names a factory."""

STANDARD: tuple[Factory, ...] = (Bottleneck, Exhaustive, Evolutionary)
"""The keyless proposers that every search has unless others are asked for."""


def proposer_names() -> tuple[str, ...]:
    """Names that `chosen` takes: our own, then those of installed packages."""
    return tuple(dict.fromkeys([*(_name(f) for f in STANDARD), *sorted(p.name for p in _offered())]))


def chosen(names: Sequence[str] | None) -> tuple[Factory, ...]:
    """The factories of these names in order; STANDARD for None. Raises ProblemError for an unknown name."""
    if names is None:
        return STANDARD
    own = {_name(f): f for f in STANDARD}
    found: list[Factory] = []
    for name in dict.fromkeys(names):
        if name not in own:
            offered = {p.name: p for p in _offered()}
            if name not in offered:
                raise ProblemError(
                    f"a proposer must be one of {', '.join(proposer_names())}, but got {name!r}; "
                    f"a package offers its own under the entry points {GROUP}"
                )
            own[name] = _loaded(offered[name])
        found.append(own[name])
    if not found:
        raise ProblemError("a search must have at least one proposer, but got none; name one or leave it out")
    return tuple(found)


def _offered() -> Sequence[Any]:
    return tuple(entry_points(group=GROUP))


def _loaded(point: Any) -> Factory:
    try:
        found: Factory = point.load()
    except Exception as error:
        raise ProblemError(
            f"the proposer {point.name!r} must be importable from {point.value}, but is not "
            f"({type(error).__name__}: {error}); repair or remove the package that offers it"
        ) from error
    return found


def _name(factory: Factory) -> str:
    return factory(None, 0).name
