"""Designs: RoofLang text in and out, named by their content."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from db import Design
from server.api.common import (
    Cursor,
    Json,
    Limit,
    Page,
    Sha,
    Utc,
    decode,
    immutable,
    moment,
    page_of,
    problems,
)
from server.jobs.request import Config, Name, Strict
from server.names import model_name
from server.services import Here
from server.work.uploads import read_config, read_model, read_text

router = APIRouter(tags=["designs"])

Hash = Annotated[str, Path(pattern=Sha, description="A hash, or a unique beginning of at least 4 digits.")]


class DesignIn(Strict):
    """Exactly one of a text, a config.json and a catalogued model."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "llama-3.1-8b"}]})

    text: str | None = Field(None, min_length=1, max_length=1_000_000, description="RoofLang text.")
    config: Config | None = Field(None, description="A Hugging Face config.json.")
    model: Name | None = Field(None, description="A catalogued model.")
    name: Name | None = Field(None, description="What the model of a config is to be called.")
    kv: Literal["served", "bf16"] = "served"

    @model_validator(mode="after")
    def _one(self) -> DesignIn:
        if sum(v is not None for v in (self.text, self.config, self.model)) != 1:
            raise ValueError("exactly one of text, config and model must be given")
        return self


class DesignOut(BaseModel):
    """A stored design; `text` is left out of lists."""

    design_hash: str
    structure_hash: str
    model: str
    summary: str
    rule: str
    created_at: Utc
    href: str
    text: str | None = None
    assumptions: list[str] | None = Field(
        None, description="What a config.json left open, and how it was read."
    )


def shown(design: Design, text: bool = True) -> Json:
    """A design as JSON."""
    return {
        "design_hash": design.design_hash, "structure_hash": design.structure_hash, "model": design.model,
        "summary": design.summary, "rule": design.rule,
        "created_at": design.created_at.isoformat().replace("+00:00", "Z"),
        "href": f"/api/v1/designs/{design.design_hash}", "text": design.text if text else None,
        "assumptions": None,
    }  # fmt: skip


@router.post(
    "/designs", status_code=201, response_model=DesignOut,
    responses={200: {"model": DesignOut, "description": "It was stored already."},
               **problems("syntax", "design", "config", "unknown_name", "timed_out")},
)  # fmt: skip
async def store_design(body: DesignIn, here: Here, response: Response) -> Any:
    """Store a design; storing it again changes nothing."""
    if body.text is not None:
        found = await here.compute.run(read_text, body.text)
    elif body.config is not None:
        content = {"config": body.config, "name": body.name or "model", "kv": body.kv}
        found = await here.compute.run(read_config, content)
    else:
        found = await here.compute.run(read_model, {"model": model_name(body.model or ""), "kv": body.kv})
    design = Design(
        design_hash=found["design_hash"], structure_hash=found["structure_hash"], text=found["text"],
        model=found["name"], summary=found["name"],
    )  # fmt: skip
    if not here.database.save_design(design):
        response.status_code = 200
        design = here.database.get_design(design.design_hash)
    response.headers["Location"] = f"/api/v1/designs/{design.design_hash}"
    return {**shown(design), "assumptions": found["assumptions"]}


@router.get("/designs", responses=problems("invalid_cursor"))
def list_designs(
    here: Here,
    model: Annotated[str | None, Query(max_length=100, min_length=1)] = None,
    structure: Annotated[str | None, Query(pattern=r"^[0-9a-f]{64}$")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[DesignOut]:
    """Stored designs, newest first."""
    before = None
    if cursor is not None:
        when, name = decode(cursor, str, str)
        before = (moment(when), name)
    found = here.database.list_designs(model=model, structure_hash=structure, before=before, limit=limit + 1)
    page = page_of(
        found, limit, lambda d: shown(d, text=False), lambda d: (d.created_at.isoformat(), d.design_hash)
    )
    return Page[DesignOut](**page)


@router.get("/designs/{design_hash}", response_model=DesignOut, responses=problems("not_found", "ambiguous"))
def get_design(design_hash: Hash, here: Here, request: Request) -> Response:
    """One design with its text."""
    found = here.database.get_design(design_hash)
    return immutable(request, shown(found), seconds=86_400 if len(design_hash) == 64 else 0)


@router.get(
    "/designs/{design_hash}/text", response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "RoofLang."},
               **problems("not_found", "ambiguous")},
)  # fmt: skip
def get_design_text(design_hash: Hash, here: Here, request: Request) -> Response:
    """The RoofLang text alone."""
    found = here.database.get_design(design_hash)
    seconds = 86_400 if len(design_hash) == 64 else 0
    return immutable(request, found.text, "text/plain; charset=utf-8", seconds)
