"""Layers with a state of fixed size instead of a cache: delta rules, lightning attention, Mamba-2."""

from __future__ import annotations

from catalogue.architecture import GatedDelta, KimiDelta, Lightning, Mamba2
from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.view import View


def gated_delta(view: View) -> GatedDelta:
    """Gated DeltaNet (Qwen3-Next and after)."""
    view.use("num_attention_heads")
    return GatedDelta(
        view.size("linear_num_key_heads"),
        view.size("linear_num_value_heads"),
        view.size("linear_key_head_dim"),
        view.size("linear_value_head_dim"),
        view.size("linear_conv_kernel_dim", 4, "as in Qwen3-Next"),
    )


def kimi_delta(view: View) -> KimiDelta:
    """Kimi delta attention."""
    part = "linear_attn_config."
    width = view.size(part + "head_dim")
    return KimiDelta(
        view.size(part + "num_heads"),
        width,
        width,
        view.size(part + "short_conv_kernel_size", 4, "as in Kimi Linear"),
        None if view.flag(part + "use_full_rank_gate") else width,
        width,
    )


def lightning(view: View) -> Lightning:
    """Lightning attention (MiniMax-01)."""
    heads = view.size("heads")
    width = view.size_or_none("head_dim") or view.size("hidden") // heads
    return Lightning(heads, width)


def mamba2(view: View) -> Mamba2:
    """A Mamba-2 layer."""
    hidden = view.size("hidden")
    expand = view.positive("expand" if view.has("expand") else "mamba_expand", 2.0)
    inner = view.size_or_none("mamba_d_ssm") or int(hidden * expand)
    alone = view.family == "mamba2"  # its heads are the only ones, so they have the plain names
    heads = view.size_or_none("num_heads" if alone else "mamba_heads")
    automatic = view.raw("mamba_head_dim") == "auto"
    dims = None if automatic else view.size_or_none("head_dim" if alone else "mamba_head_dim")
    if heads is None and dims is None:
        raise ConfigError(
            f"{view.name} must state mamba_n_heads or mamba_d_head for its Mamba-2 layers, but it does not; "
            "add a key"
        )
    if heads is None:
        heads = max(1, inner // (dims or 1))
    if dims is None:
        dims = max(1, inner // heads)
    return Mamba2(
        heads,
        dims,
        view.size("mamba_state"),
        view.size("mamba_groups", 1, "as in Mamba-2"),
        view.size("mamba_conv", 4, "as in Mamba-2"),
        view.flag("mamba_conv_bias", True),
        view.flag("mamba_bias"),
    )
