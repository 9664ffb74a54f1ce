"""Where a design came from and what was made of it, as its page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from agent.ancestry import Ancestry
from db import Candidate, Database
from mutations.registry import rules

MOST_STEPS, MOST_CHILDREN = 40, 12
"""Steps and children that a page shows."""


def lineage(database: Database, search_id: str, name: str, accepted: Sequence[Candidate]) -> dict[str, Any]:
    """The last steps from a conventional design, and the first designs that were made of this one.

    `accepted` are the search's candidates that were; a design that was not is looked up with all others.
    """
    known = {c.design_hash: c for c in accepted}
    ancestry = Ancestry(database, search_id, known if name in known else None)
    path = ancestry.path(name, MOST_STEPS + 1)
    children = database.children(name)
    return {
        "steps": [_step(database, s) for s in path[-MOST_STEPS:]],
        "more_steps": len(path) > MOST_STEPS,
        "children": [{"structure": c.child_hash, "rule": c.rule} for c in children[:MOST_CHILDREN]],
        "more_children": max(0, len(children) - MOST_CHILDREN),
    }


def _step(database: Database, step: Any) -> dict[str, Any]:
    known = _rewrites()
    return {
        "parent": step.parent_hash, "child": step.child_hash, "rule": step.rule,
        "parent_summary": database.get_design(step.parent_hash).summary,
        "prediction": step.parameters.get("prediction", ""),
        "changes": [
            {"rule": p["rule"], "site": p["site"], "rewrites": known.get(p["rule"], "")}
            for p in step.parameters.get("steps", ())
        ],
    }  # fmt: skip


@lru_cache(maxsize=1)
def _rewrites() -> dict[str, str]:
    return {r.name: r.documentation.rewrites for r in rules()}
