"""Health, metrics and version."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from agent.versions import evaluator_version, verifier_version
from db import HEAD
from server.api.common import problems
from server.problems import Refusal
from server.services import Here

router = APIRouter(tags=["health"])


class Live(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class Ready(BaseModel):
    """The service can work."""

    status: Literal["ok"]
    database: Annotated[str, Field(description="The revision of its tables.")]
    coordinator: Annotated[bool, Field(description="Whether this server runs jobs.")]


class Version(BaseModel):
    """What produces results."""

    evaluator: str
    verifier: str
    database: str


@router.get("/health/live", response_model=Live)
def live() -> Live:
    """Whether the process answers."""
    return Live(status="ok")


@router.get("/health/ready", response_model=Ready, responses=problems("database", "overloaded"))
def ready(here: Here) -> Ready:
    """Whether the database answers and the coordinator, if there is one, is alive."""
    here.database.count_jobs()
    if here.scheduler is not None and here.scheduler.trouble:
        raise Refusal("database", here.scheduler.trouble, headers={"Retry-After": "5"})
    coordinator = here.coordinator
    if here.stopping or (coordinator is not None and not coordinator.alive):
        raise Refusal(
            "overloaded", "a server must run to be ready, but this one is stopping; ask another one"
        )
    return Ready(status="ok", database=HEAD, coordinator=coordinator is not None)


@router.get("/version", response_model=Version)
def version() -> Version:
    """Digests of what evaluates and verifies: results of different ones are not mixed."""
    return Version(evaluator=evaluator_version(), verifier=verifier_version(), database=HEAD)


@router.get(
    "/metrics", response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Metrics."}},
)  # fmt: skip
def metrics(here: Here) -> Response:
    """Metrics in Prometheus' text format."""
    return Response(here.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
