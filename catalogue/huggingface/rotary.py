"""Rotary embeddings: how much of a head rotates, at which base, and the factor of a context extension."""

from __future__ import annotations

from math import log

from catalogue.architecture import Rope
from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.families import Family
from catalogue.huggingface.keys import SYNONYMS
from catalogue.huggingface.view import View

THETA = 10000.0


def rope(view: View, family: Family, width: int, kind: str, dims: int | None = None) -> Rope | None:
    """The rotation of a head of `width`, of which `dims` rotate unless the config tells how many."""
    view.use(*SYNONYMS["theta"], *SYNONYMS["rotary_dims"], *SYNONYMS["rotary_share"])
    if not family.rotary or view.word("position_embedding_type", "rope") in ("nope", "alibi", "absolute"):
        return None
    if view.flag("alibi") or view.flag("attn_config.alibi"):
        return None
    if dims is None:
        share = _stated(view, kind, "partial_rotary_factor", "rotary_share")
        if share is None:
            share = family.rotary_share or 1.0
        dims = view.size_or_none("rotary_dims") or int(width * share)
        dims = min(width, dims - dims % 2)
    theta = _stated(view, kind, "rope_theta", "theta")
    theta = (theta or THETA) * view.positive("rope_ratio", 1.0)
    return Rope(dims, theta, _factor(view)) if dims > 0 else None


def _stated(view: View, kind: str, key: str, role: str) -> float | None:
    """A number that may stand per kind of layer (`rope_parameters.full_attention`) or for all."""
    layer = "sliding_attention" if kind == "sliding" else "full_attention"
    if kind == "sliding" and key == "rope_theta":
        for name in ("swa_rope_theta", "rope_local_base_freq", "local_rope_theta"):
            if view.has(name):
                return view.positive(name, THETA)
    for name in (f"rope_parameters.{layer}.{key}", f"rope_parameters.{key}", f"rope_scaling.{key}"):
        if view.has(name):
            return view.positive(name, 1.0)
    value = view.raw(role)
    if isinstance(value, list):  # one per layer
        value = max((view.finite(role, v) for v in value), default=None)
    if value is not None and view.finite(role, value) <= 0:
        raise ConfigError(f"{view.name}: {view.spelt(role)} must be above 0, but is {value}")
    return None if value is None else view.finite(role, value)


def _factor(view: View) -> float:
    """What YaRN multiplies attention scores by: (0.1 mscale ln(factor) + 1) squared."""
    for place in ("rope_scaling", "rope_parameters"):
        kind = view.raw(f"{place}.rope_type") or view.raw(f"{place}.type")
        if kind == "yarn" and view.has(f"{place}.factor"):
            factor = view.number(f"{place}.factor", 1.0)
            mscale = view.number(f"{place}.mscale_all_dim", 1.0) or 1.0
            return (0.1 * mscale * log(factor) + 1) ** 2 if factor > 1 else 1.0
    return 1.0
