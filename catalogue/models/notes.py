"""What a composed design says in other words than the model does, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from catalogue.architecture import Activation, Architecture, Dense, Experts, GroupedQuery, Layer


def notes(a: Architecture) -> tuple[str, ...]:
    """The simplifications that the composer makes of this architecture, in order of its layers."""
    found = dict.fromkeys(note for layer in dict.fromkeys(a.layers) for note in _of(layer))
    if len(a.draft) > 1:
        found[f"Of {len(a.draft)} draft layers the first is written; it runs once per drafted token."] = None
    return tuple(found)


def _of(layer: Layer) -> Iterator[str]:
    mixer = layer.mixer
    if isinstance(mixer, GroupedQuery):
        if mixer.chunk is not None:
            yield f"Attention in chunks of {mixer.chunk} tokens is written as a window of as many."
        if mixer.indexer is not None and mixer.indexer.block > 1:
            yield f"Blocks of {mixer.indexer.block} tokens are chosen token by token, as many as they hold."
    for part in (layer.feed, layer.beside):
        if isinstance(part, Dense | Experts):
            yield from _activation(part.activation)
        if isinstance(part, Experts) and part.identity:
            idle = part.identity * part.chosen // (part.count + part.identity)
            yield (
                f"Every token is taken to choose {part.chosen - idle} experts and {idle} of those that "
                "return their input, the average."
            )


def _activation(a: Activation) -> Iterator[str]:
    if a.kind.startswith("gelu"):
        yield "GELU is written as x · σ(1.702 x)."
    elif a.kind == "situ":
        yield "SiTU is written as SiLU, which costs the same."
