"""Manifold-constrained hyper-connections (mHC): several residual streams around each sublayer.

A sublayer reads streams of one name and leaves streams of another (attention M -> N, MoE N -> M), since
a contraction over names needs two names for "stream before" and "stream after"; both count the same.
The flattened streams are MD = M x D. Source: DeepSeek-V4 technical report (arXiv 2606.19348), section 2.2,
and the reference `inference/model.py`. The epsilon of 1e-6 that the reference adds to `pre` is left out.
"""

from __future__ import annotations

from catalogue.models.blocks import Block


def enter(b: Block, before: str, after: str, epsilon: float, iterations: int) -> str:
    """Mix the streams `x` into one input of width D, and prepare how its result will be spread again.

    pre = sigmoid, post = 2 sigmoid, comb = softmax and Sinkhorn normalisation, each of an affine function
    of all normalised streams; all of it in f32.
    """
    _maps(b, before, {"pre": before, "post": after, "comb": f"{after} {before}"}, epsilon)
    with b.kernel():
        _affine(b, "pre", "post", "comb")
        b.let("pre", "sigmoid(pre_b)")
        b.let("post_g", "sigmoid(post_b)")
        b.let("post", "scale(post_g)", by=2.0)
        b.let("comb", f"norm(comb_b over {before})", kind="sinkhorn", iterations=iterations, with_=after)
        return b.let("mixed", "einsum(pre, x -> B Q D)")


def leave(b: Block, result: str, before: str, after: str) -> None:
    """x'_j = post_j · result + Σ_i comb_ji · x_i."""
    with b.kernel():
        b.let("kept", f"einsum(comb, x -> B Q {after} D)")
        b.let("spread", f"einsum(post, {result} -> B Q {after} D)")
        b.let("x", "add(kept, spread)")


def collapse(b: Block, epsilon: float) -> str:
    """The head's mix of the streams M of `x` into one vector: pre alone."""
    _maps(b, "M", {"pre": "M"}, epsilon)
    with b.kernel():
        _affine(b, "pre")
        b.let("pre", "sigmoid(pre_b)")
        return b.let("mixed", "einsum(pre, x -> B Q D)")


def copies(b: Block) -> None:
    """The ones by which one vector becomes M equal streams: an integer constant, not a parameter."""
    b.weight("int8", "M", "copies")


def _maps(b: Block, before: str, parts: dict[str, str], epsilon: float) -> None:
    """The linear maps from the flattened streams, one per part, with its scale and offset."""
    for name, dims in parts.items():
        b.weight("f32", f"MD {dims}", f"{name}_w")
        b.weight("f32", "", f"{name}_scale")
        b.weight("f32", dims, f"{name}_base")
    with b.kernel():
        b.let("flat", f"merge(x over {before} -> B Q MD)")
        b.let("scaled: f32", "norm(flat over MD)", eps=epsilon)
        for name, dims in parts.items():
            b.let(f"{name}_m: f32", f"einsum(scaled, {name}_w -> B Q {dims})")


def _affine(b: Block, *parts: str) -> None:
    for name in parts:
        b.let(f"{name}_s", f"mul({name}_m, {name}_scale)")
        b.let(f"{name}_b", f"add({name}_s, {name}_base)")
