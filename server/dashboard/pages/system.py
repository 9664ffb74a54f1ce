"""Validation of the evaluator, and the settings of this server with its tokens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import SecretStr
from starlette.concurrency import run_in_threadpool

from agent.versions import evaluator_version, verifier_version
from db.revisions import HEAD
from server.access.routes import TokenIn, add_token
from server.access.routes import shown as token_json
from server.dashboard.desk import AtDesk, Desk
from server.dashboard.pages.common import fields, see
from server.dashboard.render import page, wants_json
from server.problems import Refusal
from server.settings import Settings
from server.work.models import validation

router = APIRouter()
TokenId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$")]


@router.get("/validation")
async def validation_page(request: Request, at: AtDesk) -> Response:
    """Published measurements against their bounds."""
    patience = 60.0 if wants_json(request) else 0.9
    found = await at.work(("validation", evaluator_version()), validation, None, patience)
    data = {"state": found.state, "result": found.value, "problem": found.problem}
    return page(
        request, "validation.html", data, here="validation", title="Validation",
        view={"pending": found.state == "pending"},
    )  # fmt: skip


@router.get("/settings")
async def settings_page(request: Request, at: AtDesk) -> Response:
    """How this server is set up, its versions, and its tokens; secrets are not shown."""
    data = await run_in_threadpool(_settings, at)
    return page(request, "settings.html", data, here="settings", title="Settings", view={"made": None})


@router.post("/settings/tokens")
async def make_token(request: Request, at: AtDesk) -> Response:
    """A new token, whose text is shown this once."""
    given = await fields(request)
    scope = given.get("scope", "read")
    try:
        days = float(given.get("days") or 90)
        asked = TokenIn.model_validate({"name": given.get("name", ""), "days": days, "scope": scope})
    except ValueError:
        raise Refusal(
            "invalid", "a token must have a name, a known scope and between 0 and 3650 days; correct the form"
        ) from None
    made = await run_in_threadpool(add_token, asked, at.services)
    data = await run_in_threadpool(_settings, at)
    return page(
        request, "settings.html", data, here="settings", title="Settings", view={"made": made}, status=201
    )


@router.post("/settings/tokens/{token_id}/revoke")
async def end_token(token_id: TokenId, request: Request, at: AtDesk) -> Response:
    """End a token and its sessions at once."""
    await run_in_threadpool(at.database.revoke_token, token_id)
    return see("/settings#tokens")


def _settings(at: Desk) -> dict[str, Any]:
    settings = at.services.settings
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        secret = isinstance(value, SecretStr)
        rows.append(
            {
                "name": f"SEIS_{name.upper()}", "value": "set, not shown" if secret else value,
                "default": None if secret else field.default, "secret": secret,
                "what": field.description or "",
            }
        )  # fmt: skip
    return {
        "settings": rows,
        "tokens": [token_json(t) for t in at.database.list_tokens()],
        "versions": {"evaluator": evaluator_version(), "verifier": verifier_version(), "database": HEAD},
        "coordinator": at.services.coordinator is not None and at.services.coordinator.alive,
        "counts": at.database.count_jobs(),
    }
