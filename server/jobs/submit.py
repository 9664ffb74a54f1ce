"""From a request to a stored job."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from db import Database, Job
from server.compute import Compute
from server.events import EventLog
from server.jobs.request import JobRequest, Stored
from server.names import device, device_name, model_name
from server.problems import Refusal
from server.work.uploads import read_config, read_text

MODEL = "deepseek-v4-pro"


def submit(request: JobRequest, database: Database, events: EventLog, compute: Compute) -> Job:
    """Check a request and queue it. Raises Refusal, and errors of the catalogue, language and agent."""
    stored = check(request, compute)
    return enqueue(stored, database, events)


def check(request: JobRequest, compute: Compute) -> Stored:
    """The request with full names and, for an uploaded model, its text."""
    if request.text is None and request.config is None:
        return check_catalogued(request)
    named = _named(request)
    found = _uploaded(request, compute)
    label = re.sub(r"[^a-z0-9._-]+", "-", (request.name or found["name"]).lower()).strip("-.") or "model"
    name = f"{label[:60]}-{sha256(found['text'].encode()).hexdigest()[:8]}"
    kept = named.model_copy(update={"text": None, "config": None, "name": name, "kv": "served"})
    stored = Stored(request=kept, model=name, text=found["text"])
    stored.problem()
    return stored


def check_catalogued(request: JobRequest) -> Stored:
    """The same for a catalogued model, which needs no computation."""
    full = model_name(request.model or MODEL)
    stored = Stored(request=_named(request).model_copy(update={"model": full}), model=full)
    stored.problem()
    return stored


def _named(request: JobRequest) -> JobRequest:
    named = request.model_copy(update={"device": device_name(request.device)})
    _need_figures(named)
    return named


def enqueue(stored: Stored, database: Database, events: EventLog, priority: int | None = None) -> Job:
    """Queue a checked request."""
    request = stored.request if priority is None else stored.request.model_copy(update={"priority": priority})
    content = stored.model_copy(update={"request": request}).model_dump(mode="json")
    job = database.create_job(
        kind=request.kind, subject=stored.problem().hash, request=content, priority=request.priority
    )
    events.record("job.queued", job.id, state=job.state, model=stored.model)
    return job


def _uploaded(request: JobRequest, compute: Compute) -> dict[str, Any]:
    if request.text is not None:
        found: dict[str, Any] = compute.wait(read_text, request.text)
    else:
        content = {"config": request.config, "name": request.name or "model", "kv": request.kv}
        found = compute.wait(read_config, content)
    return found


def _need_figures(request: JobRequest) -> None:
    """A cost can only be asked for where the device has the figure that it rests on."""
    kind = device(request.device)
    limits = request.constraints
    for metric, figure, bound in (
        ("dollars_per_million_tokens", "price_dollars_per_hour", limits.max_dollars_per_million_tokens),
        ("joules_per_token", "power_watts", limits.max_joules_per_token),
    ):
        if (metric in request.objectives or bound is not None) and getattr(kind, figure) is None:
            raise Refusal("unavailable", f"{metric} must rest on a known figure, but {kind.lacks(figure)}")
