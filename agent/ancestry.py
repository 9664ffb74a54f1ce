"""How each candidate of a search came about; other searches may have come to the same design otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import db


class Ancestry:
    """Steps between the candidates of one search."""

    def __init__(
        self, database: db.Repository, search_id: str, candidates: Mapping[str, db.Candidate] | None = None
    ) -> None:
        """`candidates` by their designs spare reading them, where they are at hand."""
        self._database = database
        if candidates is None:
            candidates = {c.design_hash: c for c in database.list_candidates(search_id)}
        self.candidates = candidates

    def step(self, design_hash: str) -> db.Lineage | None:
        """The step that made a candidate; None for one that grew from none."""
        candidate = self.candidates.get(design_hash)
        if candidate is None or candidate.parent_hash == "":
            return None
        steps = self._database.parents(design_hash)
        if candidate.parent_hash is not None:
            wanted = (candidate.parent_hash, candidate.rule)
            return next((s for s in steps if (s.parent_hash, s.rule) == wanted), None)
        older = [(self._sequence(s.parent_hash), s.rule, s) for s in steps]
        older = [o for o in older if 0 <= o[0] < candidate.sequence_number]
        return min(older, key=lambda o: o[:2])[2] if older else None

    def path(self, design_hash: str, most: int | None = None) -> list[db.Lineage]:
        """The steps from a design that grew from none to this one, in order; at most the last `most`."""
        found: list[db.Lineage] = []
        most = len(self.candidates) if most is None else most
        while len(found) < most and (step := self.step(design_hash)) is not None:
            found.append(step)
            design_hash = step.parent_hash
        return found[::-1]

    def _sequence(self, design_hash: str) -> int:
        candidate = self.candidates.get(design_hash)
        return -1 if candidate is None else candidate.sequence_number
