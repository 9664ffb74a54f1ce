"""The design of an operating point, and how its work is placed: as stated, or conventionally."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from catalogue.models.precision import at_precision
from evaluator.truth.names import design_of
from evaluator.truth.points import Point
from rooflang.design import Design

Structures = Callable[[Design], Sequence[Design]]
"""The conventional structures of a model: axes `dp`, `tp` (and `pp`) of one pool, sizes as placeholders."""

# By form: titles of its structure, the first that a model has. A dense model has one for both `tep` and `tp`.
_TITLES = {
    "dp": ("DP attention + EP",),
    "tep": ("TP attention + EP on whole tokens", "TP attention + EP"),
    "tp": ("TP attention + TP experts", "TP attention + EP on whole tokens", "TP attention + EP"),
}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A structure with the sizes of its axes; `ranks` hold sequences of their own."""

    design: Design
    axes: Mapping[str, float]

    @property
    def ranks(self) -> int:
        return int(self.axes["dp"])


@dataclass(frozen=True, slots=True)
class Placements:
    """Placements of operating points, from the conventional structures that the caller gives."""

    structures: Structures

    def stated(self, point: Point) -> Mapped | None:
        """The placement that the row states, or None where it leaves it open or has a pipeline."""
        d = point.deployment
        return self._mapped(point, d.form, d.size) if d.form is not None and d.stages == 1 else None

    def possible(self, point: Point) -> list[Mapped]:
        """The placement that the row states, or the conventional ones of its size, without pipelines."""
        d = point.deployment
        size = d.size // d.stages
        forms = [d.form] if d.form else ["tp"] if size == 1 else list(_TITLES)
        found = (self._mapped(point, form, size) for form in forms)
        return [mapped for mapped in found if mapped is not None]

    def _mapped(self, point: Point, form: str, size: int) -> Mapped | None:
        design = design_at(point)
        found = {s.name.partition(": ")[2]: s for s in _structures(self.structures, design)}
        structure = next((found[title] for title in _TITLES[form] if title in found), None)
        if structure is None:
            return None
        dp, tp = (float(size), 1.0) if form == "dp" else (1.0, float(size))
        return Mapped(structure, {"dp": dp, "tp": tp})


def design_at(point: Point) -> Design:
    """The model of a point at its precision."""
    return at_precision(design_of(point.model, point.kv), point.storage, point.cache)


@lru_cache(maxsize=128)
def _structures(make: Structures, design: Design) -> tuple[Design, ...]:
    return tuple(make(design))
