"""Grouped-query attention: K key/value heads, each serving G query heads of width C.

Caches hold S rows, or W rows of a sliding window.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalogue.models.blocks import Block
from catalogue.models.caches import stored


@dataclass(frozen=True, slots=True)
class GroupedQuery:
    """`weights` and `cache` are storage formats, `block` the elements per scale of a narrow cache."""

    weights: str
    cache: str
    block: int
    head_dim: int
    theta: float
    biases: bool = False
    sinks: bool = False


def grouped_query(a: Block, g: GroupedQuery, h: str, window: int | None = None) -> str:
    """The attended value of width D; `window` limits it to the last tokens."""
    rows = "S" if window is None else "W"
    a.weight(g.weights, "D K G C", "wq")
    a.weight(g.weights, "D K C", "wk", "wv")
    a.weight(g.weights, "K G C D", "wo")
    if g.biases:
        a.weight(g.weights, "K G C", "q_bias")
        a.weight(g.weights, "K C", "k_bias", "v_bias")
        a.weight(g.weights, "D", "o_bias")
    for name in ("keys", "values"):
        if window is None:
            a.state(g.cache, f"B {rows} K C", name)
        else:
            a.state(g.cache, f"B {rows} K C", name, "window", window)
    with a.kernel():
        q, k, v = (
            _biased(a, name, f"einsum({h}, w{name} -> B Q {dims})", g.biases)
            for name, dims in (("q", "K G C"), ("k", "K C"), ("v", "K C"))
        )
    with a.kernel():
        a.let("q_s", f"scale({q})", by=g.head_dim**-0.5)
        a.let("q_t", "rope(q_s over C)", last=g.head_dim, theta=g.theta)
        a.let("k_t", f"rope({k} over C)", last=g.head_dim, theta=g.theta)
        a.append("keys", stored(a, "k_t", "C", g.cache, g.block))
        a.append("values", stored(a, v, "C", g.cache, g.block))
    with a.kernel():
        a.let("s: f32", f"einsum(q_t, keys -> B Q K G {rows})")
        if g.sinks:
            a.weight("bf16", "K G", "sink")
        a.let("total", f"logsumexp(s over {rows}{', sink' if g.sinks else ''})")
        a.let("p", "softmax(s, total)")
        a.let("o", "einsum(p, values -> B Q K G C)")
    with a.kernel():
        attended = _biased(a, "o", "einsum(o, wo -> B Q D)", g.biases, "y")
        a.let("x", f"add(x, {attended})")
    return "x"


def _biased(a: Block, name: str, call: str, bias: bool, result: str = "") -> str:
    value = a.let(result or name, call)
    return a.let(f"{value}_b", f"add({value}, {name}_bias)") if bias else value
