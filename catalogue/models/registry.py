"""Catalogued models by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from catalogue.architecture import Architecture
from catalogue.errors import CatalogueError
from catalogue.huggingface import design as configs
from catalogue.huggingface.reader import Imported, import_config, read_config
from catalogue.models.caches import Kv
from catalogue.models.facts import SEPARATOR, Facts, full_name, model_names, read
from catalogue.models.notes import notes
from catalogue.models.variants import exchanged
from rooflang.design import Design

__all__ = ["Description", "describe", "load_model", "model_names"]


@dataclass(frozen=True, slots=True)
class Description:
    """Where a model's facts are from, how its weights are stored as published, and what was inferred.

    `max_position` is the longest context that is published for it, in tokens.
    """

    name: str
    source: str
    precision: str
    inferred: tuple[str, ...]
    max_position: int | None = None


def load_model(name: str, kv: Kv = "served") -> Design:
    """The design of one decode step: a program and conventional kernels, no pools and no placement.

    `name` may be abbreviated to any unique beginning, or be the path of a config.json, or two names with a
    plus between them (`catalogue.models.variants`); `kv` is the caches' storage: as served, or bf16.
    Raises CatalogueError for an unknown or ambiguous name and for another `kv`.
    """
    if kv not in ("served", "bf16"):
        raise CatalogueError(f"kv must be 'served' or 'bf16', but got {kv!r}")
    found = full_name(name)
    if configs.is_config(found):
        return configs.load_config(found, kv)
    if SEPARATOR in found:
        return _variant(found).design(kv)
    return _load(found, kv)


def describe(name: str) -> Description:
    """What is to be known of a model besides its design. `name` as in `load_model`."""
    found = full_name(name)
    if configs.is_config(found):
        imported = import_config(found)
        return _description(imported.name, found, "as its config says", imported)
    if SEPARATOR in found:
        first, _, second = found.partition(SEPARATOR)
        sources = "; ".join(describe(n).source for n in (first, second))
        return _description(found, sources, "as in both models", _variant(found))
    facts, imported = _read(found)
    return _description(found, facts.source, facts.precision, imported, facts.inferred)


def _description(
    name: str, source: str, precision: str, imported: Imported, inferred: tuple[str, ...] = ()
) -> Description:
    most = imported.architecture.max_position
    return Description(name, source, precision, (*inferred, *_told(imported)), most)


def _told(imported: Imported) -> tuple[str, ...]:
    made = imported.architecture
    return (*imported.assumptions, *(notes(made) if isinstance(made, Architecture) else ()))


def _imported(name: str) -> Imported:
    return import_config(name) if configs.is_config(name) else _read(name)[1]


@lru_cache(maxsize=32)
def _variant(name: str) -> Imported:
    first, _, second = name.partition(SEPARATOR)
    model, other = _imported(first), _imported(second)
    facts = exchanged(model.architecture, second, other.architecture)
    return Imported(facts, name, (*model.assumptions, *facts.assumptions))


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
    return _read(name)[1].design(kv)
