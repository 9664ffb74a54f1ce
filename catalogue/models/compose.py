"""An architecture as a design of one decode step, composed of the parts that its layers are made of.

Sections of a layer: `attention`, or `mixer` where it keeps a recurrent state instead of a cache; and `mlp`,
or `moe` with `shared` and `experts` in it; others: `embed`, `head`, and the draft layer `mtp` with its own
`embed` and `head`. Layers of one kind stand in one repeat, a period of several kinds in one repeat with a
section for each. D is the hidden width, V the vocabulary; a part's own dimensions are named where it is
written, with a number where two kinds of layers need different sizes (K, K2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from catalogue.architecture import Architecture, GroupedQuery, Layer
from catalogue.models import ends, layer
from catalogue.models.blocks import Block, Model
from catalogue.models.caches import Kv
from catalogue.models.context import Context, Dims
from catalogue.models.kinds import Unit, labels, leading, numbered, units
from catalogue.models.layers import runs
from rooflang.design import Design

Titles = Callable[[Sequence[Unit]], list[str]]


def compose(name: str, a: Architecture, kv: Kv = "served") -> Design:
    """The program and the kernels that engines fuse; no pools and no placement.

    `kv` is the caches' storage: as served, or bf16. Of several shipped draft layers the first is written,
    which is run once per drafted token.
    """
    model = Model(name)
    model.dim(D=a.hidden, V=a.vocabulary)
    dims = Dims(model)

    def context(of: Layer) -> Context:
        cache = a.served_cache if kv == "served" else "bf16"
        return Context(
            dims,
            of.formats,
            a.norm_epsilon,
            a.norms,
            cache,
            kv == "served",
            a.router,
            a.norm_bias,
            a.post_norms,
        )

    names = labels(a.layers)

    def titles(found: Sequence[Unit]) -> list[str]:
        return numbered(names[u[0]] if len(u) == 1 else group(len(u)) for u in found)

    def write(block: Block, found: Sequence[Unit]) -> None:
        """Units one after the other, each in a section of its own if there are several."""
        if len(found) > 1:
            for title, unit in zip(titles(found), found, strict=True):
                with block.section(title) as part:
                    write(part, (unit,))
            return
        (unit,) = found
        late = ""
        for title, each in zip(titles([(x,) for x in unit]), unit, strict=True):
            if len(unit) == 1:
                layer.write(block, each, context(each))
                continue
            with block.section(title) as part:
                late = layer.write(part, each, context(each), late)

    ends.tokens(model, a.embedding)
    blocks = units(a.layers)
    first = leading(blocks)
    found = [((unit,), 0) for unit in blocks[:first]] + runs(blocks[first:])
    whole = numbered(titles(p)[0] if len(p) == 1 else group(len(p)) for p, _ in found)
    for title, (period, count) in zip(whole, found, strict=True):
        apart = count == 0 or any(_lends(x) for unit in period for x in unit)
        with model.section(title) if apart else model.repeat(title, count) as part:
            write(part, period)
    ends.head(model, context(a.layers[-1]), a.head, a.tied, bool(a.draft))
    if not a.draft:
        return model.design("next")
    ends.draft(model, a.draft[0], context(a.draft[0]), a.head, a.tied)
    return model.design("next", "guess")


def _lends(layer: Layer) -> bool:
    """Whether later layers read the layer's cache, which they see if it stands outside repeats."""
    mixer = layer.mixer
    return isinstance(mixer, GroupedQuery) and bool(mixer.shared_cache) and not mixer.reuses_cache


def group(members: int) -> str:
    """The name of a period of several layers."""
    return "pair" if members == 2 else "group"
