"""Finding a device by name: catalogued ones by name or unique prefix, a user's own by path.

A system may be named in place of a device: it stands for its device with the system's links.
"""

from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path

from catalogue.devices.device import Device
from catalogue.devices.reader import device_of, read_device
from catalogue.errors import CatalogueError, nearest
from catalogue.yaml_file import read_yaml

SUFFIX = ".yaml"
USUAL = "-sxm"
"""What a chip's bare name stands for where it is sold in several forms: h100 is h100-sxm."""


@cache
def device_names() -> tuple[str, ...]:
    """Names of the catalogued devices, sorted."""
    entries = files("catalogue.devices").iterdir()
    return tuple(sorted(entry.name.removesuffix(SUFFIX) for entry in entries if entry.name.endswith(SUFFIX)))


def load_device(name: str | PathLike[str]) -> Device:
    """A catalogued device or system by its name or a unique prefix of it, or a user's own by a path ending
    in `.yaml`.

    Raises CatalogueError when the name is unknown or ambiguous, CatalogueFileError when the file is
    malformed.
    """
    # A system is made of a device, so its package imports this one.
    from catalogue.systems import load_system, system_names
    from catalogue.systems.system import system_of

    text = fspath(name)
    if text.lower().endswith((SUFFIX, ".yml")):
        path = Path(text)
        content = read_yaml(path)
        if "device" in content:
            return system_of(content, path.name).accelerator
        return device_of(content, path.name)
    found = _resolve(text, device_names(), system_names())
    return _catalogued(found) if found in device_names() else load_system(found).accelerator


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
