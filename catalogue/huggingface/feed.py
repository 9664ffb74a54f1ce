"""Feed-forward parts: which layers have experts, how wide they are, how experts are chosen."""

from __future__ import annotations

from catalogue.architecture import Activation, Dense, Experts, FeedForward, Router
from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.families import Family
from catalogue.huggingface.keys import SYNONYMS
from catalogue.huggingface.view import View

_KINDS = {
    "silu": "silu", "swish": "silu", "swiglu": "silu", "swiglu_oai": "swiglu_oai", "swigluoai": "swiglu_oai",
    "relu2": "relu2", "relu_squared": "relu2", "squared_relu": "relu2", "situ": "situ",
}  # fmt: skip
_FEED_FLAGS = ("mlp_bias", "use_mlp_bias", "add_bias_linear", "use_bias")


def activation(view: View, family: Family) -> Activation:
    """The non-linearity; `silu` where the config names none."""
    stated = view.word("activation")
    if not stated:
        stated = "silu" if family.gated else "gelu"
        view.assume(f"hidden_act is not stated; {stated} is taken.")
    kind = family.activation or _KINDS.get(stated.lower(), "")
    if not kind:
        kind = "gelu"
        if "gelu" not in stated.lower() and stated.lower() not in ("geglu",):
            view.assume(f"The activation {stated} is written as gelu, which costs about as much.")
    gated = family.gated and kind not in ("relu2",)
    if kind == "swiglu_oai":
        return Activation(
            kind, True, view.number("swiglu_limit", 7.0), view.number("swiglu_alpha", 1.702), offset=1.0
        )
    if kind == "situ":
        beta, linear = (
            view.number("activation_situ_beta", 1.0),
            view.number("activation_situ_linear_beta", 1.0),
        )
        return Activation(kind, True, linear, beta)
    limit = view.number("swiglu_limit", 0.0) if view.has("swiglu_limit") else None
    return Activation(kind, gated, limit or None)


def has_experts(view: View) -> bool:
    """Whether some layers have experts."""
    if view.has("enable_moe_block") and not view.flag("enable_moe_block"):
        return False
    return (_first(view, "experts") or 0) > 0


def sparse_layers(view: View, layers: int) -> set[int]:
    """Layers, counted from 0, with experts."""
    everything = set(range(layers))
    if not has_experts(view):
        return set()
    view.use(*SYNONYMS["width"], *SYNONYMS["dense_width"])  # of dense layers, of which there may be none
    kinds = view.per_layer("mlp_layer_types", layers)
    if kinds is not None:
        view.use("moe_layer_freq", "first_k_dense_replace")
        return {i for i in everything if kinds[i] == "sparse"}
    listed = view.indices("moe_layers_enum")
    if listed is None:
        listed = view.indices("moe_layers")
    if listed is not None:
        view.use(
            "interleave_moe_layer_step", "moe_layer_offset", "moe_every_n_layer", "first_k_dense_replace"
        )
        return listed & everything
    first, frequency = view.count("dense_first"), view.raw("moe_layer_freq")
    if isinstance(frequency, list):
        flags = view.per_layer("moe_layer_freq", layers) or []
        return {i for i in everything if flags[i]}
    every = 1 if frequency is None else view.whole("moe_layer_freq", frequency, 1)
    found = {i for i in everything if i >= first and i % every == 0}
    step = view.size_or_none("interleave_moe_layer_step")
    if step:
        found &= set(range(step - 1, layers, step))
    step = view.size_or_none("decoder_sparse_step")
    if step:
        found = {i for i in found if (i + 1) % step == 0}
    period = view.size_or_none("expert_layer_period")
    if period:
        offset = view.count("expert_layer_offset")
        found = {i for i in found if i % period == offset}
    found -= view.indices("mlp_only_layers") or set()
    if view.has("moe_layer_start_index") or view.has("moe_layer_interval"):
        start, end = _first(view, "moe_layer_start_index") or 0, view.raw("moe_layer_end_index")
        end = end[0] if isinstance(end, list) and end else end
        last = layers - 1 if end in (None, -1) else view.whole("moe_layer_end_index", end, 0)
        every = view.size_or_none("moe_layer_interval") or 1
        found = {i for i in found if start <= i <= last and (i + 1) % every == 0}
    return found


