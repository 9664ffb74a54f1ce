"""All rows of a file of measurements: which are placed, which beat their bound, and how near they come.

`achieved` is measured over bound, in the direction in which 1 is the bound: a row above 1 is a violation.
`reached` is the same against the prediction, for services whose decode is isolated. `error` is predicted over
measured time, less 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from catalogue.devices import Device
from evaluator.errors import UnavailableError
from evaluator.truth.bounds import Bounds, has_drafts
from evaluator.truth.names import precision_of
from evaluator.truth.operators import kernel_fraction, operator_seconds
from evaluator.truth.placements import Placements, Structures
from evaluator.truth.points import Point, device_at, e2e_point, serving_point
from evaluator.truth.predictions import Predictions
from evaluator.truth.rows import Measurements, Row, UnplacedError
from rooflang.errors import RoofLangError


@dataclass(frozen=True, slots=True)
class Placed:
    """One placed row: `achieved` by metric (tpot, ttft, throughput, time), prediction errors by metric.

    `model` is empty for a row of one `operator`, and `operator` for a service.
    """

    id: str
    kind: str
    model: str
    operator: str
    device: str
    precision: str
    achieved: Mapping[str, float]
    reached: float | None = None
    errors: Mapping[str, float] = field(default_factory=dict)

    @property
    def fraction(self) -> float:
        """The largest fraction of a bound that the row reaches."""
        return max(self.achieved.values())


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows of one or more files, judged."""

    rows: int
    placed: tuple[Placed, ...]
    not_placed: tuple[tuple[str, str], ...]

    @property
    def violations(self) -> tuple[Placed, ...]:
        """Rows above a bound of theirs."""
        return tuple(p for p in self.placed if p.fraction > 1.0)

    def quartiles(self) -> dict[str, dict[str, tuple[float, float, float, int]]]:
        """Achieved over bound: (first quartile, median, third, rows) by model, operator, device, ..."""
        found: dict[str, dict[str, tuple[float, float, float, int]]] = {}
        for by in ("model", "operator", "device", "precision"):
            groups: dict[str, list[float]] = {}
            for placed in self.placed:
                if getattr(placed, by):
                    groups.setdefault(getattr(placed, by), []).append(placed.fraction)
            found[by] = {name: quartiles(values) for name, values in sorted(groups.items())}
        return found

    def errors(self) -> dict[str, dict[str, tuple[float, float, float, int]]]:
        """Prediction error by metric (ttft, tpot) and device: quartiles of predicted / measured - 1."""
        found: dict[str, dict[str, tuple[float, float, float, int]]] = {}
        for metric in ("ttft", "tpot"):
            groups: dict[str, list[float]] = {}
            for placed in self.placed:
                if metric in placed.errors:
                    groups.setdefault(placed.device, []).append(placed.errors[metric])
                    groups.setdefault("all", []).append(placed.errors[metric])
            found[metric] = {name: quartiles(values) for name, values in sorted(groups.items())}
        return found

    def reached(self) -> tuple[float, float, float, int] | None:
        """Measured over predicted speed of services whose decode is isolated: quartiles."""
        values = [p.reached for p in self.placed if p.reached is not None]
        return quartiles(values) if values else None


def quartiles(values: Iterable[float]) -> tuple[float, float, float, int]:
    """(first quartile, median, third quartile, how many) of values."""
    array = np.array(list(values), dtype=float)
    low, middle, high = (float(v) for v in np.quantile(array, (0.25, 0.5, 0.75)))
    return low, middle, high, len(array)


def validate(files: Iterable[Measurements], structures: Structures) -> Validation:
    """Every row of the files, placed and compared; `structures` gives conventional placements."""
    placements = Placements(structures)
    bounds, predictions = Bounds(placements), Predictions(placements)
    placed: list[Placed] = []
    left: list[tuple[str, str]] = []
    rows = _told_apart(files)
    for row in rows:
        try:
            placed.append(_place(row, bounds, predictions))
        except (UnplacedError, UnavailableError) as reason:
            left.append((row.id, str(reason)))
    return Validation(len(rows), tuple(placed), tuple(left))


def _told_apart(files: Iterable[Measurements]) -> list[Row]:
    """All rows; those whose id is not theirs alone are called `ID (FILE, row N)`, numbered if need be."""
    all_rows = [(file.name, row) for file in files for row in file.rows]
    times = Counter(row.id for _, row in all_rows)
    taken: set[str] = set()
    found = []
    for name, row in all_rows:
        own = row.id if times[row.id] == 1 else f"{row.id} ({name}, row {row.line})"
        number, label = 2, own
        while label in taken:
            number, label = number + 1, f"{own} ({number})"
        taken.add(label)
        found.append(replace(row, id=label))
    return found


def _place(row: Row, bounds: Bounds, predictions: Predictions) -> Placed:
    if row.kind in ("kernel", "operator"):
        return _single(row)
    point = e2e_point(row) if row.kind == "e2e" else serving_point(row, _drafts)
    return service(point, row.kind, bounds, predictions)


@lru_cache(maxsize=128)
def _drafts(model: str) -> bool:
    return has_drafts(model)


def service(point: Point, kind: str, bounds: Bounds, predictions: Predictions) -> Placed:
    """A measured service against its bounds and, where its batch is known, its predictions."""
    achieved: dict[str, float] = {}
    errors: dict[str, float] = {}
    reached = None
    if point.seconds_per_token is not None:
        achieved["tpot"] = bounds.token_limit(point) / point.seconds_per_token
    if point.per_device is not None:
        achieved["throughput"] = point.per_device / bounds.device_limit(point)
    if point.first_token is not None:
        achieved["ttft"] = bounds.first_token_limit(point) / point.first_token
    if point.seconds_per_token is not None and point.counted:
        token = predictions.token_seconds(point)
        if token is not None:
            errors["tpot"] = token / point.seconds_per_token - 1
            reached = errors["tpot"] + 1 if point.isolated or kind == "e2e" else None
    if point.first_token is not None and kind == "e2e":
        first = predictions.first_token_seconds(point)
        if first is not None:
            errors["ttft"] = first / point.first_token - 1
    return Placed(
        point.id, kind, point.model, "", point.device.name, point.precision, achieved, reached, errors
    )


def _single(row: Row) -> Placed:
    """A kernel or an operator against the time that the device needs at least."""
    device = device_at(row)
    if row.kind == "operator":
        what, form = row.text("operator").partition("(")[0], row.text("format")
        fraction = _described(operator_seconds, row, device) / ((row.number("measured_us") or 0.0) * 1e-6)
    else:
        what, form = row.text("kernel").partition(",")[0], row.text("kernel")
        fraction = _described(kernel_fraction, row, device)
    return Placed(row.id, row.kind, "", what, device.name, precision_of(form), {"time": fraction})


def _described(of: Callable[[Row, Device], float], row: Row, device: Device) -> float:
    try:
        return of(row, device)
    except RoofLangError as error:
        raise UnplacedError(f"the shape {row.text('shape')!r} describes no operator: {error}") from None
