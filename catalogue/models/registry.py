"""Catalogued models by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from catalogue.architecture import Architecture
from catalogue.errors import CatalogueError
from catalogue.huggingface import design as configs
from catalogue.huggingface.reader import Imported, import_config, read_config
from catalogue.models.caches import Kv
from catalogue.models.facts import Facts, full_name, model_names, read
from catalogue.models.notes import notes
from rooflang.design import Design

__all__ = ["Description", "describe", "load_model", "model_names"]


@dataclass(frozen=True, slots=True)
class Description:
    """Where a model's facts are from, how its weights are stored as published, and what was inferred."""

    name: str
    source: str
    precision: str
    inferred: tuple[str, ...]


def load_model(name: str, kv: Kv = "served") -> Design:
    """The design of one decode step: a program and conventional kernels, no pools and no placement.

    `name` may be abbreviated to any unique beginning, or be the path of a config.json; `kv` is the caches'
    storage: as served, or bf16.
    Raises CatalogueError for an unknown or ambiguous name and for another `kv`.
    """
    if kv not in ("served", "bf16"):
        raise CatalogueError(f"kv must be 'served' or 'bf16', but got {kv!r}")
    found = full_name(name)
    if configs.is_config(found):
        return configs.load_config(found, kv)
    return _load(found, kv)


def describe(name: str) -> Description:
    """What is to be known of a model besides its design. `name` as in `load_model`."""
    found = full_name(name)
    if configs.is_config(found):
        imported = import_config(found)
        return Description(imported.name, found, "as its config says", _told(imported))
    facts, imported = _read(found)
    return Description(found, facts.source, facts.precision, (*facts.inferred, *_told(imported)))


def _told(imported: Imported) -> tuple[str, ...]:
    made = imported.architecture
    return (*imported.assumptions, *(notes(made) if isinstance(made, Architecture) else ()))


@lru_cache(maxsize=128)
def _read(name: str) -> tuple[Facts, Imported]:
    facts = read(name)
    imported = read_config(facts.config, name)
    if imported.not_understood:
        keys = ", ".join(n.key for n in imported.not_understood)
        raise CatalogueError(f"facts of {name} must hold keys that the reader knows, but got {keys}")
    return facts, imported


@lru_cache(maxsize=128)
def _load(name: str, kv: Kv) -> Design:
    return configs.design_of(_read(name)[1], kv)
