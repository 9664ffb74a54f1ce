"""What calls of language models cost, and what their endpoints can do.

A call is entered at its worst before it is made and corrected when it has ended: a process that dies in
between leaves the worst, so no budget is ever exceeded.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from sqlalchemy import case, func, insert, select, update

from db.records import JsonObject, ModelSpending
from db.repositories.store import Store
from db.schema import ModelCallRow, ModelEndpointRow

_PENDING = "pending"


class ModelCalls(Store):
    """Calls and endpoints of language models."""

    def begin_call(
        self,
        search_id: str,
        endpoint: str,
        model: str,
        *,
        prompt_tokens: int,
        output_tokens: int,
        cost: float | None,
        seconds: float = 0.0,
    ) -> int:
        """Enter a call at its worst; returns its number."""
        values = {
            "search_id": search_id, "endpoint": endpoint, "model": model, "outcome": _PENDING,
            "prompt_tokens": prompt_tokens, "output_tokens": output_tokens, "reasoning_tokens": 0,
            "cost": cost, "seconds": seconds, "created_at": self._now(),
        }  # fmt: skip
        with self._writing() as session:
            return session.execute(insert(ModelCallRow).returning(ModelCallRow.number), values).scalar_one()

    def end_call(
        self,
        number: int,
        outcome: str,
        *,
        prompt_tokens: int,
        output_tokens: int,
        reasoning_tokens: int,
        cost: float | None,
        seconds: float = 0.0,
    ) -> None:
        """Correct a call to what it was."""
        with self._writing() as session:
            session.execute(
                update(ModelCallRow)
                .where(ModelCallRow.number == number)
                .values(
                    outcome=outcome,
                    prompt_tokens=prompt_tokens,
                    output_tokens=output_tokens,
                    reasoning_tokens=reasoning_tokens,
                    cost=cost,
                    seconds=seconds,
                )
            )

    def model_spending(self, *, search_id: str | None = None, since: datetime | None = None) -> ModelSpending:
        """The sums over the calls of a search, or over those of every search since a time."""
        row = ModelCallRow
        statement = select(
            func.count(),
            func.coalesce(func.sum(row.prompt_tokens), 0),
            func.coalesce(func.sum(row.output_tokens), 0),
            func.coalesce(func.sum(row.reasoning_tokens), 0),
            func.coalesce(func.sum(row.cost), 0.0),
            func.coalesce(func.sum(row.seconds), 0.0),
            func.coalesce(func.sum(case((row.cost.is_(None), 1), else_=0)), 0),
        )
        if search_id is not None:
            statement = statement.where(row.search_id == search_id)
        if since is not None:
            statement = statement.where(row.created_at >= since)
        with self._reading() as session:
            calls, prompt, output, reasoning, cost, seconds, unpriced = session.execute(statement).one()
        return ModelSpending(
            calls=int(calls),
            prompt_tokens=int(prompt),
            output_tokens=int(output),
            reasoning_tokens=int(reasoning),
            cost=float(cost),
            seconds=float(seconds),
            unpriced_calls=int(unpriced),
        )

    def save_capabilities(self, endpoint: str, model: str, capabilities: JsonObject) -> None:
        """Remember what a model at an endpoint can do, in place of what was known before."""
        key, now = _key(endpoint, model), self._now()
        with self._writing() as session:
            found = session.get(ModelEndpointRow, key)
            if found is None:
                session.add(
                    ModelEndpointRow(
                        key=key,
                        endpoint=endpoint,
                        model=model,
                        capabilities=dict(capabilities),
                        updated_at=now,
                    )
                )
            else:
                found.capabilities, found.updated_at = dict(capabilities), now
            session.flush()

    def find_capabilities(self, endpoint: str, model: str) -> JsonObject | None:
        """What a model at an endpoint can do, if that is known."""
        with self._reading() as session:
            found = session.get(ModelEndpointRow, _key(endpoint, model))
            return dict(found.capabilities) if found is not None else None


def _key(endpoint: str, model: str) -> str:
    return hashlib.sha256(f"{endpoint}\0{model}".encode()).hexdigest()
