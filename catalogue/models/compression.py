"""DeepSeek-V4's compressed caches: the compressor, the indexer, and the rows that they make.

A compressor keeps its last raw rows in f32 and, whenever a block of tokens is complete, pools them by a
softmax per channel into one row. CSA (every 4 tokens) has two overlapping series Z: the block's own
and the previous block's. HCA (every 128 tokens) has one. `ape` is a learned offset of the score by position
in the block. Source: technical report section 2.3, reference `inference/model.py`.
The Hadamard rotation of index queries and keys changes no product and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalogue.models.blocks import Block
from catalogue.models.caches import stored


@dataclass(frozen=True, slots=True)
class Compressor:
    """`prefix` of its names, `every` tokens per row, width `dim`, format and block of the rows it stores."""

    prefix: str
    every: int
    dim: str
    dtype: str
    block: int
    rope: int
    theta: float
    epsilon: float

    @property
    def overlaps(self) -> bool:
        return self.every == 4

    @property
    def rows(self) -> str:
        """The name of the cache of compressed rows."""
        return f"{self.prefix}_rows"


def compress(b: Block, c: Compressor, x: str) -> None:
    """Append the step's raw rows and, at the end of a block, its compressed row."""
    p, raw = c.prefix, "R8" if c.overlaps else "R128"
    row = f"Z {c.dim}" if c.overlaps else c.dim
    span = 2 * c.every if c.overlaps else c.every
    b.weight("bf16", f"D {row}", f"{p}_wkv", f"{p}_wgate")
    b.weight("f32", f"A{c.every} {row}", f"{p}_ape")
    b.weight("f32", c.dim, f"{p}_gain")
    b.state("f32", f"B {raw} {row}", f"{p}_raw", "window", span)
    b.state("f32", f"B {raw} {row}", f"{p}_score", "window", span)
    b.state(c.dtype, f"B N{c.every} {c.dim}", c.rows, "every", c.every)
    with b.kernel():
        b.let(f"{p}_kv: f32", f"einsum({x}, {p}_wkv -> B Q {row})")
        b.let(f"{p}_gate: f32", f"einsum({x}, {p}_wgate -> B Q {row})")
    with b.kernel():
        b.append(f"{p}_raw", f"{p}_kv")
        b.append(f"{p}_score", f"{p}_gate")
        pool = f"pool({p}_raw over {raw}, {p}_score over {raw}, {p}_ape)"
        if c.overlaps:
            b.let(f"{p}_pooled", pool, every=c.every, overlap=True)
        else:
            b.let(f"{p}_pooled", pool, every=c.every)
        b.let(f"{p}_normed", f"norm({p}_pooled over {c.dim}, {p}_gain)", eps=c.epsilon)
        b.let(f"{p}_row", f"rope({p}_normed over {c.dim})", last=c.rope, every=c.every, theta=c.theta)
        b.append(c.rows, stored(b, f"{p}_row", c.dim, c.dtype, c.block))


def select(b: Block, keys: Compressor, x: str, q: str, heads: int, width: int) -> str:
    """Positions T of the compressed rows N4 that the index heads IH score highest for each query.

    score = Σ_h w_h relu(q_h · k), with w scaled by (width · heads)^-1/2.
    """
    compress(b, keys, x)
    b.weight("fp8", "R IH IC", "i_wq")
    b.weight("bf16", "D IH", "i_weights")
    b.let("i_q", f"einsum({q}, i_wq -> B Q IH IC)")
    with b.kernel():
        b.let("i_qt", "rope(i_q over IC)", last=keys.rope, theta=keys.theta)
        query = stored(b, "i_qt", "IC", keys.dtype, keys.block)
    with b.kernel():
        b.let("i_w", f"einsum({x}, i_weights -> B Q IH)")
        b.let("i_ws", "scale(i_w)", by=(width * heads) ** -0.5)
    with b.kernel():
        b.let("i_dot", f"einsum({query}, {keys.rows} -> B Q IH N4)")
        b.let("i_relu", "relu(i_dot)")
        b.let("i_sum: f32", "einsum(i_ws, i_relu -> B Q N4)")
    return b.let("picks", "topk(i_sum over N4 -> B Q T)")
