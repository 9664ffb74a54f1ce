"""The gap: a measured run against what is possible, and what would help most."""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import APIRouter, Request, Response

from agent.versions import evaluator_version
from catalogue.devices import device_names
from catalogue.models import model_names
from catalogue.systems import system_names
from server.dashboard.desk import AtDesk
from server.dashboard.pages.common import shown
from server.dashboard.render import page, wants_json
from server.dashboard.work.gaps import gap
from server.names import device_name, model_name

router = APIRouter()

FIELDS = {
    "model": "", "device": "", "count": "8", "throughput": "", "batch": "", "interactivity": "",
    "context": "8192", "drafted": "0", "precision": "", "paste": "",
}  # fmt: skip
ALIASES = {
    "model": "model", "model_name": "model", "hw": "device", "hardware": "device", "device": "device",
    "gpu": "device", "accelerator": "device", "count": "count", "gpus": "count", "num_gpus": "count",
    "n_gpus": "count", "devices": "count", "tput_per_gpu": "throughput", "throughput_per_gpu": "throughput",
    "output_tput_per_gpu": "throughput", "throughput": "throughput",
    "tokens_per_second_per_gpu": "throughput",
    "batch": "batch", "concurrency": "batch", "conc": "batch", "max_concurrency": "batch",
    "interactivity": "interactivity", "intvty": "interactivity",
    "tokens_per_second_per_user": "interactivity",
    "median_intvty": "interactivity", "context": "context", "context_tokens": "context",
    "drafted": "drafted", "mtp": "drafted", "num_speculative_tokens": "drafted", "precision": "precision",
}  # fmt: skip
PRECISIONS = ("", "fp8", "nvfp4", "mxfp4")


@router.get("/gap")
@shown("gap")
async def gap_page(request: Request, at: AtDesk) -> Response:
    """The form and, where a run is given, its gap; everything is in the address."""
    given = {k: v.strip()[:20_000] for k, v in request.query_params.items() if k in FIELDS}
    values = {**FIELDS, **given}
    unread: list[str] = []
    if values["paste"]:
        found, unread = pasted(values["paste"])
        values = {**values, **found, "paste": ""}
    asked = bool(values["throughput"])
    order, wrong = read(values) if asked else ({}, {})
    answer = None
    if asked and not wrong:
        key = ("gap", tuple(sorted(order.items())), evaluator_version())
        answer = await at.work(key, gap, order, 60.0 if wants_json(request) else 2.0)
    data: dict[str, Any] = {
        "values": values, "errors": wrong, "unread": unread,
        "state": answer.state if answer else "", "result": answer.value if answer else None,
        "problem": answer.problem if answer else None,
    }  # fmt: skip
    view = {
        "models": list(model_names()), "devices": sorted((*device_names(), *system_names())),
        "precisions": PRECISIONS, "pending": bool(answer and answer.state == "pending"),
    }  # fmt: skip
    return page(request, "gap.html", data, here="gap", title="Gap", view=view)


def pasted(text: str) -> tuple[dict[str, str], list[str]]:
    """Fields from JSON, `name: value` lines, or two lines of CSV; and names that say nothing here."""
    pairs: dict[str, Any] = {}
    try:
        found = json.loads(text)
        found = found[0] if isinstance(found, list) and found else found
        pairs = dict(found) if isinstance(found, dict) else {}
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) >= 2 and all(re.search(r"[,\t]", line) for line in lines[:2]):
            split = "\t" if "\t" in lines[0] else ","
            pairs = dict(zip(lines[0].split(split), lines[1].split(split), strict=False))
        else:
            for line in lines:
                name, mark, value = re.sub(r"\s*[=:]\s*|\t", "\0", line, count=1).partition("\0")
                if mark:
                    pairs[name] = value
    values: dict[str, str] = {}
    unread = []
    for name, value in pairs.items():
        plain = re.sub(r"[^a-z0-9]+", "_", str(name).lower().replace("/", "_per_")).strip("_")
        target = ALIASES.get(plain)
        if target is None or value in (None, "") or isinstance(value, dict | list):
            unread.append(str(name)[:60])
        else:
            values.setdefault(target, str(value).strip().strip('"'))
    isl, osl = (next((pairs[k] for k in pairs if str(k).lower() == n), None) for n in ("isl", "osl"))
    if isl is not None and osl is not None and "context" not in values:
        try:
            values["context"] = str(int(float(isl)) + int(float(osl)) // 2)
            unread = [u for u in unread if u.lower() not in ("isl", "osl")]
        except ValueError:
            pass
    return values, unread


def read(values: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """(the order, what is wrong by field)."""
    wrong: dict[str, str] = {}
    order: dict[str, Any] = {"precision": values["precision"] if values["precision"] in PRECISIONS else ""}
    for name, find in (("model", model_name), ("device", device_name)):
        try:
            order[name] = find(values[name])
        except Exception as error:
            wrong[name] = f"{str(error)[:1].upper()}{str(error)[1:]}."
    for name, label, low in (
        ("count", "Devices", 1), ("context", "Context", 1), ("drafted", "Drafted tokens", 0),
    ):  # fmt: skip
        try:
            order[name] = int(values[name].replace(",", ""))
            if not low <= order[name] <= 2**24:
                raise ValueError
        except ValueError:
            wrong[name] = f"{label} must be a whole number of at least {low}, but got “{values[name][:30]}”."
    numbers: dict[str, float] = {}
    for name, label in (
        ("throughput", "Throughput"), ("batch", "Sequences"), ("interactivity", "Interactivity"),
    ):  # fmt: skip
        if values[name]:
            try:
                numbers[name] = float(values[name].replace(",", ""))
                if not 0 < numbers[name] < 1e12:
                    raise ValueError
            except ValueError:
                wrong[name] = f"{label} must be a number above 0, but got “{values[name][:30]}”."
    if not wrong:
        order["throughput"] = numbers["throughput"]
        if "batch" in numbers:
            order["batch"] = max(1.0, numbers["batch"])
        elif "interactivity" in numbers:
            order["batch"] = max(1.0, numbers["throughput"] * order["count"] / numbers["interactivity"])
        else:
            wrong["batch"] = "Sequences in flight or interactivity must be given; add one."
    return order, wrong
