"""Evaluations: a design at one operating point or its frontier; and what searches have stored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator

from server.api.common import Cursor, Json, Limit, Page, Sha, Utc, decode, encode, problems
from server.jobs.request import Name, ScenarioIn, Strict
from server.names import device_name
from server.problems import Refusal
from server.services import Here
from server.work.evaluations import run

router = APIRouter(tags=["evaluations"])

Axis = Annotated[str, Field(min_length=1, max_length=60)]
Size = Annotated[int, Field(ge=1, le=65_536)]


class PointIn(Strict):
    """One operating point."""

    batch: int = Field(64, ge=1, le=2**40, description="Sequences in flight over all replicas.")
    replicas: int = Field(1, ge=1, le=65_536, description="Copies of the design.")
    axes: dict[Axis, Size] = Field({}, max_length=8, description="Sizes of mesh axes; the design's own.")
    microbatches: int | None = Field(None, ge=1, le=4096)
    drafted: int = Field(0, ge=0, le=8, description="Tokens drafted per step.")


class EvaluationIn(Strict):
    """A design by its hash or text."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": "$PLACED", "device": "h100-sxm", "count": 8, "point": {"batch": 64}}]
        }
    )

    design: str | None = Field(None, pattern=Sha, description="A stored design's hash.")
    text: str | None = Field(None, min_length=1, max_length=1_000_000, description="RoofLang text.")
    device: Name = "b300-sxm"
    count: int = Field(8, ge=1, le=65_536, description="Devices of the cluster, for a frontier.")
    scenario: ScenarioIn = ScenarioIn()
    setting: Literal["achievable", "physical"] = "achievable"
    clock: Literal["limit", "overlapped", "serial"] = "overlapped"
    point: PointIn | None = Field(None, description="Where to evaluate it; without, its frontier is swept.")

    @model_validator(mode="after")
    def _one(self) -> EvaluationIn:
        if (self.design is None) == (self.text is None):
            raise ValueError("exactly one of design and text must be given")
        if self.point is not None and self.point.batch < self.point.replicas:
            raise ValueError("batch must be at least replicas")
        return self


class EvaluationOut(BaseModel):
    """Either a point or a frontier; times in seconds, rates per second, sizes in bytes per device."""

    design: str
    device: str
    count: int
    context_tokens: int
    setting: str
    clock: str
    point: Json | None
    frontier: list[Json] | None


class StoredOut(BaseModel):
    """A frontier that a search has stored."""

    design: str
    scenario_hash: str
    device_hash: str
    evaluator_version: str
    setting: str
    clock: str
    seconds: float
    created_at: Utc
    points: list[Json]


@router.post(
    "/evaluations", response_model=EvaluationOut,
    responses=problems("not_found", "ambiguous", "syntax", "timed_out", "overloaded"),
)  # fmt: skip
async def evaluate(body: EvaluationIn, here: Here) -> Any:
    """Evaluate a design now. What takes longer than the server allows is refused as timed_out."""
    s = body.scenario.scenario()
    order = {
        "text": body.text if body.text is not None else here.database.get_design(body.design or "").text,
        "device": device_name(body.device), "count": body.count,
        "scenario": (s.context, s.acceptance, s.routing), "setting": body.setting, "clock": body.clock,
        "point": None if body.point is None else body.point.model_dump(),
    }  # fmt: skip
    return await here.compute.run(run, order)


@router.get("/evaluations", responses=problems("invalid_cursor", "not_found", "ambiguous"))
def list_evaluations(
    here: Here,
    design: Annotated[str, Query(pattern=Sha, description="The design's hash.")],
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Page[StoredOut]:
    """Stored frontiers of a design, under all conditions."""
    name = here.database.get_design(design).design_hash
    found = here.database.evaluations_of(name)
    (start,) = (0,) if cursor is None else decode(cursor, int)
    if start < 0:
        raise Refusal("invalid_cursor", "a cursor must come from the page before; leave it out")
    page = found[start : start + limit]
    items = [
        {
            "design": e.design_hash, "scenario_hash": e.conditions.scenario_hash,
            "device_hash": e.conditions.device_hash, "evaluator_version": e.conditions.evaluator_version,
            "setting": e.conditions.setting, "clock": e.conditions.clock, "seconds": e.seconds,
            "created_at": e.created_at, "points": [dict(p) for p in e.points],
        }
        for e in page
    ]  # fmt: skip
    more = start + limit < len(found)
    return Page[StoredOut](items=items, next_cursor=encode(start + limit) if more else None)
