"""Where a design comes from: a catalogued model, a config.json, a .roof file, or the database by its hash."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from db import Database
    from rooflang.design import Design

_HASH = re.compile(r"[0-9a-f]{4,64}\Z")


@dataclass(frozen=True, slots=True)
class Source:
    """A design and where it was found: `name` is the model's name, the path, or the hash."""

    design: Design
    origin: Literal["model", "file", "stored"]
    name: str


def find(text: str, kv: str = "served", database: str = "") -> Source:
    """The design that `text` names. Raises the error of the place where it ought to be."""
    from catalogue.huggingface.design import is_config

    if is_config(text):
        from catalogue.models import load_model

        design = load_model(text, "bf16" if kv == "bf16" else "served")
        return Source(design, "model", design.name)
    path = Path(text)
    if text.endswith(".roof") or os.sep in text or path.is_file():
        from rooflang.parser import parse_file

        return Source(parse_file(path), "file", text)
    from catalogue.models import load_model, model_names

    if _HASH.match(text) and not any(name.startswith(text) for name in model_names()):
        return stored(text, database)
    from catalogue.models.facts import full_name

    name = full_name(text)
    return Source(load_model(name, "bf16" if kv == "bf16" else "served"), "model", name)


def stored(prefix: str, place: str) -> Source:
    """A design of the database by its hash or a unique beginning of it."""
    from rooflang.parser import parse

    with open_database(place, create=False) as database:
        record = database.get_design(prefix)
    return Source(parse(record.text), "stored", record.design_hash)


def open_database(place: str, *, create: bool) -> Database:
    """The database; without `create` it must exist already, and an older one is brought up to date."""
    from db import Database, OpenError

    if not create and "://" not in place and not Path(place).expanduser().exists():
        raise OpenError(
            f"a database must exist to be read, but there is no file {place}; run `seis search` first, "
            "or name another with --database"
        )
    return Database.open(place)
