"""What a rule is: where it applies, what it makes, and what it says of itself.

A rule changes the *structure* of a design: which axes a mesh has and what they cut, pools, schedule flags,
fusions, the algebra of the program. Mesh sizes and counts in its results are placeholders, since an
evaluation sweeps them. A rule is trusted by no one: the verifier compares the two designs themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rooflang.design import Design
from rooflang.errors import RoofLangError

RESOURCES: Final = frozenset(
    ("matrix", "vector", "exponential", "memory", "scale-up", "scale-out", "host", "latency", "capacity")
)


class RuleError(RoofLangError):
    """A rule that is unknown, or that does not apply where it was asked to."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a rule applies: a section, pool or value, and the choices left to whoever applies it."""

    target: str
    parameters: tuple[tuple[str, str], ...] = ()

    def get(self, name: str, default: str = "") -> str:
        """One choice by name."""
        for key, value in self.parameters:
            if key == name:
                return value
        return default

    def words(self, name: str) -> tuple[str, ...]:
        """A choice that is a list of names."""
        return tuple(self.get(name).split())

    def __str__(self) -> str:
        chosen = ", ".join(f"{k}={v}" for k, v in self.parameters)
        return f"{self.target}({chosen})" if chosen else self.target


def site(target: str, **parameters: str) -> Site:
    """A site with its choices in order of their names."""
    return Site(target, tuple(sorted(parameters.items())))


@dataclass(frozen=True, slots=True)
class Documentation:
    """What it rewrites, when that helps, what it costs, and where the field does it."""

    rewrites: str
    helps: str
    costs: str
    source: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A named rewrite of designs.

    `exact` says that the results compute the same model; `delta` says how the work changes, in words;
    `same_matrix_work` that no matrix FLOP is added or removed over all devices; `relieves` are the binding
    resources that it can relieve; `inverse` names the rule that undoes it, if there is one. Where `find` must
    try each place at some cost, `untried` gives those that it would try.
    """

    name: str
    family: str
    documentation: Documentation
    find: Callable[[Design], tuple[Site, ...]] = field(repr=False)
    rewrite: Callable[[Design, Site], Design | None] = field(repr=False)
    delta: str
    relieves: frozenset[str]
    exact: bool = True
    same_matrix_work: bool = True
    inverse: str | None = None
    untried: Callable[[Design], tuple[Site, ...]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        unknown = self.relieves - RESOURCES
        if unknown:
            raise RuleError(
                f"a rule relieves resources among {', '.join(sorted(RESOURCES))}, but {self.name} names "
                f"{', '.join(sorted(unknown))}"
            )

    def sites(self, design: Design) -> tuple[Site, ...]:
        """Every place of the design where the rule would change something, each once."""
        return tuple(dict.fromkeys(self.find(design)))

    def likely_sites(self, design: Design) -> tuple[Site, ...]:
        """The sites, and perhaps a few places where `apply` raises RuleError: whoever draws some of many
        places does not pay for trying all of them."""
        return tuple(dict.fromkeys((self.untried or self.find)(design)))

    def apply(self, design: Design, where: Site) -> Design:
        """The rewritten design. Raises RuleError where the rule does not apply."""
        result = self.rewrite(design, where)
        if result is None or result == design:
            raise RuleError(
                f"{self.name} must be applied at one of its sites, but {where} is none of this design"
            )
        return result
