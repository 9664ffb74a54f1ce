"""Models, devices, systems and scenarios: facts of this version, with their sources."""

from __future__ import annotations

from dataclasses import asdict, fields
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel

from catalogue.devices import Device, device_names, load_device
from catalogue.models import model_names
from catalogue.systems import load_system, system_names
from evaluator.scenario import ROUTINGS, Scenario
from server.api.common import Cursor, Json, Limit, Page, immutable, problems, sliced
from server.names import device_name, model_name
from server.problems import Refusal
from server.services import Here
from server.work.models import figures

router = APIRouter(tags=["catalogue"])

Name = Annotated[str, Path(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Begins = Annotated[str | None, Query(max_length=100, min_length=1, description="Names that begin so.")]


class Named(BaseModel):
    """An entry of a list."""

    name: str
    href: str


class ModelOut(BaseModel):
    """What a model counts, per token where it says so."""

    name: str
    source: str
    precision: str
    inferred: list[str]
    parameters: float
    active_parameters: float
    kv_bytes_per_token: dict[str, dict[str, float]]
    state_bytes: float
    flops_per_token: dict[str, float]


class DeviceOut(BaseModel, extra="allow"):
    """Published limits in SI units; null where not known, with the reason in `unknown`."""

    name: str
    title: str
    family: str
    flops_per_second: dict[str, float]
    memory_bytes: int
    sources: dict[str, str]


class SystemOut(BaseModel, extra="allow"):
    """Devices as they are sold together."""

    name: str
    device: str
    devices: int
    topology: str


class ScenarioKind(BaseModel):
    """What a scenario consists of, with defaults."""

    context_tokens: int
    routings: list[str]
    acceptance: list[float]


def _names(names: tuple[str, ...], begins: str | None, kind: str) -> list[Json]:
    return [
        {"name": n, "href": f"/api/v1/{kind}/{n}"}
        for n in sorted(names)
        if n.startswith((begins or "").lower())
    ]


@router.get("/models", responses=problems("invalid_cursor"))
def list_models(begins: Begins = None, limit: Limit = 100, cursor: Cursor = None) -> Page[Named]:
    """The catalogued models by name."""
    return Page[Named](
        **sliced(_names(model_names(), begins, "models"), cursor, limit, lambda i: str(i["name"]))
    )


@router.get("/models/{name}", response_model=ModelOut, responses=problems("not_found", "timed_out"))
async def get_model(name: Name, here: Here, request: Request) -> Response:
    """One model by its name or unique beginning: what it counts."""
    found = await here.compute.run(figures, _known(model_name, name))
    return immutable(request, found, seconds=0)


@router.get("/devices", responses=problems("invalid_cursor"))
def list_devices(begins: Begins = None, limit: Limit = 100, cursor: Cursor = None) -> Page[Named]:
    """The catalogued devices by name; each system may be named wherever a device may."""
    return Page[Named](
        **sliced(_names(device_names(), begins, "devices"), cursor, limit, lambda i: str(i["name"]))
    )


@router.get("/devices/{name}", response_model=DeviceOut, responses=problems("not_found"))
def get_device(name: Name, request: Request) -> Response:
    """Every figure of a device or system, and its source."""
    return immutable(request, _device(_known(device_name, name)), seconds=0)


@router.get("/systems", responses=problems("invalid_cursor"))
def list_systems(begins: Begins = None, limit: Limit = 100, cursor: Cursor = None) -> Page[Named]:
    """Boards, racks and pods by name."""
    return Page[Named](
        **sliced(_names(system_names(), begins, "systems"), cursor, limit, lambda i: str(i["name"]))
    )


@router.get("/systems/{name}", response_model=SystemOut, responses=problems("not_found"))
def get_system(name: Name, request: Request) -> Response:
    """How a system is put together."""
    if name not in system_names():
        raise Refusal(
            "not_found", f"a system must be catalogued, but there is none {name!r}; list the systems"
        )
    return immutable(request, _plain(asdict(load_system(name))), seconds=0)


@router.get("/scenarios", response_model=ScenarioKind)
def get_scenarios(request: Request) -> Response:
    """The parts of a scenario, and their defaults."""
    default = Scenario()
    found = {
        "context_tokens": default.context,
        "routings": [*ROUTINGS, "zipf:s"],
        "acceptance": [default.chance(i) for i in range(4)],
    }
    return immutable(request, found, seconds=0)


def _known(find: Any, name: str) -> str:
    """A full name; what is not catalogued is not found."""
    from catalogue.errors import CatalogueError

    try:
        return str(find(name))
    except CatalogueError as error:
        raise Refusal("not_found", str(error)) from None


@lru_cache(maxsize=128)
def _device(name: str) -> Json:
    found: Device = load_device(name)
    values = {f.name: getattr(found, f.name) for f in fields(found)}
    values["alternatives"] = {
        key: [{"value": a.value, "source": a.source} for a in others]
        for key, others in found.alternatives.items()
    }
    return dict(_plain(values))


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    return value
