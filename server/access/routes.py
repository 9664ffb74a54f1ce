"""Tokens over the API; the scope admin is needed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, field_validator

from db import Token, utc_now
from server.access.tokens import create_token, is_live
from server.api.common import Json, Page, Utc, problems
from server.jobs.request import Strict
from server.services import Here

router = APIRouter(tags=["tokens"])

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="A token's identifier.")]


class TokenIn(Strict):
    """A new token."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "ci", "scope": "submit", "days": 90}]})

    name: str = Field(min_length=1, max_length=100, description="Whose it is, or what for.")
    scope: Literal["read", "submit", "admin"] = "read"
    days: float | None = Field(90, gt=0, le=3650, description="After which it ends; null for never.")

    @field_validator("name")
    @classmethod
    def _visible(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("must be visible text on one line")
        return value.strip()


class TokenOut(BaseModel):
    """A token without its text."""

    id: str
    name: str
    scope: Literal["read", "submit", "admin"]
    valid: bool
    created_at: Utc
    expires_at: Utc | None
    revoked_at: Utc | None
    used_at: Utc | None


class NewTokenOut(TokenOut):
    """A token with its text, which is shown this once."""

    token: str


def shown(token: Token) -> Json:
    """A token as JSON; its hash stays here."""
    return {
        "id": token.id, "name": token.name, "scope": token.scope, "valid": is_live(token, utc_now()),
        "created_at": token.created_at, "expires_at": token.expires_at, "revoked_at": token.revoked_at,
        "used_at": token.used_at,
    }  # fmt: skip


@router.get("/tokens", responses=problems("unauthorized", "forbidden"))
def list_tokens(here: Here) -> Page[TokenOut]:
    """Every token, the oldest first."""
    return Page[TokenOut](items=[TokenOut(**shown(t)) for t in here.database.list_tokens()])


@router.post(
    "/tokens", status_code=201, response_model=NewTokenOut, responses=problems("unauthorized", "forbidden")
)
def add_token(body: TokenIn, here: Here) -> Any:
    """Make a token; keep its text, for it is not shown again."""
    token, text = create_token(here.database, body.name, body.scope, utc_now(), body.days)
    return {**shown(token), "token": text}


@router.delete(
    "/tokens/{token_id}", response_model=TokenOut,
    responses=problems("not_found", "unauthorized", "forbidden"),
)  # fmt: skip
def revoke_token(token_id: Id, here: Here) -> Any:
    """End a token and its sessions at once."""
    return shown(here.database.revoke_token(token_id))
