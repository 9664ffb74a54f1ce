"""Problem details (RFC 9457): every refusal has a stable code, a sentence, and what to do."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its HTTP status, its title, and what to do where the sentence does not say."""

    status: int
    title: str
    what_to_do: str


KINDS: Mapping[str, Kind] = {
    "bad_request": Kind(400, "Bad request", "Correct the request."),
    "bad_host": Kind(400, "Unknown host", "Call the server by a name in SEIS_ALLOWED_HOSTS."),
    "unauthorized": Kind(401, "Token needed", "Send a token as 'Authorization: Bearer ...'."),
    "forbidden": Kind(403, "Not allowed", "Use a token with the scope that is named."),
    "not_found": Kind(404, "Not found", "Check the name, or list what there is."),
    "method_not_allowed": Kind(405, "Method not allowed", "Use a method that the header Allow names."),
    "not_acceptable": Kind(406, "Not acceptable", "Ask for a type that this resource has."),
    "body_timeout": Kind(408, "Body too slow", "Send the body faster."),
    "conflict": Kind(409, "Conflict", "Read the resource, then decide again."),
    "ambiguous": Kind(409, "Ambiguous name", "Give more of it."),
    "busy": Kind(503, "Busy", "Send the request again after the time in Retry-After."),
    "request_in_progress": Kind(409, "Request in progress", "Wait, then send it again under the same key."),
    "body_too_large": Kind(413, "Body too large", "Send less."),
    "unsupported_media_type": Kind(415, "Unsupported media type", "Send application/json."),
    "invalid": Kind(422, "Invalid request", "Correct the fields that `errors` names."),
    "invalid_cursor": Kind(422, "Invalid cursor", "Take the cursor of the page before, or leave it out."),
    "key_reused": Kind(422, "Idempotency key reused", "Take a new key for another request."),
    "unknown_name": Kind(422, "Unknown name", "List the catalogue for the names that there are."),
    "syntax": Kind(422, "Not RoofLang", "Correct the text at the line that is named."),
    "design": Kind(422, "Not a design", "Correct the design."),
    "placement": Kind(422, "Placement not possible", "Change the placement or the mesh."),
    "configuration": Kind(422, "Configuration not possible", "Change sizes, batch or count."),
    "scenario": Kind(422, "Scenario not possible", "Correct the scenario."),
    "config": Kind(422, "Not a model's config", "Correct the config.json."),
    "unavailable": Kind(422, "Figure not known", "Choose a device that has the figure."),
    "problem": Kind(422, "Search not possible", "Correct what is searched for."),
    "too_many_requests": Kind(429, "Too many requests", "Wait for the time in Retry-After."),
    "fault": Kind(500, "Fault of SEIS", "Report it with the request's identifier."),
    "overloaded": Kind(503, "Overloaded", "Send the request again after the time in Retry-After."),
    "timed_out": Kind(503, "Took too long", "Ask for less, or submit a job."),
    "database": Kind(503, "Database unavailable", "Check the database, then send the request again."),
}

_BY_ERROR: Mapping[tuple[str, str], str] = {
    ("db.errors", "NotFoundError"): "not_found",
    ("db.errors", "AmbiguousPrefixError"): "ambiguous",
    ("db.errors", "ConflictError"): "conflict",
    ("db.errors", "BusyError"): "busy",
    ("db.errors", "InvalidValueError"): "invalid",
    ("db.errors", "DatabaseError"): "database",
    ("rooflang.errors", "RoofLangSyntaxError"): "syntax",
    ("rooflang.errors", "LoweringError"): "placement",
    ("rooflang.errors", "RoofLangError"): "design",
    ("catalogue.huggingface.errors", "ConfigError"): "config",
    ("catalogue.errors", "CatalogueError"): "unknown_name",
    ("evaluator.errors", "ScenarioError"): "scenario",
    ("evaluator.errors", "UnavailableError"): "unavailable",
    ("evaluator.errors", "ConfigurationError"): "configuration",
    ("evaluator.errors", "EvaluatorError"): "configuration",
    ("agent.errors", "WorkerError"): "overloaded",
    ("agent.errors", "SearchError"): "problem",
}


class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """A problem to be answered; `more` are further members of the document."""

    def __init__(
        self,
        code: str,
        detail: str,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(code, detail, more, headers)
        self.code = code
        self.detail = detail
        self.more = dict(more or {})
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        return KINDS[self.code].status

    def document(self, instance: str = "") -> dict[str, Any]:
        """The JSON of the answer."""
        return document(self.code, self.detail, instance, self.more)


def document(
    code: str, detail: str, instance: str = "", more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Problem details. What to do is what follows the last semicolon of the sentence, if it has one."""
    kind = KINDS[code]
    first = detail.partition("\n")[0]
    said, _, advice = first.rpartition("; ")
    found = {
        "type": f"/api/v1/problems/{code}",
        "title": kind.title,
        "status": kind.status,
        "code": code,
        "detail": first,
        "what_to_do": advice[:1].upper() + advice[1:].rstrip(".") + "."
        if said and advice
        else kind.what_to_do,
    }
    if instance:
        found["instance"] = instance
    return {**found, **(more or {})}


_BY_STATUS = {
    400: "bad_request", 404: "not_found", 405: "method_not_allowed", 406: "not_acceptable",
    408: "body_timeout", 413: "body_too_large", 415: "unsupported_media_type", 422: "invalid",
}  # fmt: skip


def http_refusal(error: Any) -> Refusal:
    """The refusal of an HTTP error that says its status."""
    status = int(error.status_code)
    code = _BY_STATUS.get(status, "bad_request" if status < 500 else "fault")
    return Refusal(code, str(error.detail)[:300], headers=dict(error.headers or {}))


def refusal_of(error: BaseException) -> Refusal | None:
    """What a known error of the packages below is answered with; None for a fault of our own."""
    if isinstance(error, Refusal):
        return error
    for (module, name), code in _BY_ERROR.items():
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(error, getattr(loaded, name)):
            more = {
                key: getattr(error, key)
                for key, kind in (("line", int), ("column", int), ("source_line", str))
                if isinstance(getattr(error, key, None), kind)
            }
            headers = {"Retry-After": "1"} if KINDS[code].status == 503 else {}
            return Refusal(code, str(error), more, headers)
    return None
