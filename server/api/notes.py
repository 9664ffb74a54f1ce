"""Notes: what people, searches and language models wrote down for later searches."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from agent.memory.notes import LONGEST, StoredNotes
from db import Note
from server.api.common import Cursor, Json, Limit, Page, Sha, Utc, decode, encode, problems
from server.jobs.request import Name, Strict
from server.names import model_name
from server.problems import Refusal
from server.services import Here

router = APIRouter(tags=["notes"])

Tag = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[a-z0-9][a-z0-9 ._-]*$")]


class NoteIn(Strict):
    """Free text with tags, about a model or about everything."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": "All-to-all dominates beyond 32 devices.", "tags": ["links"]}]
        }
    )

    text: str = Field(min_length=1, max_length=LONGEST, pattern=r"\S")
    tags: list[Tag] = Field([], max_length=20)
    model: Name | None = Field(None, description="A catalogued model.")


class NoteOut(BaseModel):
    """A note; `search` is the one that it is about, if there is one."""

    id: str
    text: str
    author: str
    tags: list[str]
    model: str
    search: str
    created_at: Utc
    href: str


def _shown(note: Note) -> Json:
    return {
        "id": note.note_id, "text": note.text, "author": note.author, "tags": list(note.tags),
        "model": note.model, "search": note.search_id, "created_at": note.created_at,
        "href": f"/api/v1/notes/{note.note_id}",
    }  # fmt: skip


@router.post("/notes", status_code=201, response_model=NoteOut, responses=problems("unknown_name"))
def write_note(body: NoteIn, here: Here, response: Response) -> Any:
    """Keep a note; the same one written twice is one note."""
    model = "" if body.model is None else model_name(body.model)
    note = StoredNotes(here.database, author="person", model=model).write(body.text, body.tags)
    response.headers["Location"] = f"/api/v1/notes/{note.note_id}"
    return _shown(here.database.get_note(note.note_id))


@router.get("/notes", responses=problems("invalid_cursor"))
def list_notes(
    here: Here,
    author: Annotated[Literal["person", "llm", "search"] | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[NoteOut]:
    """Notes, newest first."""
    (start,) = (0,) if cursor is None else decode(cursor, int)
    if not 0 <= start < 2**31:
        raise Refusal("invalid_cursor", "a cursor must come from the page before; leave it out")
    found = here.database.list_notes(author=author, limit=start + limit + 1)[start:]
    more = encode(start + limit) if len(found) > limit else None
    return Page[NoteOut](items=[NoteOut(**_shown(n)) for n in found[:limit]], next_cursor=more)


@router.get("/notes/{note_id}", response_model=NoteOut, responses=problems("not_found", "ambiguous"))
def get_note(note_id: Annotated[str, Path(pattern=Sha)], here: Here) -> Any:
    """One note."""
    return _shown(here.database.get_note(note_id))
