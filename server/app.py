"""The application: routes, errors, limits, documentation; services start and stop with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute

from server import errors
from server.access.middleware import Access
from server.access.pages import router as sign_in
from server.api import router
from server.dashboard.routes import router as dashboard
from server.first import submit_first
from server.guard import Guard
from server.idempotency import Idempotency
from server.openapi import document
from server.pages import router as pages
from server.services import Services
from server.settings import Settings


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application of one server; its database is opened when it starts."""
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        services = await run_in_threadpool(Services.start, settings)
        app.state.services = services
        if settings.first_job:
            await run_in_threadpool(submit_first, services)
        try:
            yield
        finally:
            await run_in_threadpool(services.close)

    app = FastAPI(
        title="SEIS", version="1", lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url="/api/v1/openapi.json", separate_input_output_schemas=False, redirect_slashes=False,
    )  # fmt: skip
    app.state.settings = settings
    app.openapi = _document  # type: ignore[method-assign]
    app.router.routes.extend(_routes())
    errors.install(app)
    app.add_middleware(Idempotency, state=app.state)
    app.add_middleware(Access, state=app.state)
    app.add_middleware(Guard, state=app.state)
    return app


@cache
def _routes() -> tuple[BaseRoute, ...]:
    """Every route. FastAPI analyses the routes of a router anew, for most of a second, wherever it is
    included; these are analysed once for all applications of a process."""
    every = APIRouter()
    for part in (router(), pages, sign_in, dashboard):
        every.include_router(part)
    return tuple(every.routes)


@cache
def _document() -> dict[str, Any]:
    return document(_routes())
