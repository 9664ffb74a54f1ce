"""Every error of a route as problem details."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from server.dashboard.render import refused, wants_page
from server.methods import allowed
from server.problems import MEDIA_TYPE, Refusal, http_refusal, refusal_of

log = structlog.get_logger(__name__)


def install(app: FastAPI) -> None:
    """Answer every error of the routes."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _other)
    for kind in _known():
        app.add_exception_handler(kind, _other)


def _known() -> tuple[type[Exception], ...]:
    from agent.errors import SearchError
    from catalogue.errors import CatalogueError
    from db import DatabaseError
    from evaluator.errors import EvaluatorError
    from rooflang.errors import RoofLangError

    return (Refusal, SearchError, CatalogueError, DatabaseError, EvaluatorError, RoofLangError)


def answer(refusal: Refusal, request: Request) -> Response:
    """A refusal as a response: problem details, or a page where a browser asks for one."""
    if wants_page(request):
        return refused(request, refusal)
    return JSONResponse(
        refusal.document(request.url.path),
        refusal.status,
        headers=dict(refusal.headers),
        media_type=MEDIA_TYPE,
    )


async def _invalid(request: Request, error: Exception) -> Response:
    found: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
    errors = [
        {"field": ".".join(str(p) for p in e["loc"])[:200], "message": str(e["msg"])[:300]}
        for e in found[:20]
    ]
    if found and found[0]["loc"][0] == "path" and wants_page(request):
        code, detail = "not_found", f"a page must exist, but there is none at {request.url.path[:200]}"
    elif found and found[0]["type"] == "json_invalid":
        code, detail = "bad_request", "a request's body must be JSON, but this is not; correct it"
    else:
        first = errors[0] if errors else {"field": "request", "message": "is not as documented"}
        code = "invalid"
        said = f"{first['field']}: {first['message']}".replace("; ", ", ")
        detail = f"a request must be as documented, but {said}"
    return answer(Refusal(code, detail, {"errors": errors}), request)


async def _http(request: Request, error: Exception) -> Response:
    refusal = http_refusal(error)
    path = request.url.path[:200]
    if refusal.code == "not_found":
        refusal.detail = f"a resource must exist, but there is none at {path}"
    elif refusal.code == "method_not_allowed":
        refusal.detail = f"a method must be one that {path} has, but got {request.method}"
        methods = allowed(request.app, request.url.path)
        if methods:
            refusal.headers = {**refusal.headers, "Allow": ", ".join(methods)}
    return answer(refusal, request)


async def _other(request: Request, error: Exception) -> Response:
    refusal = refusal_of(error)
    if refusal is None:
        log.error("fault", path=request.url.path, exc_info=error)
        name = getattr(request.state, "request_id", "")
        refusal = Refusal("fault", f"a request must not cause a fault of SEIS, but this did; report {name}")
    return answer(refusal, request)
