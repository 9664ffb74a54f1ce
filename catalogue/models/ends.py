"""The two ends of a language model with one residual stream: embedding and head."""

from __future__ import annotations

from catalogue.models.blocks import Block, Model


def tokens(model: Model) -> None:
    """Inputs and the embedding: `x` of width D."""
    model.input("index<V>", "B Q", "ids")
    model.input("f32", "B Q V", "noise")
    with model.section("embed") as b:
        b.weight("bf16", "V D", "emb")
        b.let("x", "gather(emb[ids])")


def normed(b: Block, x: str, result: str, epsilon: float, dtype: str = "f32") -> str:
    """RMS norm with a learned gain."""
    b.weight(dtype, "D", "gain")
    return b.let(result, f"norm({x} over D, gain)", eps=epsilon)


def head(model: Model, epsilon: float, dtype: str = "f32", draft: bool = False) -> None:
    """Logits and the next token, sampled by adding noise to the logits; `guess` starts a draft from it."""
    with model.section("head") as b:
        b.weight("bf16", "D V", "unemb")
        normed(b, "x", "last", epsilon, dtype)
        b.let("logits: f32", "einsum(last, unemb -> B Q V)")
        with b.kernel():
            b.let("noisy", "add(logits, noise)")
            b.let("next", "sample(noisy over V)")
        if draft:
            b.let("guess: index<V>", "cast(next)")
