"""Models and designs that are sent in: parsed, checked, and turned into text that can be stored."""

from __future__ import annotations

from typing import Any

from agent.problem import identity
from rooflang.canonical import design_hash
from rooflang.parser import parse
from rooflang.printer import print_design


def read_text(text: str) -> dict[str, Any]:
    """A RoofLang text: its hashes, its name, and the text as it is stored."""
    design = parse(text)
    return {
        "design_hash": design_hash(design),
        "structure_hash": identity(design),
        "name": design.name,
        "text": print_design(design),
        "assumptions": [],
    }


def read_config(content: dict[str, Any]) -> dict[str, Any]:
    """A config.json under `config`, called `name`: the same, with what was assumed."""
    from catalogue.huggingface import read_config as read

    imported = read(content["config"], content["name"])
    design = imported.design(content.get("kv", "served"))
    return {**read_text(print_design(design)), "assumptions": list(imported.assumptions)}


def read_model(content: dict[str, Any]) -> dict[str, Any]:
    """A catalogued model as a design."""
    from catalogue.models import load_model

    return read_text(print_design(load_model(content["model"], content.get("kv", "served"))))
