"""Names that requests may use: what is catalogued, and never a path of this machine."""

from __future__ import annotations

from functools import lru_cache

from catalogue.devices import Device, device_names, load_device
from catalogue.errors import CatalogueError, nearest
from catalogue.models import model_names
from catalogue.systems import system_names


def model_name(name: str) -> str:
    """The catalogued model that `name` spells or uniquely begins. Raises CatalogueError."""
    return _one(name, model_names(), "model")


def device_name(name: str) -> str:
    """The catalogued device or system that `name` spells or uniquely begins. Raises CatalogueError."""
    return _one(name, (*device_names(), *system_names()), "device")


@lru_cache(maxsize=128)
def device(name: str) -> Device:
    """A catalogued device or system."""
    return load_device(device_name(name))


def _one(name: str, known: tuple[str, ...], noun: str) -> str:
    if name in known:
        return name
    found = [n for n in known if n.startswith(name.lower())] if name else []
    if len(found) == 1:
        return found[0]
    if found:
        raise CatalogueError(
            f"a {noun}'s name must be unique, but {name!r} begins {', '.join(found)}; write more of it"
        )
    hint = nearest(name, known) or f"; list the {noun}s"
    raise CatalogueError(f"a {noun} must be catalogued, but got {name[:80]!r}{hint}")
