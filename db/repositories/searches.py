"""Searches: who runs each, and from where it continues when its process was killed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, select, update

from db.errors import SearchTakenError
from db.records import JsonObject, Search, SearchState
from db.repositories.store import Older, Store, find_by_prefix, insert_once, older, rows, to_record
from db.schema import SearchRow

STALE_AFTER_SECONDS = 10.0
"""A running search without a heartbeat for so long belongs to a dead process."""


class Searches(Store):
    """Searches by identifier.

    `owner` names the process that runs a search; a program with one process may leave it empty. Writes of an
    owner that lost its search raise SearchTakenError.
    """

    def create_search(
        self,
        *,
        model: str,
        device: str,
        count: int,
        scenario: JsonObject,
        scenario_hash: str,
        seed: int,
        setting: str,
        clock: str,
        cursor: JsonObject | None = None,
        owner: str = "",
    ) -> Search:
        """Begin a search in the state `running`."""
        now = self._now()
        search = Search(
            id=uuid4().hex,
            owner=owner,
            model=model,
            device=device,
            count=count,
            scenario=dict(scenario),
            scenario_hash=scenario_hash,
            seed=seed,
            setting=setting,
            clock=clock,
            state="running",
            counters={},
            cursor=dict(cursor or {}),
            created_at=now,
            updated_at=now,
            heartbeat_at=now,
        )
        with self._writing() as session:
            values = {column.key: getattr(search, column.key) for column in SearchRow.__table__.columns}
            insert_once(session, SearchRow, values)
        return search

    def get_search(self, prefix: str) -> Search:
        """The search whose identifier is, or begins with, `prefix`; NotFoundError, AmbiguousPrefixError."""
        with self._reading() as session:
            return to_record(Search, find_by_prefix(session, SearchRow, SearchRow.id, prefix, "search"))

    def find_search(
        self,
        *,
        model: str,
        device: str,
        count: int,
        scenario_hash: str,
        seed: int,
        setting: str,
        clock: str | None = None,
    ) -> Search | None:
        """The newest search with these settings, or None."""
        statement = select(SearchRow).where(
            SearchRow.model == model,
            SearchRow.device == device,
            SearchRow.count == count,
            SearchRow.scenario_hash == scenario_hash,
            SearchRow.seed == seed,
            SearchRow.setting == setting,
        )
        if clock is not None:
            statement = statement.where(SearchRow.clock == clock)
        with self._reading() as session:
            found = rows(session, statement.order_by(SearchRow.created_at.desc(), SearchRow.id).limit(1))
            return to_record(Search, found[0]) if found else None

    def list_searches(
        self,
        *,
        state: SearchState | None = None,
        model: str | None = None,
        before: Older | None = None,
        limit: int | None = None,
    ) -> tuple[Search, ...]:
        """Searches, newest first; a page continues `before` the last one's time and identifier."""
        statement = select(SearchRow).order_by(SearchRow.created_at.desc(), SearchRow.id).limit(limit)
        if state is not None:
            statement = statement.where(SearchRow.state == state)
        if model is not None:
            statement = statement.where(SearchRow.model == model)
        if before is not None:
            statement = statement.where(older(SearchRow.created_at, SearchRow.id, before))
        with self._reading() as session:
            return tuple(to_record(Search, row) for row in rows(session, statement))

    def resume_search(
        self, search_id: str, *, owner: str = "", stale_after_seconds: float = STALE_AFTER_SECONDS
    ) -> Search:
        """Take a search over and set it running; `cursor` says from where to continue.

        Raises SearchTakenError while another owner runs it and its heartbeat is fresh.
        """
        dead = SearchRow.heartbeat_at <= self._now() - timedelta(seconds=stale_after_seconds)
        free = (SearchRow.state != "running") | (SearchRow.owner == owner) | dead
        return self._change(search_id, free, owner=owner, state="running")

    def update_cursor(
        self,
        search_id: str,
        cursor: JsonObject,
        *,
        counters: Mapping[str, int] | None = None,
        owner: str = "",
    ) -> Search:
        """Save from where the search continues; belongs in the transaction of the round that led there."""
        values: dict[str, Any] = {"cursor": dict(cursor)}
        if counters is not None:
            values["counters"] = dict(counters)
        return self._change(search_id, SearchRow.owner == owner, **values)

    def heartbeat(self, search_id: str, *, owner: str = "") -> None:
        """Say that the owner is alive."""
        self._change(search_id, SearchRow.owner == owner)

    def finish_search(self, search_id: str, state: SearchState = "done", *, owner: str = "") -> Search:
        """Set the state in which the search rests: `done` or `interrupted`."""
        return self._change(search_id, SearchRow.owner == owner, state=state)

    def _change(self, search_id: str, allowed: ColumnElement[bool], **values: Any) -> Search:
        now = self._now()
        with self._writing() as session:
            known = find_by_prefix(session, SearchRow, SearchRow.id, search_id, "search").id
            statement = (
                update(SearchRow)
                .where(SearchRow.id == known, allowed)
                .values(updated_at=now, heartbeat_at=now, **values)
                .execution_options(synchronize_session=False)
            )
            changed = session.execute(statement.returning(SearchRow.id)).all()
            row = rows(session, select(SearchRow).where(SearchRow.id == known))[0]
            if not changed:
                raise SearchTakenError(
                    f"a search must be run by one process, but {known} is run by "
                    f"{row.owner or 'another one'} (heartbeat {row.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC); "
                    "stop that process or wait until it is dead"
                )
            return to_record(Search, row)