def feed(view: View, family: Family, index: int, sparse: bool) -> FeedForward:
    """The feed-forward part of a layer."""
    return experts(view, family, index) if sparse else dense(view, family, index)


def dense(view: View, family: Family, index: int) -> Dense:
    """A dense part."""
    width = view.size_or_none("dense_width") if has_experts(view) else None
    width = width or view.size_at("width", index)
    if width is None and not has_experts(view):
        width = view.size_or_none("shared_width")  # a mixture without routed experts (Granite 4 micro)
    if width is None:
        ratio = view.size_or_none("expansion_ratio") or 4
        width = ratio * view.size("hidden")
        view.assume(f"intermediate_size is not stated; {ratio} times the hidden size is taken.")
    return Dense(width, activation(view, family), _bias(view, family))


def experts(view: View, family: Family, index: int) -> Experts:
    """A mixture of experts."""
    count = _first(view, "experts") or 0
    chosen = _at(view, "experts_chosen", index)
    if chosen is None:
        raise ConfigError(
            f"{view.name} must state num_experts_per_tok, since it has {count} experts, but it does not; "
            "add the key"
        )
    identity = view.count("identity_experts")
    if chosen > count + identity:
        raise ConfigError(
            f"{view.name}: {view.spelt('experts_chosen')} must be at most {count + identity}, the number of "
            f"experts, but is {chosen}"
        )
    width = _at(view, "expert_width", index) or view.size_at("width", index)
    if width is None:
        raise ConfigError(f"{view.name} must state moe_intermediate_size, but it does not; add the key")
    shared = shared_width(view, family, width, index)
    latent = view.size_or_none("expert_latent")
    return Experts(
        count=count,
        chosen=chosen,
        width=width,
        router=router(view, family),
        activation=activation(view, family),
        shared_width=shared,
        shared_gate=family.shared_gate and shared > 0,
        bias=family.expert_bias,
        latent=latent if latent != view.size("hidden") else None,
        latent_norm=latent is not None and view.flag("latent_moe_use_norm"),
        identity=identity,
        scales_input=family.scales_input,
    )


def shared_width(view: View, family: Family, width: int, index: int) -> int:
    """Width of all shared experts together."""
    number = _at(view, "shared_count", index)
    stated = view.count("shared_width")
    if stated:
        return stated
    view.use("shared_moe_mode")
    if number is not None:
        return number * width
    return width if family.shared_like_expert else 0


def router(view: View, family: Family) -> Router:
    """How experts are scored and chosen."""
    score = view.word("score", family.score).lower()
    correction = (family.correction and not view.has("correction")) or view.flag("correction")
    if view.has("topk_method"):
        correction = view.word("topk_method") == "noaux_tc" or view.flag("correction")
    groups, keep = view.count("groups") or 1, view.count("keep") or 1
    if keep > groups:
        raise ConfigError(f"{view.name}: {view.spelt('keep')} must be at most {groups} groups, but is {keep}")
    normalise = family.normalise
    if view.has("moe_normalize_expert_weights") or view.has("ffn_config.moe_normalize_expert_weights"):
        view.use("moe_normalize_expert_weights", "ffn_config.moe_normalize_expert_weights")
        normalise = True
    return Router(
        score=score if score in ("softmax", "sigmoid", "sqrtsoftplus", "chosen") else family.score,
        correction=correction,
        bias=family.router_bias or view.flag("router_bias"),
        groups=groups,
        keep=keep if groups > 1 else 1,
        normalise=view.flag("normalise", normalise),
        scale=view.number("scale", 1.0),
    )


def _bias(view: View, family: Family) -> bool:
    for key in _FEED_FLAGS:
        if view.has(key):
            return view.flag(key)
    if view.has("bias") and not family.gated:  # of all projections, as in Falcon
        return view.flag("bias")
    return family.feed_bias


def _first(view: View, role: str) -> int | None:
    """A whole number from 0; of a list (one per modality or layer) the first."""
    value = view.raw(role)
    if isinstance(value, list):
        value = value[0] if value else None
    return None if value is None else view.whole(role, value, 0)


def _at(view: View, role: str, index: int) -> int | None:
    """A whole number, the same for all layers or listed by layer."""
    value = view.raw(role)
    if isinstance(value, list):
        value = value[min(index, len(value) - 1)] if value else None
    if value is None:
        return None
    return view.whole(role, value, 0) or None
