"""Models, devices and number formats as measurements spell them, and the catalogue's names for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from catalogue.devices import Device, device_names, load_device
from catalogue.models import load_model, model_names
from catalogue.models.caches import Kv
from rooflang.design import Design
from rooflang.size import as_size

# Spellings that no rule reaches: checkpoints of one architecture, chips of one class.
_SAME_ARCHITECTURE = {
    "deepseek-r1": "deepseek-v3",
    "deepseek-v3.1": "deepseek-v3",
    "llama-3.3-70b": "llama-3.1-70b",
    "llama2-70b": "llama-2-70b",
    "llama-3-70b": "llama-3.1-70b",
    "kimi-k2": "kimi-k2-instruct",
    "kimi-k2.6": "kimi-k2.5",
    "kimi-k2.7": "kimi-k2.5",
    "glm-5.1": "glm-5",
    "glm-4.7": "glm-4.6",
}
# Models that differ from a catalogued one in sizes alone: (that one, its sizes here).
_RESIZED: Mapping[str, tuple[str, Mapping[str, int]]] = {"llama-2-70b": ("llama-3.1-70b", {"V": 32000})}
_CHIPS = {"sm100": "b200", "sm103": "b300", "sm90": "h800"}
# Parts of a name that do not change what is read: dates, versions, tunings, storage formats.
_SAYS_NOTHING = re.compile(
    r"\d[\d.]*|v\d+|instruct|chat|base|it|hf|exp|thinking|terminus|preview|kv|awq|gptq|bf16|fp16|fp8|fp4|nvfp4|"
    r"mxfp4|mxfp8|int4|int8|w4a16|w8a8"
)
_SIBLING = 4  # letters of a second name after a slash
_WORDS = re.compile(r"[a-z0-9.]+")


def model_of(text: str) -> str | None:
    """The model that a spelling names, as `design_of` loads it; None where its layers are not catalogued."""
    name = re.sub(r"\(.*?\)", "", text.lower()).strip().split(" ")[0]
    left, _, right = name.rpartition("/")
    # `deepseek-ai/deepseek-v3` is an owner and a model, `deepseek-v3/r1` a model and its sibling.
    name = right if len(right) > _SIBLING or not left else left
    name = re.sub(r"^meta-", "", name)
    name = re.sub(r"^llama(\d)", r"llama-\1", name)
    known = (*model_names(), *_RESIZED)
    for candidate in _shorter(name):
        for choice in (candidate, _SAME_ARCHITECTURE.get(candidate)):
            if choice in known:
                return choice
    return None


@lru_cache(maxsize=128)
def design_of(model: str, kv: Kv) -> Design:
    """The design of a model that `model_of` found."""
    if model not in _RESIZED:
        return load_model(model, kv)
    base, sizes = _RESIZED[model]
    design = load_model(base, kv)
    dims = tuple((name, as_size(sizes.get(name, size))) for name, size in design.program.dims)
    return design.with_(name=model, program=replace(design.program, dims=dims))


def _shorter(name: str) -> list[str]:
    """The name, and what is left of it without last parts that say nothing of its layers."""
    found = [name]
    while _SAYS_NOTHING.fullmatch(name.rpartition("-")[2]):
        name = name.rpartition("-")[0]
        found.append(name)
    return found


@lru_cache(maxsize=256)
def device_of(text: str) -> Device | None:
    """The catalogued device that a spelling names, the fastest where it leaves a choice, or None."""
    words = [_CHIPS.get(w, w) for w in _WORDS.findall(text.lower().replace("_", " ").replace("-", " "))]
    best: list[tuple[float, float, str]] = []
    for name in device_names():
        parts = _WORDS.findall(name.replace("-", " "))
        model = next((p for p in parts if any(c.isdigit() for c in p)), parts[0])
        family = parts[: parts.index(model)]
        if model not in words or any(p not in words for p in family):
            continue
        shared = sum(p in words for p in parts) / len(parts)
        best.append((shared, load_device(name).flops_per_second.get("bf16", 0.0), name))
    if not best:
        return None
    # Words that set a variant apart (`pcie`, `nvl`) decide; where none is written, the fastest is meant.
    written = [b for b in best if b[0] == 1.0 and len(_WORDS.findall(b[2].replace("-", " "))) > 1]
    return load_device(max(written or best, key=lambda b: (b[0] if written else 0.0, b[1]))[2])


# Storage formats by their words in a measurement, narrowest first.
_FORMATS = (
    ("nvfp4", "nvfp4"), ("mxfp4", "mxfp4"), ("int4", "int4"), ("w4a", "int4"), ("fp4", "mxfp4"),
    ("fp8", "fp8"), ("float8", "fp8"), ("int8", "int8"), ("bf16", "bf16"), ("bfloat16", "bf16"),
    ("half", "bf16"), ("fp16", "bf16"), ("float16", "bf16"),
)  # fmt: skip


def format_of_words(text: str) -> str | None:
    """The narrowest storage format that the words name, or None; INT4 counts as the narrowest of 4 bits."""
    lowered = text.lower()
    return next((form for word, form in _FORMATS if word in lowered), None)


def precision_of(text: str) -> str:
    """How precisions are grouped in tables: fp4, int4, fp8, bf16, or `as released`."""
    lowered = text.lower()
    if "int4" in lowered or "w4a16" in lowered:
        return "int4"
    form = format_of_words(text)
    return {"nvfp4": "fp4", "mxfp4": "fp4", None: "as released"}.get(form, form or "")
