"""From data to an answer: a page for people, or the same data as JSON (`?format=json`, or by Accept)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

import server.dashboard.drawings as drawings
from server.dashboard import flow, static
from server.dashboard.words import FILTERS
from server.problems import Refusal

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store", "Vary": "Accept"}

NAVIGATION = (
    ("/", "Overview", "overview"),
    ("/jobs", "Jobs", "jobs"),
    ("/discoveries", "Discoveries", "discoveries"),
    ("/compare", "Compare", "compare"),
    ("/gap", "Gap", "gap"),
    ("/models", "Models", "models"),
    ("/devices", "Devices", "devices"),
    ("/schedules", "Schedules", "schedules"),
    ("/reports", "Reports", "reports"),
    ("/validation", "Validation", "validation"),
    ("/settings", "Settings", "settings"),
)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Templates; everything that they show is escaped."""
    found = Environment(
        loader=PackageLoader("server.dashboard"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.filters.update(FILTERS)
    found.globals.update({"drawings": drawings, "flow": flow, "navigation": NAVIGATION})
    return found


def wants_json(request: Request) -> bool:
    """Whether the caller asks for the twin."""
    wanted = request.query_params.get("format")
    if wanted:
        return wanted == "json"
    accept = request.headers.get("accept", "")
    return "application/json" in accept and "text/html" not in accept


def page(
    request: Request,
    template: str,
    data: Mapping[str, Any],
    *,
    here: str,
    title: str,
    status: int = 200,
    view: Mapping[str, Any] | None = None,
) -> Response:
    """The page, or its data as JSON; `view` is what only the page needs. `part` asks for its middle alone."""
    if wants_json(request):
        return JSONResponse(jsonable_encoder(dict(data)), status, headers={"Vary": "Accept"})
    kept = [(k, v) for k, v in request.query_params.multi_items() if k not in ("format", "part")]
    context = {
        **data,
        **(view or {}),
        "here": here,
        "title": title,
        "csrf": getattr(request.state, "csrf", ""),
        "base": f"/static/{static.version()}",
        "twin": f"{request.url.path}?{urlencode([*kept, ('format', 'json')])}",
        "path": request.url.path,
        "query": dict(request.query_params),
        "partial": request.query_params.get("part") == "live",
        "address": address(request),
    }
    body = environment().get_template(template).render(context)
    return Response(body, status, headers=HEADERS, media_type="text/html; charset=utf-8")


def address(request: Request) -> Any:
    """A function that gives the address of this page with some parameters changed; None takes one away."""

    def changed(**values: Any) -> str:
        found = {k: v for k, v in request.query_params.items() if k not in ("format", "part")}
        for name, value in values.items():
            found.pop(name, None)
            if value is not None:
                found[name] = str(value)
        return request.url.path + ("?" + urlencode(found) if found else "")

    return changed


def wants_page(request: Request) -> bool:
    """Whether a refusal is to be a page: a browser asks for one, and not for the API."""
    accept = request.headers.get("accept", "")
    return "text/html" in accept and not wants_json(request) and not request.url.path.startswith("/api/")


def refused(request: Request, refusal: Refusal) -> Response:
    """A refusal as a page, with what to do."""
    problem = refusal.document(request.url.path)
    folder = "/" + request.url.path.split("/")[1]
    here = next((key for place, _, key in NAVIGATION if place == folder), "")
    found = page(
        request, "refusal.html", {"problem": problem}, here=here, title=problem["title"],
        status=refusal.status,
        view={"name": getattr(request.state, "request_id", ""), "goal": _goal(request)},
    )  # fmt: skip
    found.headers.update(refusal.headers)
    return found


def _goal(request: Request) -> str:
    """Where to go on after signing in: the page that was asked for, or the one that a form was on."""
    if request.method == "GET":
        return request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return "/"
