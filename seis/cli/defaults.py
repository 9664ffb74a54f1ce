"""Degrees of parallelism where the user gives none: all data parallelism that divides, and tensor
parallelism only as far as memory needs it."""

from __future__ import annotations

from math import prod

import numpy as np

from catalogue.devices import Device
from evaluator.evaluate import evaluate
from evaluator.scenario import Scenario
from rooflang.design import Design
from rooflang.lower import lower
from seis.cli.asked import Asked
from seis.cli.placing import Degrees, place, undivided
from seis.cli.problems import UsageError

TENSOR_PARALLEL = (1, 2, 4, 8, 16)


def choose(
    design: Design, asked: Asked, count: int, batch: int, device: Device, scenario: Scenario
) -> Degrees:
    """What was asked, and for the rest the first choice that divides and fits; else one that divides."""
    pp, cp, dp = asked.degree("pp") or 1, asked.degree("cp") or 1, asked.degree("dp")
    share = count // (asked.replicas or 1)
    tp = asked.degree("tp")
    tps = [tp] if tp else [1] if dp else [t for t in TENSOR_PARALLEL if t * pp * cp <= share] or [1]
    _check_room(Degrees(pp, dp or 1, cp, tps[0]), asked, count)
    choice = _Choice(design, asked, count, batch, device, scenario)
    possible: list[Degrees] = []
    for width in tps:
        found = choice.widest(pp, cp, width, dp, share // (pp * cp * width))
        if found is None:
            continue
        if choice.fits(found):
            return found
        possible.append(found)
    if possible:
        return possible[0]
    widest = dp or max(1, share // (pp * cp * tps[0]))  # nothing divides; the caller says what does not
    return Degrees(pp, widest, cp, tps[0], asked.degree("ep") or widest * cp * tps[0])


def _check_room(least: Degrees, asked: Asked, count: int) -> None:
    needed = least.devices * (asked.replicas or 1)
    if needed > count:
        raise UsageError(
            f"replicas x pp x dp x cp x tp must be at most --count {count}, but is {needed}; "
            "lower them or raise --count"
        )


class _Choice:
    """Tries degrees; designs that differ in mesh sizes alone are lowered once."""

    def __init__(
        self, design: Design, asked: Asked, count: int, batch: int, device: Device, scenario: Scenario
    ) -> None:
        self._design, self._asked, self._device, self._scenario = design, asked, device, scenario
        self._count, self._batch = count, batch
        self._structures: dict[object, Design] = {}

    def widest(self, pp: int, cp: int, tp: int, dp: int | None, room: int) -> Degrees | None:
        """The most data parallelism that divides, or what was asked."""
        for width in [dp] if dp else range(self._most(pp, cp, tp, room), 0, -1):
            degrees = Degrees(pp, width, cp, tp, self._asked.degree("ep") or width * cp * tp)
            try:
                placed = self._placed(degrees)
            except UsageError:
                if dp:
                    raise
                continue
            if not undivided(placed, self._structure(placed)):
                return degrees
        return None

    def _most(self, pp: int, cp: int, tp: int, room: int) -> int:
        """Ranks of data parallelism beyond which a size of the model has too few parts; at most `room`."""
        if room < 2 or self._asked.degree("ep"):
            return room
        placed = self._placed(Degrees(pp, 2, cp, tp, 2 * cp * tp))
        axes = {a: size for mesh in placed.placement.meshes for a, size in mesh.axes}
        lowered = lower(self._structure(placed))
        for condition in lowered.conditions:
            size = lowered.sizes[condition.dim].constant
            if size is not None and "dp" in condition.axes:
                others = prod(axes[a] for a in condition.axes if a != "dp") * condition.multiple
                room = min(room, max(1, size // others))
        return room

    def fits(self, degrees: Degrees) -> bool:
        placed = self._placed(degrees)
        replicas = self._asked.replicas or self._count // degrees.devices
        m = float(placed.schedule.microbatches)
        found = evaluate(
            self._structure(placed), {"main": self._device}, self._scenario,
            max(m, float(-(-self._batch // replicas))),
            axes={a: float(size) for a, size in placed.placement.meshes[0].axes},
            microbatches=m, drafted=float(self._asked.drafted), setting=self._asked.setting,
            queries=self._asked.queries,
        )  # fmt: skip
        return bool(np.all(found.fits))

    def _placed(self, degrees: Degrees) -> Design:
        return place(self._design, degrees, self._device.name, self._asked.microbatches or degrees.pp)

    def _structure(self, placed: Design) -> Design:
        p = placed.placement
        key = (tuple(a for a, _ in p.meshes[0].axes), p.shards, p.pipeline)
        return self._structures.setdefault(key, placed)
