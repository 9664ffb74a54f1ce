"""Evaluations and baselines: frontiers under stated conditions, computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from sqlalchemy import Select, select

from db.errors import InvalidValueError
from db.records import Baseline, Conditions, Evaluation, FrontierPoint
from db.repositories.store import Store, from_record, insert_once, rows
from db.schema import BaselineRow, CandidateRow, EvaluationRow

_Row = TypeVar("_Row", EvaluationRow, BaselineRow)


class Evaluations(Store):
    """Frontiers by design and conditions; the first result under a key stays."""

    def save_evaluation(self, evaluation: Evaluation) -> bool:
        """Save the frontier of a saved design; True if it was new."""
        with self._writing() as session:
            return insert_once(session, EvaluationRow, _flat(evaluation))

    def get_evaluation(self, design_hash: str, conditions: Conditions) -> Evaluation | None:
        """The frontier of a design under these conditions, or None."""
        statement = _under(select(EvaluationRow), EvaluationRow, conditions)
        with self._reading() as session:
            found = rows(session, statement.where(EvaluationRow.design_hash == design_hash))
            return _evaluation(found[0]) if found else None

    def evaluations_of(self, design_hash: str) -> tuple[Evaluation, ...]:
        """The evaluations of a design under all conditions, newest first."""
        statement = (
            select(EvaluationRow)
            .where(EvaluationRow.design_hash == design_hash)
            .order_by(EvaluationRow.created_at.desc(), EvaluationRow.scenario_hash, EvaluationRow.device_hash,
                      EvaluationRow.setting, EvaluationRow.clock)
        )  # fmt: skip
        with self._reading() as session:
            return tuple(_evaluation(row) for row in rows(session, statement))

    def list_evaluations(self, search_id: str, conditions: Conditions) -> tuple[Evaluation, ...]:
        """The evaluations of a search's accepted candidates, in the order of proposal."""
        statement = (
            _under(select(EvaluationRow), EvaluationRow, conditions)
            .join(CandidateRow, CandidateRow.design_hash == EvaluationRow.design_hash)
            .where(CandidateRow.search_id == search_id, CandidateRow.status == "accepted")
            .order_by(CandidateRow.sequence_number, EvaluationRow.design_hash)
        )
        with self._reading() as session:
            return tuple(_evaluation(row) for row in rows(session, statement))

    def frontier(self, search_id: str, conditions: Conditions, x: str, y: str) -> tuple[FrontierPoint, ...]:
        """The points of a search's accepted candidates that no other dominates, by falling `x`.

        `x` and `y` name the two numbers of a point to maximise; InvalidValueError if a point lacks one.
        """
        points = [
            FrontierPoint(design_hash=evaluation.design_hash, values=values)
            for evaluation in self.list_evaluations(search_id, conditions)
            for values in evaluation.points
        ]
        return pareto(points, x, y)

    def save_baseline(self, baseline: Baseline) -> bool:
        """Cache a baseline's frontier; True if it was new."""
        with self._writing() as session:
            return insert_once(session, BaselineRow, _flat(baseline))

    def list_baselines(self, *, model: str | None = None, limit: int | None = None) -> tuple[Baseline, ...]:
        """Baselines, newest first."""
        statement = select(BaselineRow).order_by(
            BaselineRow.created_at.desc(),
            BaselineRow.scenario_hash,
            BaselineRow.device_hash,
            BaselineRow.count,
        )
        if model is not None:
            statement = statement.where(BaselineRow.model == model)
        with self._reading() as session:
            return tuple(_baseline(row) for row in rows(session, statement.limit(limit)))

    def get_baseline(self, model: str, count: int, conditions: Conditions) -> Baseline | None:
        """The cached baseline, or None."""
        statement = _under(select(BaselineRow), BaselineRow, conditions).where(
            BaselineRow.model == model, BaselineRow.count == count
        )
        with self._reading() as session:
            found = rows(session, statement)
            if not found:
                return None
            return _baseline(found[0])


def pareto(points: Iterable[FrontierPoint], x: str, y: str) -> tuple[FrontierPoint, ...]:
    """The points that no other dominates in `x` and `y`, both maximised, by falling `x`; equals once."""
    best = -float("inf")
    kept: list[FrontierPoint] = []
    for point in sorted(points, key=lambda point: (-_number(point.values, x), -_number(point.values, y))):
        height = _number(point.values, y)
        if height > best:
            kept.append(point)
            best = height
    return tuple(kept)


def _number(values: Mapping[str, Any], name: str) -> float:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError(
            f"a point must have a number named {name!r} to be compared, but got {value!r}; "
            f"it has {sorted(values)}"
        )
    return value


def _flat(record: Evaluation | Baseline) -> dict[str, Any]:
    """The columns of a record, with its conditions spread out."""
    values = from_record(record)
    return values | from_record(values.pop("conditions"))


def _under(statement: Select[_Row], kind: type[_Row], conditions: Conditions) -> Select[_Row]:
    return statement.where(
        kind.scenario_hash == conditions.scenario_hash,
        kind.device_hash == conditions.device_hash,
        kind.evaluator_version == conditions.evaluator_version,
        kind.setting == conditions.setting,
        kind.clock == conditions.clock,
    )


def _evaluation(row: EvaluationRow) -> Evaluation:
    return Evaluation(
        design_hash=row.design_hash,
        conditions=_conditions(row),
        points=row.points,
        seconds=row.seconds,
        created_at=row.created_at,
    )


def _baseline(row: BaselineRow) -> Baseline:
    return Baseline(
        model=row.model,
        count=row.count,
        conditions=_conditions(row),
        points=row.points,
        created_at=row.created_at,
    )


def _conditions(row: EvaluationRow | BaselineRow) -> Conditions:
    return Conditions(
        scenario_hash=row.scenario_hash,
        device_hash=row.device_hash,
        evaluator_version=row.evaluator_version,
        setting=row.setting,
        clock=row.clock,
    )
