"""Finding a system by name."""

from functools import cache
from importlib.resources import files

from catalogue.errors import CatalogueError, nearest
from catalogue.systems.system import System, system_of
from catalogue.yaml_file import read_yaml

SUFFIX = ".yaml"


@cache
def system_names() -> tuple[str, ...]:
    """Names of the catalogued systems, sorted."""
    entries = files("catalogue.systems").iterdir()
    return tuple(sorted(entry.name.removesuffix(SUFFIX) for entry in entries if entry.name.endswith(SUFFIX)))


@cache
def load_system(name: str) -> System:
    """A catalogued system by its name. Raises CatalogueError when there is none of this name."""
    if name not in system_names():
        raise CatalogueError(
            f"a system must be one of {', '.join(system_names())}, but got {name!r}"
            f"{nearest(name, system_names())}"
        )
    path = files("catalogue.systems") / f"{name}{SUFFIX}"
    return system_of(read_yaml(path), path.name)
