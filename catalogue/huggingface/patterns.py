"""What each layer is: lists and periods that tell attention, windows, recurrences and rotation apart."""

from __future__ import annotations

from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.families import Family
from catalogue.huggingface.view import MAXIMUM_LAYERS, View

HOW_TO = "write the model as a .roof file (docs/rooflang.md), or a reader for it in catalogue/huggingface"

_KINDS = {
    "full_attention": "full", "attention": "full", "global": "full", "global_attention": "full",
    "full": "full", "deepseek_sparse_attention": "full", "minimax_m3_sparse": "full",
    "sliding_attention": "sliding", "sliding": "sliding", "local": "sliding", "local_attention": "sliding",
    "sliding_window_attention": "sliding", "chunked_attention": "chunked", "mamba": "mamba",
    "mamba2": "mamba", "linear_attention": "linear",
}  # fmt: skip
_BLOCKS = {
    "M": "mamba", "*": "full", "-": "dense", "E": "moe", "mamba": "mamba", "attention": "full",
    "mlp": "dense", "moe": "moe",
}  # fmt: skip


def layer_count(view: View) -> int:
    """The number of layers, which a pattern may state alone."""
    blocks = None if view.has("layers") else view.raw("block_pattern")
    count = len(blocks) if isinstance(blocks, str | list) and blocks else view.size("layers")
    if count > MAXIMUM_LAYERS:
        raise ConfigError(f"{view.name} must have at most {MAXIMUM_LAYERS} layers, but has {count}")
    return count


def block_kinds(view: View, role: str) -> list[str] | None:
    """Layers of one part each (Nemotron-H): full, mamba, dense or moe; None for other models."""
    found = view.raw(role)
    if not isinstance(found, str | list) or not found:
        return None
    parts = [c for c in found if c != "|"]
    for part in parts:
        if not isinstance(part, str) or part not in _BLOCKS:
            raise ConfigError(_unknown(view, part))
    return [_BLOCKS[str(p)] for p in parts]


def mixing_kinds(view: View, family: Family, count: int) -> list[str]:
    """How each layer mixes tokens: full, sliding, chunked, gdn, kda, lightning, mamba, or both of them."""
    kinds = _listed(view, count) or _recurrent(view, family, count) or _windowed(view, family, count)
    linear = family.linear or ("gdn" if view.has("linear_num_value_heads") else "")
    made = []
    for kind in kinds:
        kind = linear if kind == "linear" else kind
        if not kind:
            raise ConfigError(_unknown(view, "linear_attention"))
        made.append(kind)
    if "sliding" in made and not view.has("window") and view.raw("window") is None:
        raise ConfigError(f"{view.name} must state sliding_window for its sliding layers, but it does not")
    if "mamba" in made and (view.has("mamba_dt_rank") or view.has("time_step_rank")) and not _second(view):
        raise ConfigError(
            f"{view.name} has Mamba layers of the first version, which no part describes; {HOW_TO}"
        )
    return made


def rotating(view: View, family: Family, count: int, kinds: list[str]) -> list[bool]:
    """Whether each layer's attention encodes positions by rotation."""
    listed = view.per_layer("no_rope_layers", count) if view.raw("no_rope_layers") else None
    view.use("no_rope_layer_interval", "nope_layer_interval")
    if listed:
        return [bool(flag) for flag in listed[:count]]
    period = family.nope_period or view.size_or_none("no_rope_layer_interval")
    if period is None:
        return [True] * count
    if family.window_period and "sliding" in kinds:
        return [kind != "full" for kind in kinds]
    period = view.size_or_none("no_rope_layer_interval") or period
    return [(i + 1) % period != 0 for i in range(count)]


def _second(view: View) -> bool:
    return view.has("mamba_heads") or view.has("mamba_n_groups") or view.has("mamba_headdim")


def _listed(view: View, count: int) -> list[str] | None:
    """Lists with a word or number per layer."""
    words = view.per_layer("layer_types", count)
    if words is not None:
        view.use(
            "full_attention_interval", "sliding_window_pattern", "_sliding_window_pattern", "attn_type_list"
        )
        view.use("max_window_layers", "use_sliding_window")
        found = []
        for word in words[:count]:
            if not isinstance(word, str) or word not in _KINDS:
                raise ConfigError(_unknown(view, word))
            found.append(_KINDS[word])
        return found
    flags = view.per_layer("hybrid_layer_pattern", count)
    if flags is not None:
        view.use("attention_chunk_size")
        return ["sliding" if flag else "full" for flag in flags[:count]]
    return None


def _recurrent(view: View, family: Family, count: int) -> list[str] | None:
    """Layers with a fixed state among layers of attention."""
    flags = view.per_layer("attn_type_list", count)
    if flags is not None:
        return ["full" if flag else "linear" for flag in flags[:count]]
    full = view.indices("linear_attn_config.full_attn_layers")
    if full is not None:
        view.use("linear_attn_config.kda_layers")
        return ["full" if i + 1 in full else "kda" for i in range(count)]
    if view.has("linear_num_value_heads"):
        every = view.size("full_attention_interval")
        return ["linear" if (i + 1) % every else "full" for i in range(count)]
    full = view.indices("attn_layer_indices")
    if full is not None:
        return ["full" if i in full else "mamba" for i in range(count)]
    period = view.size_or_none("attn_layer_period")
    if period is not None:
        offset = view.count("attn_layer_offset")
        return ["full" if i % period == offset else "mamba" for i in range(count)]
    if view.has("mamba_heads") and view.has("heads"):
        return ["both"] * count
    return None


def _windowed(view: View, family: Family, count: int) -> list[str]:
    """Attention everywhere, with windows or chunks in some layers."""
    if family.nope_period and view.raw("attention_chunk_size") is not None:
        turning = rotating(view, family, count, [])
        return ["chunked" if turns else "full" for turns in turning]
    window = view.size_or_none("window") if view.raw("window") not in (0, -1) else None
    pattern = view.raw("window_period")
    limit = view.size_or_none("max_position")
    if window is None or (limit is not None and window >= limit):
        return ["full"] * count
    if not view.flag("use_sliding_window", not view.has("max_window_layers") or view.flag("use_swa")):
        return ["full"] * count
    if isinstance(pattern, str) and pattern:
        return ["sliding" if pattern[i % len(pattern)] == "L" else "full" for i in range(count)]
    period = view.whole("window_period", pattern, 1) if pattern else family.window_period
    if period is not None:
        if not pattern:
            view.assume(
                f"layer_types is not stated; one of every {period} layers is global, as in the family's code."
            )
        return ["sliding" if (i + 1) % period else "full" for i in range(count)]
    if view.has("max_window_layers"):
        first = view.count("max_window_layers")
        return ["full" if i < first else "sliding" for i in range(count)]
    if not family.window_from_key:
        return ["full"] * count
    return ["sliding"] * count


def _unknown(view: View, kind: object) -> str:
    return f"{view.name} has layers of the kind {kind!r}, which no part describes; {HOW_TO}"
