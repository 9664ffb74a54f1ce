"""Formats of a layer's parts: the quantization scheme asked for each module that a part is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from catalogue.architecture import (
    Dense,
    Experts,
    FeedForward,
    Format,
    Formats,
    GatedDelta,
    GroupedQuery,
    KimiDelta,
    Latent,
    Lightning,
    Mamba2,
    Mixer,
)
from catalogue.huggingface.families import Family
from catalogue.huggingface.quantization import PLAIN, Scheme

_ATTENTION = ("self_attn", "attention", "attn", "mixer")
_DELTA = ("linear_attn", "self_attn")
_FEED = ("mlp", "feed_forward", "ffn", "mixer")
_SHARED = ("shared_experts", "shared_expert", "shared_mlp", "share_expert")

Weighted = tuple[str, int]
"""A module's name inside its layer, and how many weights it has."""


class Storage:
    """Asks a scheme for the formats of layers, and notes where a part is stored in several."""

    def __init__(self, scheme: Scheme, family: Family, hidden: int) -> None:
        self._scheme = scheme
        self._family = family
        self._hidden = hidden
        self.assumptions: list[str] = []

    @property
    def head(self) -> Format:
        """The output projection, quantised only where it is named."""
        return self._scheme.of(("lm_head", "head", "output"), implied=False)

    def of(
        self, places: tuple[str, ...], mixer: Mixer | None, feeds: Iterable[FeedForward | None]
    ) -> Formats:
        """Formats of a layer at one of `places`: `layers.3`, or for a draft also `mtp.layers.0`."""
        found = {
            "mixer": PLAIN, "indexer": PLAIN, "dense": PLAIN, "shared": PLAIN, "experts": PLAIN,
        }  # fmt: skip
        output: Format | None = None
        if mixer is not None:
            found["mixer"] = self._part("mixer", places, _mixing(mixer, self._hidden))
            output = self._one(places, [f"{a}.{o}" for a in (*_ATTENTION, *_DELTA, "mamba") for o in _OUT])
            if getattr(mixer, "indexer", None) is not None:
                names = [f"{a}.indexer.{n}" for a in _ATTENTION for n in ("wq_b", "wk")]
                found["indexer"] = self._one(places, names)
        for feed in feeds:
            if isinstance(feed, Dense):
                found["dense"] = self._one(places, [f"{m}.{p}" for m in _FEED for p in ("down_proj", "w2")])
            elif isinstance(feed, Experts):
                found["experts"] = self._experts(places)
                if feed.shared_width:
                    found["shared"] = self._one(places, list(_shared_names(self._family)))
        return Formats(**found, output=output if output not in (None, found["mixer"]) else None)

    def _one(self, places: tuple[str, ...], names: list[str]) -> Format:
        return self._scheme.of([f"{place}.{name}" for place in places for name in names])

    def _experts(self, places: tuple[str, ...]) -> Format:
        under = [f"{u}.experts" if u else "experts" for u in self._family.experts_under]
        names = [
            f"{u}{end}" for u in under for end in ("", ".0.down_proj", ".0.up_proj", ".0.w2", ".down_proj")
        ]
        return self._one(places, names)

    def _part(self, part: str, places: tuple[str, ...], modules: Iterator[tuple[list[str], int]]) -> Format:
        """The format of most of a part's weights."""
        weights: dict[Format, int] = {}
        for names, size in modules:
            format = self._one(places, names)
            weights[format] = weights.get(format, 0) + size
        most = max(weights, key=lambda f: weights[f])
        if len(weights) > 1:
            share = 100 - 100 * weights[most] / sum(weights.values())
            note = (
                f"Some of the {part}'s input projections ({share:.0f} % of their weights) are stored in "
                f"another format than {most.weights}, which is taken for all."
            )
            if note not in self.assumptions:
                self.assumptions.append(note)
        return most


_OUT = ("o_proj", "out_proj", "c_proj", "wo", "dense")


def _shared_names(family: Family) -> Iterator[str]:
    for under in family.experts_under:
        for shared in _SHARED:
            for end in ("down_proj", "up_proj", "w2"):
                yield f"{under}.{shared}.{end}" if under else f"{shared}.{end}"


def _mixing(mixer: Mixer, hidden: int) -> Iterator[tuple[list[str], int]]:
    """The input projections of a mixer: their names and sizes."""
    if isinstance(mixer, Latent):
        up = mixer.heads * (mixer.nope_dims + mixer.rope_dims)
        if mixer.query_rank is None:
            yield _in("q_proj"), hidden * up
        else:
            yield _in("q_a_proj"), hidden * mixer.query_rank
            yield _in("q_b_proj"), mixer.query_rank * up
        yield _in("kv_a_proj_with_mqa"), hidden * (mixer.latent + mixer.rope_dims)
        yield _in("kv_b_proj"), mixer.latent * mixer.heads * (mixer.nope_dims + mixer.value_dims)
    elif isinstance(mixer, GroupedQuery):
        yield _in("q_proj", "qkv_proj", "query_key_value", "c_attn"), hidden * mixer.heads * mixer.head_dim
        yield _in("k_proj"), hidden * mixer.kv_heads * mixer.head_dim
        yield _in("v_proj"), hidden * mixer.kv_heads * mixer.value_dim
    elif isinstance(mixer, GatedDelta):
        values = mixer.value_heads * mixer.value_dim
        yield _delta("in_proj_qkv", "in_proj_qkvz"), hidden * (2 * mixer.key_heads * mixer.key_dim + values)
        yield _delta("in_proj_z", "in_proj_qkvz"), hidden * values
    elif isinstance(mixer, KimiDelta):
        for name in ("q_proj", "k_proj", "v_proj"):
            yield _delta(name), hidden * mixer.heads * mixer.key_dim
    elif isinstance(mixer, Lightning):
        yield _in("qkv_proj"), 3 * hidden * mixer.heads * mixer.head_dim
        yield _in("output_gate"), hidden * mixer.heads * mixer.head_dim
    elif isinstance(mixer, Mamba2):
        yield ["mixer.in_proj", "mamba.in_proj", "self_attn.in_proj"], hidden


def _in(*names: str) -> list[str]:
    return [f"{under}.{name}" for under in _ATTENTION for name in names]


def _delta(*names: str) -> list[str]:
    return [f"{under}.{name}" for under in _DELTA for name in names]
