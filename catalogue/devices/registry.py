"""Finding a device or a system by name: catalogued ones by name or unique prefix, a user's own by path.

A system may be named in place of a device: it stands for its device with the system's links.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path

from catalogue.devices.device import Device
from catalogue.devices.reader import device_of, read_device
from catalogue.devices.system import System, device_name, system_of
from catalogue.errors import CatalogueError, nearest
from catalogue.yaml_file import read_yaml

SUFFIX = ".yaml"
USUAL = "-sxm"
"""What a chip's bare name stands for where it is sold in several forms: h100 is h100-sxm."""


@cache
def device_names() -> tuple[str, ...]:
    """Names of the catalogued devices, sorted."""
    return _names_in("catalogue.devices")


@cache
def system_names() -> tuple[str, ...]:
    """Names of the catalogued systems, sorted."""
    return _names_in("catalogue.systems")


def load_device(name: str | PathLike[str]) -> Device:
    """A catalogued device or system by its name or a unique prefix of it, or a user's own by a path ending
    in `.yaml`.

    Raises CatalogueError when the name is unknown or ambiguous, CatalogueFileError when the file is
    malformed.
    """
    text = fspath(name)
    if text.lower().endswith((SUFFIX, ".yml")):
        path = Path(text)
        content = read_yaml(path)
        if "device" in content:
            return _system(content, path.name).accelerator
        return device_of(content, path.name)
    found = _resolve(text, device_names(), system_names())
    return _catalogued(found) if found in device_names() else load_system(found).accelerator


@cache
def load_system(name: str) -> System:
    """A catalogued system by its name. Raises CatalogueError when there is none of this name."""
    if name not in system_names():
        raise CatalogueError(
            f"a system must be one of {', '.join(system_names())}, but got {name!r}"
            f"{nearest(name, system_names())}"
        )
    path = files("catalogue.systems") / f"{name}{SUFFIX}"
    return _system(read_yaml(path), path.name)


def _system(content: Mapping[str, object], where: str) -> System:
    return system_of(content, load_device(device_name(content, where)), where)


def _names_in(package: str) -> tuple[str, ...]:
    entries = files(package).iterdir()
    return tuple(sorted(entry.name.removesuffix(SUFFIX) for entry in entries if entry.name.endswith(SUFFIX)))


@cache
def _catalogued(name: str) -> Device:
    return read_device(files("catalogue.devices") / f"{name}{SUFFIX}")


def _resolve(text: str, devices: tuple[str, ...], systems: tuple[str, ...]) -> str:
    wanted, names = text.strip().lower(), (*devices, *systems)
    for exact in (wanted, wanted + USUAL):
        if exact in names:
            return exact
    matches = [name for name in names if wanted and name.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise CatalogueError(
            f"a device name must match one device, but {text!r} matches "
            f"{', '.join(matches)}; write more of it"
        )
    raise CatalogueError(
        f"a device must be one that `seis devices` lists or a path ending in {SUFFIX}, but got {text!r}"
        f"{nearest(wanted, devices) or nearest(wanted, systems)}"
    )
