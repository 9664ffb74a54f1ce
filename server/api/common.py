"""What the resources share: pages, tags of immutable answers, and documented problems."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any, Generic, TypeVar

from fastapi import HTTPException, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer

from server.methods import allowed
from server.problems import KINDS, MEDIA_TYPE, Refusal

Item = TypeVar("Item")
Json = dict[str, Any]

Limit = Annotated[int, Query(ge=1, le=200, description="Items of a page.")]
Cursor = Annotated[
    str | None,
    Query(max_length=400, min_length=1, description="`next_cursor` of the page before; first page without."),
]
Sha = r"^[0-9a-f]{4,64}$"
Utc = Annotated[
    datetime,
    BeforeValidator(lambda v: v.astimezone(UTC) if isinstance(v, datetime) else v),
    PlainSerializer(lambda v: v.astimezone(UTC).isoformat().replace("+00:00", "Z"), when_used="json"),
]


class Page(BaseModel, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: str | None = Field(None, description="Where the next page begins; null on the last one.")


class ProblemOut(BaseModel):
    """Problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    what_to_do: str
    instance: str | None = None
    errors: list[Json] | None = None


def problems(*codes: str) -> dict[int | str, Json]:
    """Documentation of the problems that a route may answer with."""
    every = (*codes, "bad_request", "invalid", "busy", "fault", "too_many_requests")
    found: dict[int | str, Json] = {}
    for code in every:
        kind = KINDS[code]
        entry = found.setdefault(
            kind.status, {"description": "", "model": ProblemOut, "content": {MEDIA_TYPE: {}}}
        )
        entry["description"] = ", ".join(filter(None, (entry["description"], f"`{code}`")))
    return found


def encode(*key: Any) -> str:
    """An opaque cursor."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """The key of a cursor. Raises Refusal for anything that is none."""
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if isinstance(key, list) and [type(k) for k in key] == list(kinds):
            return tuple(key)
    except (ValueError, TypeError, RecursionError):
        pass
    raise Refusal(
        "invalid_cursor", "a cursor must come from the page before; take its next_cursor, or leave it out"
    )


def moment(text: str) -> datetime:
    """A time from a cursor."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal("invalid_cursor", "a cursor must come from the page before; leave it out") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def sliced(items: Sequence[Item], cursor: str | None, limit: int, key: Callable[[Item], str]) -> Json:
    """A page of a sorted list that is held in memory."""
    rest = items
    if cursor is not None:
        (after,) = decode(cursor, str)
        rest = [i for i in items if key(i) > after]
    page = list(rest[:limit])
    return {"items": page, "next_cursor": encode(key(page[-1])) if len(rest) > limit else None}


def page_of(
    found: Sequence[Item], limit: int, shown: Callable[[Item], Json], key: Callable[[Item], Any]
) -> Json:
    """A page from one item more than it may have."""
    page = found[:limit]
    more = len(found) > limit
    return {"items": [shown(i) for i in page], "next_cursor": encode(*key(page[-1])) if more else None}


def immutable(
    request: Request, body: Any, media_type: str = "application/json", seconds: int = 86_400
) -> Response:
    """An answer that never changes under its address, with its tag; 304 where the caller has it."""
    content = body.encode() if isinstance(body, str) else json.dumps(body, ensure_ascii=False).encode()
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {
        "ETag": tag,
        "Cache-Control": f"private, max-age={seconds}, immutable" if seconds else "no-cache",
    }
    given = request.headers.get("if-none-match", "")
    if given == "*" or tag in (t.strip().removeprefix("W/") for t in given.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def no_other_parameters(request: Request) -> None:
    """Refuse query parameters that the route does not know, since a misspelt filter would filter nothing."""
    methods = allowed(request.app, request.url.path)
    if methods and request.method not in methods:  # a template matches the path of another resource
        raise HTTPException(405)
    known = known_parameters(request.scope["route"].dependant)
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        raise Refusal(
            "invalid",
            f"query parameters must be known to this resource, but got {', '.join(unknown)[:200]}; "
            f"use {', '.join(sorted(known)) or 'none'}",
            {"errors": [{"field": f"query.{name}", "message": "unknown parameter"} for name in unknown]},
        )
    twice = sorted({k for k in request.query_params if len(request.query_params.getlist(k)) > 1})
    if twice:
        raise Refusal(
            "invalid", "a query parameter must be given once, but one was given more often; choose one value",
            {"errors": [{"field": f"query.{name}", "message": "given more than once"} for name in twice]},
        )  # fmt: skip


def known_parameters(dependant: Any) -> set[str]:
    """Names of query parameters of a route and all that it depends on."""
    found = {p.alias for p in dependant.query_params}
    for inner in dependant.dependencies:
        found |= known_parameters(inner)
    return found
