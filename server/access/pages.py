"""Signing in and out with a browser: plain HTML, no scripts."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from db import Token, utc_now
from server.access import sessions
from server.access.tokens import check_token
from server.dashboard.render import page
from server.services import Here

router = APIRouter(include_in_schema=False)

Next = Annotated[str, Query(max_length=2000)]


@router.get("/login")
def login_page(request: Request, next: Next = "/", ended: bool = False) -> Response:
    """The form; `ended` says that there was a session."""
    return _page(request, next, ended=ended)


@router.post("/login")
async def login(request: Request, here: Here) -> Response:
    """Begin a session with the token of the form."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
    text, goal = fields.get("token", [""])[0].strip(), fields.get("next", ["/"])[0]

    def signed_in() -> str | None:
        now = utc_now()
        token: Token | None = check_token(here.database, text, now)
        if token is None:
            return None
        return sessions.begin(here.database, token, now, here.settings.session_hours)

    session = await run_in_threadpool(signed_in)
    if session is None:
        here.metrics.refused.inc()
        return _page(request, goal, "This token is not valid. It may have run out or been revoked.", 401)
    cookie = sessions.set_cookie(session, here.settings.session_hours, _secure(request, here))
    return Response(status_code=303, headers={"Location": local(goal), "Set-Cookie": cookie})


@router.post("/logout")
async def logout(request: Request, here: Here) -> Response:
    """End the session."""
    session = sessions.cookie_in(request.headers.get("cookie", "").encode("latin-1"))
    if session:
        await run_in_threadpool(sessions.end, here.database, session)
    cookie = sessions.set_cookie("", 0, _secure(request, here))
    return Response(status_code=303, headers={"Location": "/login", "Set-Cookie": cookie})


def local(place: str) -> str:
    """A path of this server; anything that could lead elsewhere leads to the start."""
    fine = place.startswith("/") and not place.startswith(("//", "/\\"))
    return place if fine and place.isprintable() and place.isascii() and "\\" not in place else "/"


def _secure(request: Request, here: Here) -> bool:
    return here.settings.https or request.url.scheme == "https"


def _page(request: Request, goal: str, problem: str = "", status: int = 200, ended: bool = False) -> Response:
    data = {"problem": problem, "goal": local(goal), "ended": ended}
    return page(request, "login.html", data, here="", title="Sign in", status=status)
