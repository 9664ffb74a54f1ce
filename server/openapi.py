"""The OpenAPI document: FastAPI's, with one form of problems and the conventions of every route."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from server.examples import filled
from server.problems import MEDIA_TYPE

ABOUT = """Searches for better ways to run large language models.

Times are UTC in ISO 8601; units stand in the names of fields. Lists are pages: `next_cursor` of one is the
`cursor` of the next. A POST may carry an `Idempotency-Key` and can then be sent again safely. What never
changes has an `ETag`. Every refusal is a problem document (RFC 9457) with a stable `code` and `what_to_do`;
`/api/v1/problems` lists the codes. Long work is accepted with 202 and a `Location` to follow."""

_METHODS = ("get", "post", "put", "delete", "patch")


def document(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The document of all routes."""
    made = get_openapi(title="SEIS", version="1", description=ABOUT, routes=routes)
    for path in made["paths"].values():
        for method in _METHODS:
            if method in path:
                _operation(path[method], method)
    for name in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(name, None)
    found: dict[str, Any] = filled(made)
    return found


def _operation(operation: dict[str, Any], method: str) -> None:
    for status, response in operation["responses"].items():
        content = response.get("content", {})
        if status >= "400" and "application/json" in content:
            response["content"] = {MEDIA_TYPE: content["application/json"]}
    reply = operation["responses"].setdefault
    problem = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
    reply("400", {"description": "`bad_request`, `bad_host`", "content": problem})
    reply("422", {"description": "`invalid`", "content": problem})
    for status, code in (("401", "unauthorized"), ("403", "forbidden"), ("429", "too_many_requests")):
        reply(status, {"description": f"`{code}`", "content": problem})
    if "requestBody" in operation:
        for status, code in (
            ("408", "body_timeout"),
            ("413", "body_too_large"),
            ("415", "unsupported_media_type"),
        ):
            reply(status, {"description": f"`{code}`", "content": problem})
    if method == "post":
        reply("409", {"description": "`request_in_progress`", "content": problem})
        operation.setdefault("parameters", []).append(
            {
                "name": "Idempotency-Key", "in": "header", "required": False,
                "description": "The same request under the same key is done once.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
            }
        )  # fmt: skip
