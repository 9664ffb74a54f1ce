"""Kinds of layers: their names, and which layers must be written together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from catalogue.architecture import (
    Dense,
    GroupedQuery,
    Latent,
    Layer,
    Mamba2,
    Mixer,
)

Unit: TypeAlias = tuple[Layer, ...]


def units(layers: Sequence[Layer]) -> tuple[Unit, ...]:
    """Layers in order; one whose part is added later stands together with those until then."""
    found: list[Unit] = []
    position = 0
    while position < len(layers):
        lag = layers[position].beside_lag if layers[position].beside is not None else 0
        found.append(tuple(layers[position : position + 1 + lag]))
        position += 1 + lag
    return tuple(found)


def leading(blocks: Sequence[Unit]) -> int:
    """How many units must stand before all repeats: up to the first choice, if later layers reuse it."""
    mixers = [[layer.mixer for layer in unit] for unit in blocks]
    if not any(isinstance(m, Latent) and m.reuses_choice for unit in mixers for m in unit):
        return 0
    makes = [any(isinstance(m, Latent) and m.indexer is not None for m in unit) for unit in mixers]
    return makes.index(True) + 1


def labels(layers: Sequence[Layer]) -> dict[Layer, str]:
    """A name for each kind of layer: by its mixer and its feed-forward part, where these tell kinds apart.

    `layer` if there is one kind; kinds that both do not tell apart are numbered.
    """
    kinds = list(dict.fromkeys(layers))
    parts = [(_mixer(k.mixer), _feed(k)) for k in kinds]
    told = [len({p[i] for p in parts}) > 1 for i in (0, 1)]
    names = ["_".join(w for i, w in enumerate(p) if told[i] and w) or "layer" for p in parts]
    return dict(zip(kinds, numbered(names), strict=True))


def numbered(names: Iterable[str]) -> list[str]:
    """The names, each further one of a name with a number that no other name has."""
    given = list(names)
    taken: set[str] = set()
    found = []
    for name in given:
        number, made = 1, name
        while made in taken or (number > 1 and made in given):
            number += 1
            made = f"{name}_{number}"
        taken.add(made)
        found.append(made)
    return found


def _mixer(m: Mixer | None) -> str:
    match m:
        case None:
            return ""
        case GroupedQuery():
            return "sliding" if m.window else "chunked" if m.chunk else "indexed" if m.indexer else "full"
        case Latent():
            return "choosing" if m.indexer else "reusing" if m.reuses_choice else "full"
        case Mamba2():
            return "mamba"
        case _:
            return "linear"


def _feed(layer: Layer) -> str:
    if layer.beside is not None and layer.beside_lag:
        return "shortcut"
    if layer.feed is None:
        return ""
    return "dense" if isinstance(layer.feed, Dense) and layer.beside is None else "sparse"
