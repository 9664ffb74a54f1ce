"""A model with another's token mixing: what its cache and attention are worth, all else equal.

`deepseek-v4-pro+deepseek-v3.2` is DeepSeek-V4-Pro's width, layers, experts and vocabulary with the attention
of DeepSeek-V3.2. Such a model was never trained; it is a question to the evaluator, not a published one.
"""

from __future__ import annotations

from dataclasses import replace

from catalogue.architecture import Activation, Architecture, Experts, Format, Formats, Layer, Router
from catalogue.compressed import DeepSeekV4
from catalogue.errors import CatalogueError
from catalogue.models.facts import SEPARATOR


def exchanged(model: Architecture | DeepSeekV4, name: str, other: Architecture | DeepSeekV4) -> Architecture:
    """`model` with the mixers of `other`, spread evenly over its layers; draft layers are left out.

    Raises CatalogueError when `other` has compressed attention, which needs residual streams of its own.
    """
    if isinstance(other, DeepSeekV4):
        raise CatalogueError(
            f"the part after {SEPARATOR!r} must name a model whose attention stands alone, but got {name!r}, "
            "whose attention works on several residual streams; name it first"
        )
    plain = _plain(model) if isinstance(model, DeepSeekV4) else model
    mixing = [layer for layer in other.layers if layer.mixer is not None]
    count, layers = len(plain.layers), []
    for number, layer in enumerate(plain.layers):
        source = mixing[number * len(mixing) // count]
        formats = replace(
            layer.formats,
            mixer=source.formats.mixer,
            indexer=source.formats.indexer,
            output=source.formats.output,
        )
        layers.append(replace(layer, mixer=source.mixer, formats=formats))
    sentence = f"Attention is that of {name}; no such model is published."
    return replace(
        plain,
        layers=tuple(layers),
        draft=(),
        served_cache=other.served_cache,
        assumptions=(*plain.assumptions, sentence),
    )


def _plain(f: DeepSeekV4) -> Architecture:
    """V4's widths and experts with one residual stream; every layer's router is learned."""
    experts = Experts(
        f.experts,
        f.experts_per_token,
        f.expert_width,
        Router("sqrtsoftplus", correction=True, scale=f.routed_scale),
        Activation(limit=f.swiglu_limit),
        shared_width=f.shared_experts * f.expert_width,
    )
    fp8 = Format("fp8", "fp8")
    formats = Formats(fp8, fp8, fp8, fp8, Format(f.expert_format, "fp8"))
    return Architecture(
        f.hidden,
        f.vocabulary,
        (Layer(None, experts, formats=formats),) * f.layers,
        max_position=f.max_position,
        norm_epsilon=f.norm_epsilon,
        norms="f32",
        assumptions=("Residual streams and routing by token id are left out.",),
    )
