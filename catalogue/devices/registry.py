"""Finding a device by name: catalogued ones by name or unique prefix, a user's own by path."""

from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path

from catalogue.devices.device import Device
from catalogue.devices.reader import read_device
from catalogue.errors import CatalogueError, nearest

SUFFIX = ".yaml"


@cache
def device_names() -> tuple[str, ...]:
    """Names of the catalogued devices, sorted."""
    entries = files("catalogue.devices").iterdir()
    return tuple(sorted(entry.name.removesuffix(SUFFIX) for entry in entries if entry.name.endswith(SUFFIX)))


def load_device(name: str | PathLike[str]) -> Device:
    """A catalogued device by its name or a unique prefix of it, or a user's own by a path ending in `.yaml`.

    Raises CatalogueError when the name is unknown or ambiguous, or the file is malformed.
    """
    text = fspath(name)
    if text.lower().endswith((SUFFIX, ".yml")):
        return read_device(Path(text))
    return _catalogued(_resolve(text))


@cache
def _catalogued(name: str) -> Device:
    return read_device(files("catalogue.devices") / f"{name}{SUFFIX}")


def _resolve(text: str) -> str:
    names = device_names()
    wanted = text.strip().lower()
    if wanted in names:
        return wanted
    matches = [name for name in names if wanted and name.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise CatalogueError(
            f"a device name must match one device, but {text!r} matches "
            f"{', '.join(matches)}; write more of it"
        )
    raise CatalogueError(
        f"a device must be one of {', '.join(names)} or a path ending in {SUFFIX}, but got {text!r}"
        f"{nearest(wanted, names)}"
    )
