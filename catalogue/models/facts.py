"""Facts of one model: the keys of its published configuration that matter, read from `catalogue/facts`.

A file holds the keys of the model's Hugging Face `config.json`, spelt as there, and three of our own:
`source` says where they are from, `precision` how the published weights are stored, and `inferred`, if it is
there, lists what no published file states.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from catalogue.errors import CatalogueError, nearest

SEPARATOR = "+"

_OWN = ("source", "precision", "inferred")


@dataclass(frozen=True, slots=True)
class Facts:
    """One file: `config` are the keys of the published configuration."""

    name: str
    source: str
    precision: str
    inferred: tuple[str, ...]
    config: dict[str, object]


@lru_cache(maxsize=1)
def model_names() -> tuple[str, ...]:
    """Names of the catalogued models, in alphabetical order."""
    folder = resources.files("catalogue") / "facts"
    return tuple(sorted(f.name.removesuffix(".json") for f in folder.iterdir() if f.name.endswith(".json")))


def full_name(name: str) -> str:
    """The catalogued name that `name` spells or abbreviates: `step` gives `step-3`.

    The path of a config.json, or of a directory with one, names a model too: it is made absolute. Of two
    names with a plus between them the first model is meant, with the attention of the second.

    Raises CatalogueError for a name that no model, or more than one, begins with.
    """
    from catalogue.huggingface import design as configs

    first, joined, second = name.partition(SEPARATOR)
    if joined and not configs.is_config(name):
        return f"{full_name(first)}{SEPARATOR}{full_name(second)}"
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
    hint = nearest(name, known) or "; `seis models` lists them"
    raise CatalogueError(f"a model must be catalogued, but got {name!r}{hint}")


def read(name: str) -> Facts:
    """The facts of a catalogued model. Raises CatalogueError where a file lacks a source or a precision."""
    text = (resources.files("catalogue") / "facts" / f"{name}.json").read_text(encoding="utf-8")
    content: dict[str, object] = json.loads(text)
    source, precision = content.get("source"), content.get("precision")
    if not isinstance(source, str) or not isinstance(precision, str):
        raise CatalogueError(f"facts of {name} must state their source and the model's precision")
    inferred = content.get("inferred", [])
    told = tuple(str(sentence) for sentence in inferred) if isinstance(inferred, list) else (str(inferred),)
    return Facts(name, source, precision, told, {k: v for k, v in content.items() if k not in _OWN})
