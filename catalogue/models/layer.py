"""One layer: mixing of tokens, then feed-forward, each with a norm before and a residual around."""

from __future__ import annotations

from catalogue.architecture import Dense, Experts, FeedForward, Format, GroupedQuery, Latent, Layer, Mixer
from catalogue.models import attention, feed, latent, moe, recurrent
from catalogue.models.blocks import Block
from catalogue.models.context import Context


def write(block: Block, layer: Layer, ctx: Context, late: str = "") -> str:
    """The sections of the layer; `x` is the residual.

    `late` is a result of an earlier layer that is added at the end of this one; a result that is to be added
    later is given back by name.
    """
    mixed = ""
    if layer.mixer is not None:
        attends = isinstance(layer.mixer, GroupedQuery | Latent)
        with block.section("attention" if attends else "mixer") as b:
            mixed = _mix(b, layer.mixer, _input(b, "h", ctx, ctx.formats.mixer), ctx)
            if not layer.parallel:
                _add(b, ctx, mixed)
    aside = ""
    if layer.beside is not None:
        with block.section(_section(layer.beside)) as b:
            aside = _feed(b, layer.beside, ctx, layer.parallel)
    beside = (late, "" if layer.beside_lag else aside, mixed if layer.parallel else "")
    if layer.feed is not None:
        with block.section(_section(layer.feed)) as b:
            fed = _feed(b, layer.feed, ctx, layer.parallel)
            with b.kernel():
                for n, other in enumerate(o for o in beside if o):
                    fed = b.let(f"sum{n or ''}", f"add({fed}, {other})")
            _add(b, ctx, fed)
    return aside if layer.beside_lag else ""


def _section(part: FeedForward) -> str:
    return "mlp" if isinstance(part, Dense) else "moe"


def _feed(b: Block, part: FeedForward, ctx: Context, parallel: bool) -> str:
    format = ctx.formats.dense if isinstance(part, Dense) else ctx.formats.experts
    u = "h" if parallel else _input(b, "u", ctx, format)
    if isinstance(part, Experts):
        return moe.write(b, u, part, ctx)
    return feed.dense(b, u, part, format, ctx)


def _mix(b: Block, mixer: Mixer, h: str, ctx: Context) -> str:
    match mixer:
        case GroupedQuery():
            return attention.write(b, mixer, h, ctx)
        case Latent():
            return latent.write(b, mixer, h, ctx)
        case _:
            return recurrent.write(b, mixer, h, ctx)


def _input(b: Block, name: str, ctx: Context, format: Format) -> str:
    """The normed residual, and its rounded form where products read that."""
    with b.kernel():
        h = ctx.norm(b, "x", "D", name, "gain")
        ctx.operand(b, h, "D", format)
    return h


def _add(b: Block, ctx: Context, y: str) -> None:
    """The residual addition, in the kernel that makes the result."""
    if ctx.post_norms:
        with b.kernel():
            b.let("x", f"add(x, {ctx.norm(b, y, 'D', 'y_n', 'post_gain')})")
        return
    b.let("x", f"add(x, {y})")
    b.together(y, "x")
