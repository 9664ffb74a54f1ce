"""Lineage: by which steps a design came to be, and what was made of it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel

from db import Lineage
from server.api.common import Json, Sha, problems
from server.services import Here

router = APIRouter(tags=["designs"])


class StepOut(BaseModel):
    """One step from a parent to a child."""

    parent: str
    child: str
    rule: str
    site: str
    parameters: Json


class LineageOut(BaseModel):
    """Steps that led to a design, nearest first, and steps that start from it."""

    design: str
    ancestors: list[StepOut]
    children: list[StepOut]


def _shown(step: Lineage) -> Json:
    return {
        "parent": step.parent_hash, "child": step.child_hash, "rule": step.rule, "site": step.site,
        "parameters": dict(step.parameters),
    }  # fmt: skip


@router.get("/lineage/{design_hash}", response_model=LineageOut, responses=problems("not_found", "ambiguous"))
def get_lineage(design_hash: Annotated[str, Path(pattern=Sha)], here: Here) -> Any:
    """The ancestors and children of a stored design."""
    name = here.database.get_design(design_hash).design_hash
    return {
        "design": name,
        "ancestors": [_shown(s) for s in here.database.lineage(name)],
        "children": [_shown(s) for s in here.database.children(name)],
    }
