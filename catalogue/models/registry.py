"""Catalogued models by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from catalogue.errors import CatalogueError
from catalogue.huggingface import design as configs
from catalogue.models import deepseek_v3, deepseek_v4, gpt_oss, llama
from catalogue.models.caches import Kv
from catalogue.models.facts import as_facts, full_name, model_names, read
from rooflang.design import Design

__all__ = ["load_model", "model_names"]

# family: (record of its facts, builder)
_FAMILIES: dict[str, tuple[type[Any], Callable[[str, Any, Kv], Design]]] = {
    "deepseek_v3": (deepseek_v3.DeepSeekV3, deepseek_v3.build),
    "deepseek_v4": (deepseek_v4.DeepSeekV4, deepseek_v4.build),
    "gpt_oss": (gpt_oss.GptOss, gpt_oss.build),
    "llama": (llama.Llama, llama.build),
}


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


@lru_cache(maxsize=64)
def _load(name: str, kv: Kv) -> Design:
    content = read(name)
    family = content.get("family")
    if family not in _FAMILIES:
        raise CatalogueError(
            f"facts of {name} must name a family of {', '.join(_FAMILIES)}, but got {family!r}"
        )
    record, build = _FAMILIES[family]
    return build(name, as_facts(record, content, name), kv)
