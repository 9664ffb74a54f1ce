"""The ends of a language model with one residual stream: embedding, head, and the layer that drafts."""

from __future__ import annotations

from catalogue.architecture import Format, Layer
from catalogue.models import layer
from catalogue.models.blocks import Block, Model
from catalogue.models.context import Context


def tokens(model: Model, dtype: str = "bf16") -> None:
    """Inputs and the embedding: `x` of width D."""
    model.input("index<V>", "B Q", "ids")
    model.input("f32", "B Q V", "noise")
    with model.section("embed") as b:
        b.weight(dtype, "V D", "emb")
        b.let("x", "gather(emb[ids])")


def head(model: Model, ctx: Context, format: Format, tied: bool = False, drafts: bool = False) -> None:
    """Logits and the next token, sampled by adding noise to the logits; `guess` starts a draft from it.

    A tied head reads the embedding.
    """
    with model.section("head") as b:
        if not tied:
            b.weight(format.weights, "D V", "unemb")
        _logits(b, ctx, format, tied)
        with b.kernel():
            b.let("noisy", "add(logits, noise)")
            b.let("next", "sample(noisy over V)")
        if drafts:
            b.let("guess: index<V>", "cast(next)")


def draft(model: Model, of: Layer, ctx: Context, format: Format, tied: bool) -> None:
    """The draft layer: from the latest token and the residual, one more token (its most likely one)."""
    model.dim(DD=2 * ctx.size("D"))
    with model.repeat("mtp", 1, draft=True) as repeat:
        with repeat.section("embed") as b:
            b.weight(ctx.norms, "D", "e_gain", "h_gain")
            b.weight(ctx.formats.mixer.weights, "DD D", "eh_proj")
            b.let("e", "gather(emb[guess])")
            b.let("e_n", "norm(e over D, e_gain)", eps=ctx.epsilon)
            b.let("x_n", "norm(x over D, h_gain)", eps=ctx.epsilon)
            b.let("both", "concat(e_n over D, x_n over D -> B Q DD)")
            b.let("x", f"einsum({ctx.operand(b, 'both', 'DD', ctx.formats.mixer)}, eh_proj -> B Q D)")
        layer.write(repeat, of, ctx)
        with repeat.section("head") as b:
            _logits(b, ctx, format, tied)
            b.let("guess", "sample(logits over V)")


def _logits(b: Block, ctx: Context, format: Format, tied: bool) -> None:
    last = ctx.operand(b, ctx.norm(b, "x", "D", "last", "gain"), "D", format)
    b.let("logits: f32", f"einsum({last}, {'emb' if tied else 'unemb'} -> B Q V)")
