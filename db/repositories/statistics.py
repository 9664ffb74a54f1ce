"""Per-rule statistics: what helped while which resource was binding."""

from __future__ import annotations

from functools import cache

from sqlalchemy import select

from db.records import RuleStatistics
from db.repositories.store import Insert, Store, execute, insert, rows, table_of, to_record
from db.schema import Base, RuleStatisticsRow

_EVERY_SEARCH = ""


@cache
def _add(dialect: str, kind: type[Base]) -> Insert:
    statement = insert(dialect, kind)
    table = table_of(kind)
    return statement.on_conflict_do_update(
        index_elements=["scope", "rule", "resource"],
        set_={
            name: table.c[name] + statement.excluded[name]
            for name in ("proposed", "accepted", "improved", "gained")
        },
    )


class Statistics(Store):
    """Counts per rule and binding resource, for one search and over all."""

    def count_rule(
        self,
        rule: str,
        resource: str,
        *,
        proposed: int = 0,
        accepted: int = 0,
        improved: int = 0,
        gained: float = 0.0,
        search_id: str | None = None,
    ) -> None:
        """Add to the counts over all searches and, if `search_id` is given, to those of that search."""
        counts = {"proposed": proposed, "accepted": accepted, "improved": improved, "gained": gained}
        with self._writing() as session:
            for scope in (_EVERY_SEARCH, search_id) if search_id else (_EVERY_SEARCH,):
                values = {"scope": scope, "rule": rule, "resource": resource, **counts}
                execute(session, _add, RuleStatisticsRow, values)

    def rule_statistics(self, search_id: str | None = None) -> tuple[RuleStatistics, ...]:
        """The counts of one search, or over all, by rule and resource."""
        statement = (
            select(RuleStatisticsRow)
            .where(RuleStatisticsRow.scope == (search_id or _EVERY_SEARCH))
            .order_by(RuleStatisticsRow.rule, RuleStatisticsRow.resource)
        )
        with self._reading() as session:
            return tuple(to_record(RuleStatistics, row) for row in rows(session, statement))
