"""A new search: a form with defaults, checked in words as it is filled in, with an estimate of its time."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from catalogue.devices import device_names
from catalogue.models import model_names
from catalogue.systems import system_names
from db import Database
from server.dashboard.desk import AtDesk, Desk
from server.dashboard.pages.common import fields, see
from server.dashboard.render import page, wants_json
from server.dashboard.words import seconds
from server.jobs.request import JobRequest
from server.jobs.submit import MODEL, submit
from server.names import device_name, model_name
from server.problems import refusal_of

router = APIRouter()

RULES, LLM = "rules", "llm"
DEFAULTS = {
    "source": "model", "model": MODEL, "text": "", "config": "", "name": "", "device": "b300-sxm",
    "count": "64", "context_tokens": "8192", "structures": "100", "minutes": "", "setting": "achievable",
    "clock": "overlapped", "kv": "served", "min_user": "", "min_gpu": "", "max_dollars": "",
    "seed": "0", "priority": "0", "proposers": RULES, "tokens": "200000", "dollars": "",
}  # fmt: skip
NUMBERS = {
    "count": ("Devices", int, 1, 65_536), "context_tokens": ("Context", int, 1, 16_777_216),
    "structures": ("Structures", int, 1, 1_000_000), "minutes": ("Minutes", float, 0, 525_600),
    "min_user": ("Tokens/s/user", float, 0, 1e9), "min_gpu": ("Tokens/s/GPU", float, 0, 1e12),
    "max_dollars": ("Dollars", float, 0, 1e12), "seed": ("Seed", int, 0, 2**31 - 1),
    "priority": ("Priority", int, -1000, 1000), "tokens": ("Tokens", int, 0, 10**12),
    "dollars": ("Dollars of the model", float, 0, 1e9),
}  # fmt: skip


@router.get("/new")
async def new_search(request: Request, at: AtDesk) -> Response:
    """The form; its fields can be given in the address."""
    given = {k: v for k, v in request.query_params.items() if k in DEFAULTS}
    values = {**DEFAULTS, **given}
    _, wrong = read(values) if given else (None, {})
    return await _form(request, at, values, {k: v for k, v in wrong.items() if k in given}, 200)


@router.post("/new")
async def submit_search(request: Request, at: AtDesk) -> Response:
    """Submit, or show the form again with what is wrong."""
    values = {**DEFAULTS, **{k: v for k, v in (await fields(request)).items() if k in DEFAULTS}}
    asked, wrong = read(values)
    if asked is not None and not wrong:
        try:
            job = await run_in_threadpool(submit, asked, at.database, at.services.events, at.services.compute)
        except Exception as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            wrong = {_field_of(refusal.code, values): refusal.detail}
        else:
            at.services.notify()
            return see(f"/jobs/{job.id}")
    return await _form(request, at, values, wrong, 422)


@router.post("/new/check")
async def check_search(request: Request, at: AtDesk) -> Response:
    """What is wrong with the fields so far, and how long the search would take."""
    values = {**DEFAULTS, **{k: v for k, v in (await fields(request)).items() if k in DEFAULTS}}
    _, wrong = read(values)
    said = await run_in_threadpool(estimate, at.database, values)
    return JSONResponse({"errors": wrong, "estimate": said})


async def _form(
    request: Request, at: Desk, values: dict[str, str], wrong: dict[str, str], status: int
) -> Response:
    said = await run_in_threadpool(estimate, at.database, values)
    data = {
        "values": values, "errors": wrong, "estimate": said, "models": list(model_names()),
        "devices": sorted((*device_names(), *system_names())),
        "language_model": at.services.settings.llm_model,
    }  # fmt: skip
    if wants_json(request) and status != 200:
        data = {"errors": wrong}
    return page(request, "new.html", data, here="new", title="New search", status=status)


def read(values: dict[str, str]) -> tuple[JobRequest | None, dict[str, str]]:
    """(the request, what is wrong by field in words)."""
    wrong: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    for name, (label, kind, low, high) in NUMBERS.items():
        text = values[name].replace(",", "").replace(" ", "")
        if not text:
            if DEFAULTS[name]:
                wrong[name] = f"{label} must be a number; {DEFAULTS[name]} is the default."
            continue
        try:
            number = kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            wrong[name] = f"{label} must be {what}, but got “{values[name][:40]}”."
            continue
        if not (low <= number <= high) or (kind is float and number <= 0):
            wrong[name] = f"{label} must be between {low:,} and {high:,}, but got {number:,}."
        numbers[name] = number
    source: dict[str, Any] = {}
    try:
        _named(values, source, wrong)
    except (ValueError, RecursionError) as error:
        wrong["config"] = f"The config.json must be JSON: {error}."
    if wrong:
        return None, wrong
    limits = {
        "min_tokens_per_second_per_user": numbers.get("min_user"),
        "min_tokens_per_second_per_gpu": numbers.get("min_gpu"),
        "max_dollars_per_million_tokens": numbers.get("max_dollars"),
    }
    minutes = numbers.get("minutes")
    body = {
        **source, "device": values["device"], "count": numbers["count"],
        "scenario": {"context_tokens": numbers["context_tokens"]}, "setting": values["setting"],
        "clock": values["clock"], "kv": values["kv"], "seed": numbers["seed"],
        "priority": numbers["priority"],
        "constraints": {k: float(v) for k, v in limits.items() if v is not None},
        "proposers": [LLM] if values["proposers"] == LLM else None,
        "budget": {"structures": numbers["structures"],
                   "seconds": None if minutes is None else 60.0 * minutes,
                   "tokens": numbers["tokens"], "dollars": numbers.get("dollars")},
    }  # fmt: skip
    try:
        return JobRequest.model_validate(body), {}
    except ValidationError as error:
        return None, {_known(str(e["loc"][-1])): f"{e['msg']}." for e in error.errors()}


def _named(values: dict[str, str], source: dict[str, Any], wrong: dict[str, str]) -> None:
    """The model and the device: catalogued, or written out."""
    kind = values["source"]
    if kind == "text":
        source["text"] = values["text"]
        if not values["text"]:
            wrong["text"] = "A RoofLang text must be given; paste it, or choose a catalogued model."
    elif kind == "config":
        if not values["config"]:
            wrong["config"] = "A config.json must be given; paste it, or choose a catalogued model."
        else:
            source["config"] = json.loads(values["config"])
    else:
        source["model"] = values["model"]
    if kind != "model" and values["name"]:
        source["name"] = values["name"]
    checks = [("device", device_name)] + ([("model", model_name)] if kind == "model" else [])
    for name, check in checks:
        try:
            check(values[name])
        except Exception as error:
            wrong[name] = f"{str(error)[:1].upper()}{str(error)[1:]}."


def _known(name: str) -> str:
    return name if name in DEFAULTS else "form"


def _field_of(code: str, values: dict[str, str]) -> str:
    named = {"syntax": "text", "design": "text", "config": "config", "unavailable": "max_dollars"}
    return named.get(code, "form")


def estimate(database: Database, values: dict[str, str]) -> dict[str, Any]:
    """How long it would take, by the pace of earlier jobs: of this model, else of any."""
    try:
        structures = int(values["structures"].replace(",", ""))
    except ValueError:
        structures = 0
    paces: dict[bool, list[float]] = {True: [], False: []}
    for job in database.list_jobs(limit=60):
        progress = dict(job.progress)
        if progress.get("structures") and progress.get("seconds"):
            same = job.request.get("model") == values["model"] and values["source"] == "model"
            paces[same].append(progress["seconds"] / progress["structures"])
    waiting = sum(database.count_jobs().get(s, 0) for s in ("queued", "running"))
    known = paces[True] or paces[False]
    if not known or structures < 1:
        return {
            "seconds": None, "waiting": waiting,
            "text": "No search has run here yet, so there is no pace to go by; the job shows its estimate "
            f"after its first round. {_money(values)}",
        }  # fmt: skip
    pace = sorted(known)[len(known) // 2]
    found = structures * pace
    with contextlib.suppress(ValueError):
        found = min(found, 60 * float(values["minutes"])) if values["minutes"] else found
    of = f"of {len(known)} earlier search{'es' if len(known) > 1 else ''} of "
    of += "this model" if paces[True] else "other models"
    before = f"; {waiting} job{'s' if waiting > 1 else ''} before it" if waiting else ""
    return {
        "seconds": found, "waiting": waiting,
        "text": f"About {seconds(found)} by the pace {of} ({seconds(pace)} a structure){before}. "
        f"{_money(values)}",
    }  # fmt: skip


def _money(values: dict[str, str]) -> str:
    """What a language model may cost, in words; rules cost nothing."""
    if values["proposers"] != LLM:
        return "It asks no language model and costs nothing."
    dollars = f"${values['dollars']} and " if values["dollars"] else ""
    return f"Its language model is given at most {dollars}{values['tokens']} tokens."
