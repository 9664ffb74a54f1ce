"""Designs, and the lineage that led to each."""

from __future__ import annotations

from sqlalchemy import select

from db.records import Design, Lineage
from db.repositories.store import (
    Older,
    Store,
    find_by_prefix,
    from_record,
    insert_once,
    older,
    rows,
    to_record,
)
from db.schema import DesignRow, LineageRow


class Designs(Store):
    """Designs by hash; saving one again changes nothing."""

    def save_design(self, design: Design) -> bool:
        """Save a design; True if it was new."""
        with self._writing() as session:
            return insert_once(session, DesignRow, from_record(design))

    def get_design(self, prefix: str) -> Design:
        """The design whose hash is, or begins with, `prefix`; NotFoundError, AmbiguousPrefixError."""
        with self._reading() as session:
            return to_record(
                Design, find_by_prefix(session, DesignRow, DesignRow.design_hash, prefix, "design")
            )

    def find_design(self, design_hash: str) -> Design | None:
        """The design of exactly this hash, or None."""
        with self._reading() as session:
            found = rows(session, select(DesignRow).where(DesignRow.design_hash == design_hash))
            return to_record(Design, found[0]) if found else None

    def list_designs(
        self,
        *,
        model: str | None = None,
        structure_hash: str | None = None,
        before: Older | None = None,
        limit: int | None = None,
    ) -> tuple[Design, ...]:
        """Designs, newest first; a page continues `before` the last one's time and hash."""
        statement = (
            select(DesignRow).order_by(DesignRow.created_at.desc(), DesignRow.design_hash).limit(limit)
        )
        if model is not None:
            statement = statement.where(DesignRow.model == model)
        if structure_hash is not None:
            statement = statement.where(DesignRow.structure_hash == structure_hash)
        if before is not None:
            statement = statement.where(older(DesignRow.created_at, DesignRow.design_hash, before))
        with self._reading() as session:
            return tuple(to_record(Design, row) for row in rows(session, statement))

    def save_lineage(self, step: Lineage) -> bool:
        """Save one step between two saved designs; True if it was new."""
        with self._writing() as session:
            return insert_once(session, LineageRow, from_record(step))

    def lineage(self, design_hash: str) -> tuple[Lineage, ...]:
        """Every step that led to a design, nearest first; a step back to a design already met ends there."""
        steps: list[Lineage] = []
        met = {design_hash}
        generation = [design_hash]
        with self._reading() as session:
            while generation:
                statement = (
                    select(LineageRow)
                    .where(LineageRow.child_hash.in_(generation))
                    .order_by(LineageRow.child_hash, LineageRow.parent_hash, LineageRow.rule)
                )
                found = [to_record(Lineage, row) for row in rows(session, statement)]
                steps.extend(found)
                generation = sorted({step.parent_hash for step in found} - met)
                met.update(generation)
        return tuple(steps)

    def parents(self, design_hash: str) -> tuple[Lineage, ...]:
        """The steps that end at a design."""
        statement = (
            select(LineageRow)
            .where(LineageRow.child_hash == design_hash)
            .order_by(LineageRow.parent_hash, LineageRow.rule)
        )
        with self._reading() as session:
            return tuple(to_record(Lineage, row) for row in rows(session, statement))

    def children(self, design_hash: str) -> tuple[Lineage, ...]:
        """The steps that start from a design."""
        statement = (
            select(LineageRow)
            .where(LineageRow.parent_hash == design_hash)
            .order_by(LineageRow.child_hash, LineageRow.rule)
        )
        with self._reading() as session:
            return tuple(to_record(Lineage, row) for row in rows(session, statement))
