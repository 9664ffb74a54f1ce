"""The kinds of problems that any request may be answered with."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from server.api.common import problems
from server.problems import KINDS, Refusal

router = APIRouter(tags=["problems"])


class KindOut(BaseModel):
    """A kind of problem; its code never changes."""

    code: str
    status: int
    title: str
    what_to_do: str


@router.get("/problems")
def list_problems() -> list[KindOut]:
    """Every code."""
    return [_shown(code) for code in sorted(KINDS)]


@router.get("/problems/{code}", responses=problems("not_found"))
def get_problem(code: Annotated[str, Path(pattern=r"^[a-z_]{1,40}$")]) -> KindOut:
    """One code."""
    if code not in KINDS:
        raise Refusal("not_found", f"a code must exist, but there is none {code!r}; list the problems")
    return _shown(code)


def _shown(code: str) -> KindOut:
    kind = KINDS[code]
    return KindOut(code=code, status=kind.status, title=kind.title, what_to_do=kind.what_to_do)
