"""What `seis import` says of a model's layers and of how its weights are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from catalogue.architecture import (
    Architecture,
    Dense,
    FeedForward,
    Format,
    GatedDelta,
    GroupedQuery,
    KimiDelta,
    Latent,
    Layer,
    Lightning,
    Mamba2,
    Mixer,
)

if TYPE_CHECKING:
    from catalogue.compressed import DeepSeekV4


def layers(facts: Architecture | DeepSeekV4) -> list[tuple[str, str]]:
    """Rows about the layers: how tokens are mixed, and the feed-forward parts."""
    if not isinstance(facts, Architecture):
        ratios = Counter(facts.compress_ratios[: facts.layers])
        mixing = "; ".join(f"{n} x attention {_rows(ratio, facts)}" for ratio, n in ratios.items())
        return [
            ("layers", str(facts.layers)),
            ("token mixing", mixing),
            (
                "feed-forward",
                f"top {facts.experts_per_token} of {facts.experts} experts of {facts.expert_width:,}",
            ),
            ("draft layers", str(facts.draft_layers)),
        ]
    mixers = Counter(_mixer(x.mixer) for x in facts.layers if x.mixer is not None)
    feeds = Counter(_feed(f) for x in facts.layers for f in (x.feed, x.beside) if f is not None)
    rows = [
        ("layers", str(len(facts.layers))),
        ("token mixing", "; ".join(f"{n} x {kind}" for kind, n in mixers.items())),
        ("feed-forward", "; ".join(f"{n} x {kind}" for kind, n in feeds.items())),
    ]
    if facts.draft:
        rows.append(("draft layers", str(len(facts.draft))))
    return rows


def _rows(ratio: int, facts: DeepSeekV4) -> str:
    """What a layer of DeepSeek-V4 attends to beside its window."""
    if ratio == 0:
        return f"in a window of {facts.window}"
    shared = " of a shared cache" if facts.shares_caches else ""
    return f"on rows of {ratio} token{'s' if ratio > 1 else ''}{shared}"


def stored(facts: Architecture | DeepSeekV4) -> str:
    """The formats of weights, most layers first."""
    if not isinstance(facts, Architecture):
        return f"experts {facts.expert_format}, other matrices fp8, the rest bf16"
    parts = [_parts(layer) for layer in facts.layers]
    told = []
    for part in ("mixer", "indexer", "dense", "shared", "experts"):
        formats = Counter(of[part] for of in parts if part in of)
        if formats:
            told.append(f"{part} {' and '.join(_format(f) for f, _ in formats.most_common())}")
    kinds = {text.partition(" ")[2] for text in told}
    if len(kinds) == 1:
        return f"all layers {kinds.pop()}{_head(facts)}"
    return "; ".join(told) + _head(facts)


def _head(facts: Architecture) -> str:
    return "; head tied to the embedding" if facts.tied else f"; head {_format(facts.head)}"


def _parts(layer: Layer) -> dict[str, Format]:
    """The formats of the parts that a layer has."""
    found: dict[str, Format] = {}
    if layer.mixer is not None:
        found["mixer"] = layer.formats.mixer
        if getattr(layer.mixer, "indexer", None) is not None:
            found["indexer"] = layer.formats.indexer
    for feed in _feeds(layer):
        if isinstance(feed, Dense):
            found["dense"] = layer.formats.dense
        elif feed is not None:
            found["experts"] = layer.formats.experts
            if feed.shared_width:
                found["shared"] = layer.formats.shared
    return found


def _feeds(layer: Layer) -> Iterable[FeedForward | None]:
    return layer.feed, layer.beside


def _format(format: Format) -> str:
    """`nvfp4`, or `int4 read as bf16` where products are of another width."""
    narrow = format.weights.startswith(format.activations) or format.weights[2:] == format.activations
    return (
        format.weights if narrow or format.weights == "bf16" else f"{format.weights} x {format.activations}"
    )


def _mixer(mixer: Mixer) -> str:
    if isinstance(mixer, Latent):
        sparse = (
            " on chosen tokens"
            if mixer.indexer
            else " on tokens chosen before"
            if mixer.reuses_choice
            else ""
        )
        return f"latent attention{sparse}"
    if isinstance(mixer, GroupedQuery):
        span = f" in a window of {mixer.window:,}" if mixer.window else ""
        span = f" in chunks of {mixer.chunk:,}" if mixer.chunk else span
        span += " on chosen blocks" if mixer.indexer else ""
        span += " on the cache of an earlier layer" if mixer.reuses_cache else ""
        return f"attention {mixer.heads}/{mixer.kv_heads} heads of {mixer.head_dim}{span}"
    names = {
        GatedDelta: "gated delta rule", KimiDelta: "Kimi delta attention", Lightning: "lightning attention",
        Mamba2: "Mamba-2",
    }  # fmt: skip
    return names[type(mixer)]


def _feed(feed: FeedForward) -> str:
    if isinstance(feed, Dense):
        return f"dense of {feed.width:,}"
    shared = f" + shared {feed.shared_width:,}" if feed.shared_width else ""
    identity = f" + {feed.identity} identity" if feed.identity else ""
    return f"top {feed.chosen} of {feed.count}{identity} experts of {feed.width:,}{shared}"
