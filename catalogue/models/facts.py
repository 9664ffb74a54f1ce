"""Facts of one model: the numbers of its published configuration, read from `catalogue/facts`."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from functools import lru_cache
from importlib import resources
from typing import Any, TypeVar, get_type_hints

from catalogue.errors import CatalogueError, nearest

Facts = TypeVar("Facts")


@lru_cache(maxsize=1)
def model_names() -> tuple[str, ...]:
    """Names of the catalogued models, in alphabetical order."""
    folder = resources.files("catalogue") / "facts"
    return tuple(sorted(f.name.removesuffix(".json") for f in folder.iterdir() if f.name.endswith(".json")))


def full_name(name: str) -> str:
    """The catalogued name that `name` spells or abbreviates: `llama` gives `llama-3.1-70b`.

    The path of a config.json, or of a directory with one, names a model too: it is made absolute.

    Raises CatalogueError for a name that no model, or more than one, begins with.
    """
    from catalogue.huggingface import design as configs

    if configs.is_config(name):
        return configs.full_path(name)
    known = model_names()
    if name in known:
        return name
    found = [n for n in known if n.startswith(name.lower())] if name else []
    if len(found) == 1:
        return found[0]
    if found:
        raise CatalogueError(
            f"a model's name must be unique, but {name!r} begins {', '.join(found)}; write more of it"
        )
    hint = nearest(name, known) or f"; known are {', '.join(known)}"
    raise CatalogueError(f"a model must be catalogued, but got {name!r}{hint}")


def read(name: str) -> dict[str, Any]:
    """The JSON object of a catalogued model."""
    text = (resources.files("catalogue") / "facts" / f"{name}.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def as_facts(kind: type[Facts], content: dict[str, Any], name: str) -> Facts:
    """The facts as the family's own record; `family` and `source` stay in the file.

    Raises CatalogueError when a key is missing, unknown, or holds another type than the record says.
    """
    given = {k: v for k, v in content.items() if k not in ("family", "source")}
    wanted = {f.name for f in fields(kind) if f.default is MISSING}  # type: ignore[arg-type]
    if wanted != set(given):
        odd = ", ".join(sorted(wanted ^ set(given)))
        raise CatalogueError(f"facts of {name} must hold the keys of {kind.__name__}, but differ in: {odd}")
    types = get_type_hints(kind)
    for key, value in given.items():
        if isinstance(value, list):
            given[key] = tuple(value)
        elif not isinstance(value, types[key]):
            raise CatalogueError(f"facts of {name}: {key} must be {types[key].__name__}, but got {value!r}")
    return kind(**given)
