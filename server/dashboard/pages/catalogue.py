"""Models and devices with their figures, and where each figure is from."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from catalogue.devices import device_names, load_device
from catalogue.devices.device import LABELS
from catalogue.models import describe, model_names
from catalogue.systems import load_system, system_names
from server.dashboard.desk import AtDesk
from server.dashboard.render import page
from server.names import device_name, model_name
from server.work.models import figures

router = APIRouter()

UNITS = {"bytes_per_second": "B/s", "flops_per_second": "FLOP/s", "exp_per_second": "/s", "bytes": "B"}


@router.get("/models")
async def model_list(request: Request, at: AtDesk) -> Response:
    """Every catalogued model with its source."""
    rows = await run_in_threadpool(_models)
    return page(request, "models.html", {"rows": rows}, here="models", title="Models")


@router.get("/models/{name}")
async def model_page(name: str, request: Request, at: AtDesk) -> Response:
    """What a model counts."""
    full = model_name(name)
    found = await at.work(("figures", full), figures, full, 60.0)
    data = {"name": full, "figures": found.value, "problem": found.problem}
    return page(request, "model.html", data, here="models", title=full)


@router.get("/devices")
async def device_list(request: Request, at: AtDesk) -> Response:
    """Devices and systems with their main limits."""
    rows, systems = await run_in_threadpool(_devices)
    return page(request, "devices.html", {"rows": rows, "systems": systems}, here="devices", title="Devices")


@router.get("/devices/{name}")
async def device_page(name: str, request: Request, at: AtDesk) -> Response:
    """Every figure with its source; what is not known, and why."""
    data = await run_in_threadpool(_device, device_name(name))
    return page(request, "device.html", data, here="devices", title=data["title_of_device"])


@lru_cache(maxsize=1)
def _models() -> list[dict[str, Any]]:
    found = []
    for name in model_names():
        about = describe(name)
        found.append(
            {"name": name, "source": about.source, "precision": about.precision,
             "inferred": list(about.inferred), "max_position": about.max_position}
        )  # fmt: skip
    return found


@lru_cache(maxsize=1)
def _devices() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows = []
    for name in device_names():
        d = load_device(name)
        rows.append(
            {
                "name": name, "title": d.title, "family": d.family, "bf16": d.flops_per_second.get("bf16"),
                "fp8": d.flops_per_second.get("fp8"), "fp4": d.flops_per_second.get("fp4"),
                "memory_bytes": d.memory_bytes, "memory_bytes_per_second": d.memory_bytes_per_second,
                "scale_up_bytes_per_second": d.scale_up_bytes_per_second,
                "scale_up_domain": d.scale_up_domain, "unknown": len(d.unknown),
            }
        )  # fmt: skip
    systems = []
    for name in system_names():
        s = asdict(load_system(name))
        systems.append({k: s[k] for k in ("name", "title", "device", "devices", "topology")})
    return rows, systems


def _device(name: str) -> dict[str, Any]:
    d = load_device(name)
    rows = []
    for key, label in LABELS.items():
        field, _, part = key.partition(".")
        value = getattr(d, field)
        value = value.get(part) if part else value
        source = d.sources.get(key, "")
        why = d.unknown.get(key, "") if hasattr(d.unknown, "get") else ""
        if value is None and not why:
            continue
        unit = next((u for end, u in UNITS.items() if field.endswith(end)), "")
        rows.append(
            {
                "key": key, "label": label, "value": value, "unit": unit, "source": source, "unknown": why,
                "alternatives": [
                    {"value": a.value, "source": a.source} for a in d.alternatives.get(key, ())
                ],
            }
        )  # fmt: skip
    return {"name": name, "title_of_device": d.title, "family": d.family, "figures": rows}
