"""Exchanges of a search with the world outside, by their number; their texts are stored once each.

What an exchange says is JSON that the database does not read. It never holds a key.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import delete, func, select

from db.records import Exchange
from db.repositories.store import Store, insert_once
from db.schema import ExchangeContentRow, ExchangeRow


class Exchanges(Store):
    """The record of a search: what it asked and what it was told, in order."""

    def record_exchange(self, search_id: str, number: int, kind: str, request: str, answer: str) -> None:
        """Append one exchange. Raises ConflictError if the search already has one of that number."""
        with self._writing() as session:
            for text in (request, answer):
                values = {"content_hash": _digest(text), "text": text}
                insert_once(session, ExchangeContentRow, values)
            session.add(
                ExchangeRow(
                    search_id=search_id,
                    number=number,
                    kind=kind,
                    request_hash=_digest(request),
                    answer_hash=_digest(answer),
                    created_at=self._now(),
                )
            )
            session.flush()

    def find_exchange(self, search_id: str, number: int) -> Exchange | None:
        """One exchange by its number, or None."""
        found = self._exchanges(search_id, number, 1)
        return found[0] if found and found[0].number == number else None

    def list_exchanges(self, search_id: str) -> tuple[Exchange, ...]:
        """Every exchange of a search, in order."""
        return self._exchanges(search_id, 0, None)

    def next_exchange(self, search_id: str) -> int:
        """The number after the last exchange of a search."""
        with self._reading() as session:
            found = session.scalar(
                select(func.max(ExchangeRow.number)).where(ExchangeRow.search_id == search_id)
            )
        return 0 if found is None else found + 1

    def forget_exchanges(self, search_id: str, first: int) -> None:
        """Remove the exchanges of a search from a number on."""
        with self._writing() as session:
            session.execute(
                delete(ExchangeRow).where(ExchangeRow.search_id == search_id, ExchangeRow.number >= first)
            )

    def _exchanges(self, search_id: str, first: int, limit: int | None) -> tuple[Exchange, ...]:
        statement = (
            select(ExchangeRow)
            .where(ExchangeRow.search_id == search_id, ExchangeRow.number >= first)
            .order_by(ExchangeRow.number)
            .limit(limit)
        )
        with self._reading() as session:
            texts: dict[str, str] = {}
            found = session.scalars(statement).all()
            for row in found:
                for name in (row.request_hash, row.answer_hash):
                    if name not in texts:
                        texts[name] = session.scalars(
                            select(ExchangeContentRow.text).where(ExchangeContentRow.content_hash == name)
                        ).one()
            return tuple(
                Exchange(
                    search_id=row.search_id,
                    number=row.number,
                    kind=row.kind,
                    request=texts[row.request_hash],
                    answer=texts[row.answer_hash],
                    request_hash=row.request_hash,
                    created_at=row.created_at,
                )
                for row in found
            )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
