"""DeepSeek-V4's compressed caches: the compressor, the indexer, and the rows that they make.

A compressor keeps its last raw rows in f32 and, whenever a block of tokens is complete, pools them by a
softmax per channel into one row. CSA (every 4 tokens) has two overlapping series Z: the block's own
and the previous block's. HCA (every 128 tokens) and V4.1 (every 1 or 2) have one. `ape` is a learned offset
of the score by position in the block, which V4.1 lacks.
Source: technical report section 2.3, reference `inference/model.py`.
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
    ape: bool = True

    @property
    def overlaps(self) -> bool:
        return self.every == 4

    @property
    def over(self) -> str:
        """The name of the dimension of compressed rows."""
        return "S" if self.every == 1 else f"N{self.every}"

    @property
    def rows(self) -> str:
        """The name of the cache of compressed rows."""
        return f"{self.prefix}_rows"


def compress(b: Block, c: Compressor, x: str) -> None:
    """Append the step's raw rows and, at the end of a block, its compressed row."""
    p = c.prefix
    row = f"Z {c.dim}" if c.overlaps else c.dim
    b.weight("bf16", f"D {row}", f"{p}_wkv")
    if c.every > 1:
        b.weight("bf16", f"D {row}", f"{p}_wgate")
    if c.ape:
        b.weight("f32", f"A{c.every} {row}", f"{p}_ape")
    b.weight("f32", c.dim, f"{p}_gain")
    rows = ("every", c.every) if c.every > 1 else ("append", 1)
    b.state(c.dtype, f"B {c.over} {c.dim}", c.rows, *rows)
    with b.kernel():
        b.let(f"{p}_kv: f32", f"einsum({x}, {p}_wkv -> B Q {row})")
        if c.every > 1:
            b.let(f"{p}_gate: f32", f"einsum({x}, {p}_wgate -> B Q {row})")
    with b.kernel():
        pooled = _pooled(b, c, row) if c.every > 1 else f"{p}_kv"
        b.let(f"{p}_normed", f"norm({pooled} over {c.dim}, {p}_gain)", eps=c.epsilon)
        b.let(f"{p}_row", f"rope({p}_normed over {c.dim})", last=c.rope, every=c.every, theta=c.theta)
        b.append(c.rows, stored(b, f"{p}_row", c.dim, c.dtype, c.block))


def _pooled(b: Block, c: Compressor, row: str) -> str:
    """The row of a finished block, from the raw rows that are kept."""
    p, span = c.prefix, 2 * c.every if c.overlaps else c.every
    raw = f"R{span}"
    b.state("f32", f"B {raw} {row}", f"{p}_raw", "window", span)
    b.state("f32", f"B {raw} {row}", f"{p}_score", "window", span)
    b.append(f"{p}_raw", f"{p}_kv")
    b.append(f"{p}_score", f"{p}_gate")
    pool = f"pool({p}_raw over {raw}, {p}_score over {raw}{f', {p}_ape' if c.ape else ''})"
    if c.overlaps:
        return b.let(f"{p}_pooled", pool, every=c.every, overlap=True)
    return b.let(f"{p}_pooled", pool, every=c.every)


def indexer(b: Block, keys: Compressor, q: str) -> str:
    """Index queries of heads IH, from the low-rank query."""
    b.weight("fp8", "R IH IC", "i_wq")
    b.let("i_q", f"einsum({q}, i_wq -> B Q IH IC)")
    with b.kernel():
        b.let("i_qt", "rope(i_q over IC)", last=keys.rope, theta=keys.theta)
        return stored(b, "i_qt", "IC", keys.dtype, keys.block)


def score(
    b: Block, x: str, query: str, keys: str, over: str, heads: int, width: int, prefix: str = "i"
) -> str:
    """The sum of every key: Σ_h w_h relu(q_h · k), with w scaled by (width · heads)^-1/2."""
    b.weight("bf16", "D IH", "i_weights")
    with b.kernel():
        b.let("i_w", f"einsum({x}, i_weights -> B Q IH)")
        b.let("i_ws", "scale(i_w)", by=(width * heads) ** -0.5)
    with b.kernel():
        b.let(f"{prefix}_dot", f"einsum({query}, {keys} -> B Q IH {over})")
        b.let(f"{prefix}_relu", f"relu({prefix}_dot)")
        return b.let(f"{prefix}_sum: f32", f"einsum(i_ws, {prefix}_relu -> B Q {over})")
