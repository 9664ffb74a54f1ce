"""Events as they happen (server-sent events), with replay; and as a list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from db import Event
from server.api.common import Json, Limit, Page, Utc, encode, problems
from server.problems import Refusal
from server.services import Here, Services

router = APIRouter(tags=["events"])

POLL_SECONDS = 5.0
"""How often a reader looks by itself, should no announcement reach it."""
BATCH = 200

Subject = Annotated[str | None, Query(max_length=64, min_length=1, description="A job's identifier.")]
Number = Annotated[int | None, Query(ge=0, le=2**53, description="Events after this number.")]


class EventOut(BaseModel):
    """Something that happened."""

    number: int
    kind: str
    subject: str
    data: Json
    created_at: Utc


def _shown(e: Event) -> Json:
    return {
        "number": e.number, "kind": e.kind, "subject": e.subject, "data": dict(e.data),
        "created_at": e.created_at.isoformat().replace("+00:00", "Z"),
    }  # fmt: skip


@router.get("/events/log", responses=problems())
def list_events(
    here: Here, subject: Subject = None, after: Number = None, limit: Limit = 100
) -> Page[EventOut]:
    """Kept events in order; `after` continues."""
    found = here.database.list_events(after=after or 0, subject=subject, limit=limit + 1)
    more = encode(found[limit - 1].number) if len(found) > limit else None
    return Page[EventOut](items=[EventOut(**_shown(e)) for e in found[:limit]], next_cursor=more)


@router.get(
    "/events", response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}},
                     "description": "Events: `id` is the number, `event` the kind, `data` JSON."},
               **problems()},
)  # fmt: skip
async def follow_events(
    here: Here,
    subject: Subject = None,
    after: Number = None,
    limit: Annotated[int | None, Query(ge=1, le=10_000, description="End after so many.")] = None,
    seconds: Annotated[float, Query(gt=0, le=3600, description="End after so long.")] = 3600,
    last_event_id: Annotated[str | None, Header(max_length=20, pattern=r"^[0-9]{0,16}$")] = None,
) -> StreamingResponse:
    """Follow events. Without `after` or Last-Event-ID it begins with what happens from now on."""
    if last_event_id:
        if not last_event_id.isascii():
            raise Refusal("invalid", "Last-Event-ID must be a number; leave it out")
        start = int(last_event_id)
    elif after is not None:
        start = after
    else:
        start = await run_in_threadpool(here.database.last_event)
    return StreamingResponse(
        _stream(here, subject, start, limit, seconds), media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )  # fmt: skip


async def _stream(
    here: Services, subject: str | None, after: int, limit: int | None, seconds: float
) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    ear = here.bus.listen()
    sent = 0
    try:
        yield "retry: 2000\n\n"
        while not here.stopping:
            found = await run_in_threadpool(
                here.database.list_events, after=after, subject=subject, limit=BATCH
            )
            for event in found:
                after = event.number
                data = json.dumps(_shown(event), ensure_ascii=False)
                yield f"id: {event.number}\nevent: {event.kind}\ndata: {data}\n\n"
                sent += 1
                if limit is not None and sent >= limit:
                    return
            if len(found) == BATCH:
                continue
            left = until - loop.time()
            if left <= 0:
                return
            if not await ear.wait(min(POLL_SECONDS, left)):
                yield ": nothing new\n\n"
    finally:
        ear.close()
