"""The gap: a measured run against what is possible, and what would help most."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from agent.versions import evaluator_version
from catalogue.devices import device_names
from catalogue.models import model_names
from catalogue.systems import system_names
from server.dashboard.desk import AtDesk
from server.dashboard.measurement import MOST_ROWS, TARGETS, Understood, rows, understand
from server.dashboard.render import page, wants_json
from server.dashboard.work.gaps import gap
from server.names import device_name, model_name

router = APIRouter()

FIELDS = {
    "model": "", "device": "", "count": "8", "throughput": "", "batch": "", "interactivity": "",
    "context": "8192", "drafted": "0", "precision": "", "paste": "",
}  # fmt: skip
NEEDED = (
    (("model",), "the model"), (("device",), "the device"), (("count",), "how many devices ran"),
    (("throughput",), "output tokens/s per device"),
    (("batch", "interactivity"), "sequences in flight or tokens/s per user"), (("context",), "the context"),
)  # fmt: skip
PRECISIONS = ("", "fp8", "nvfp4", "mxfp4")


@router.get("/gap")
async def gap_page(
    request: Request, at: AtDesk, row: Annotated[int, Query(ge=0, le=MOST_ROWS)] = 0
) -> Response:
    """The form and, where a run is given, its gap; everything is in the address.

    Of a pasted measurement, `row` chooses one of several, and `as` (`column:target`) what a column is.
    """
    given = {k: v.strip()[:20_000] for k, v in request.query_params.items() if k in FIELDS}
    values = {**FIELDS, **given}
    paste, pasted = given.get("paste", ""), None
    if paste:
        pasted = _pasted(paste, row, request.query_params.getlist("as"))
        values = {**FIELDS, **pasted["values"]}
    asked = bool(values["throughput"])
    order, wrong = read(values) if asked else ({}, {})
    answer = None
    if asked and not wrong:
        key = ("gap", tuple(sorted(order.items())), evaluator_version())
        answer = await at.work(key, gap, order, 60.0 if wants_json(request) else 2.0)
    data: dict[str, Any] = {
        "values": values, "errors": wrong, "pasted": pasted,
        "state": answer.state if answer else "", "result": answer.value if answer else None,
        "problem": answer.problem if answer else None,
    }  # fmt: skip
    view = {
        "models": list(model_names()), "devices": sorted((*device_names(), *system_names())),
        "precisions": PRECISIONS, "targets": TARGETS, "pending": bool(answer and answer.state == "pending"),
    }  # fmt: skip
    return page(request, "gap.html", data, here="gap", title="Gap", view=view)


def _pasted(text: str, row: int, chosen: list[str]) -> dict[str, Any]:
    """What was pasted: its rows, one of them by column with what it was taken as, and fields."""
    found = rows(text)
    at = min(row, len(found) - 1)
    targets = dict(c.rpartition(":")[::2] for c in chosen[:100] if c.rpartition(":")[2] in TARGETS)
    understood = understand(found[at], targets) if found else Understood()
    values = {k: v for k, v in understood.values.items() if k != "precision" or v in PRECISIONS}
    return {
        "text": text, "values": values, "columns": understood.columns, "notes": understood.notes,
        "row": max(0, at), "rows": [" · ".join(list(r.values())[:5])[:90] for r in found],
        "missing": [
            label for names, label in NEEDED if not any(n in values for n in names)
        ],
    }  # fmt: skip


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
