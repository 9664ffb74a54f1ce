"""What a fault is: a kind of bug that real systems have, and every place of a unit where it can be made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rooflang.lowered import Lowered, Unit

Meshes = Mapping[str, tuple[str, ...]]
# Places by name, each with the unit that has the fault there.
Finder = Callable[[Unit, Meshes], Iterator[tuple[str, Unit]]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault. `find` yields (the value where it is made, the faulty unit).

    A `silent` fault changes no value in float64 (a narrower format): it must be refused all the same.
    """

    name: str
    breaks: str
    find: Finder = field(repr=False)
    silent: bool = False

    def places(self, unit: Unit, meshes: Meshes) -> list[tuple[str, Unit]]:
        """Every injection into this unit."""
        return [(where, bad) for where, bad in self.find(unit, meshes) if bad != unit]


@dataclass(frozen=True, slots=True)
class WholeFault:
    """A kind of fault that no single unit shows. `find` yields (where it is made, the faulty design).

    All are silent: what is left of the design may well compute the same.
    """

    name: str
    breaks: str
    find: Callable[[Lowered], Iterator[tuple[str, Lowered]]] = field(repr=False)
