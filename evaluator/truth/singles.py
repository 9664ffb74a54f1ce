"""Designs of one operator, so that a measured kernel runs through the same lowering and prices as a model.

Queries and tokens come from outside and cost nothing; weights, caches and results cost what they do in a
model.
"""

from __future__ import annotations

from functools import lru_cache

from rooflang.design import Design
from rooflang.parser import parse

_TEXT = """
design "one operator"
program {{
  dims {dims}
{body}
}}
system {{ pool main = {ranks} x any }}
placement {{
  mesh main = {mesh}
{shards}
}}
{schedule}
"""


@lru_cache(maxsize=1024)
def gemm(m: int, n: int, k: int, form: str, groups: int = 1) -> Design:
    """`groups` products of m x k by k x n; operands and results stand in memory."""
    return _design(
        f"G={groups} M={m} N={n} R={k}",
        f"weight a: {form}[G, M, R]\nweight b: {form}[G, R, N]\ny = einsum(a, b -> G M N)\noutput y",
    )


@lru_cache(maxsize=1024)
def attention(kv_heads: int, per_head: int, width: int, values: int, queries: int, cache: str) -> Design:
    """Scores, softmax and weighted sum of `queries` tokens against caches of S rows."""
    return _design(
        f"K={kv_heads} P={per_head} C={width} U={values} T={queries} S=S",
        f"""section attention {{
input q: bf16[B, Q, K, P, T, C]
state keys: {cache}[B, S, K, C]
state values: {cache}[B, S, K, U]
s: f32 = einsum(q, keys -> B Q K P T S)
total = logsumexp(s over S)
p = softmax(s, total)
o = einsum(p, values -> B Q K P T U)
}}
output o""",
        fused="s total p o",
    )


@lru_cache(maxsize=1024)
def latent_attention(heads: int, latent: int, rotary: int, cache: str) -> Design:
    """Absorbed latent attention: all heads read one latent row per token, which is key and value at once."""
    return _design(
        f"H={heads} L={latent} P={rotary} S=S",
        f"""section attention {{
input ql: bf16[B, Q, H, L]
input qt: bf16[B, Q, H, P]
state latent: {cache}[B, S, L]
state rotary: {cache}[B, S, P]
sl: f32 = einsum(ql, latent -> B Q H S)
st: f32 = einsum(qt, rotary -> B Q H S)
s = add(sl, st)
total = logsumexp(s over S)
p = softmax(s, total)
o = einsum(p, latent -> B Q H L)
}}
output o""",
        fused="sl st s total p o",
    )


@lru_cache(maxsize=1024)
def experts(
    hidden: int, width: int, count: int, picks: int, form: str, tp: int, ep: int, matrices: int
) -> Design:
    """The products of routed experts of two matrices, or gated ones of three; tokens are whole.

    Widths are cut over `tp`, experts over `ep`.
    """
    gate = f"weight gate: {form}[E, D, F]\ng = einsum(x, gate[chosen] -> B Q k F)\nh = swiglu(g, u)"
    return _design(
        f"D={hidden} F={width} E={count} k={picks}",
        f"""input x: bf16[B, Q, D]
input chosen: index<E>[B, Q, k]
input share: bf16[B, Q, k]
section experts {{
weight up: {form}[E, D, F]
weight down: {form}[E, F, D]
u = einsum(x, up[chosen] -> B Q k F)
{gate if matrices == 3 else "h = relu(u)"}
y = einsum(h, down[chosen], share -> B Q D)
}}
output y""",
        f"ep:{ep} tp:{tp}",
        "experts: E over ep, F over tp",
        tp * ep,
    )


@lru_cache(maxsize=1024)
def exchange(hidden: int, count: int, picks: int, form: str, ranks: int) -> Design:
    """Tokens sent to the ranks of their experts and results back, all values in `form`."""
    return _design(
        f"D={hidden} E={count} k={picks}",
        f"""input t: {form}[B, Q, D]
input score: f32[B, Q, E]
section moe {{
x: {form} = silu(t)
chosen = topk(score over E -> B Q k)
section experts {{
weight w: {form}[E, D]
y: {form} = einsum(x, w[chosen] -> B Q D)
}}
z: {form} = silu(y)
}}
output z""",
        f"ep:{ranks}",
        "moe: B over ep\nexperts: E over ep",
        ranks,
    )


_COLLECTIVES = {
    # (dims of the value, what the first section cuts, what the second cuts)
    "all_reduce": ("N", "R over tp", ""),
    "reduce_scatter": ("M N", "R over tp", "after: N over tp"),
    "all_gather": ("N", "N over tp", ""),
    "alltoall": ("M N", "M over tp", "after: N over tp"),
}


@lru_cache(maxsize=1024)
def collective(name: str, elements: int, ranks: int) -> Design:
    """One collective of `elements` two-byte elements: before it, per rank, or after it for a gather."""
    dims, cut, after = _COLLECTIVES[name]
    rows = 1 if name == "reduce_scatter" else ranks
    whole, over = f"M={rows} N={elements}", "N"
    if name == "alltoall":  # each rank holds `elements`: ranks rows of the M x N, then a column block
        whole, over = f"M={ranks * ranks} N={max(ranks, elements // ranks)}", "M"
    elif name == "reduce_scatter":
        over = "M"
    return _design(
        f"{whole} R={ranks}",
        f"""section before {{
weight a: bf16[{", ".join(dims.split())}, R]
weight b: bf16[R]
y = einsum(a, b -> {dims})
}}
section after {{
z = norm(y over {over})
}}
output z""",
        f"tp:{ranks}",
        f"before: {cut}\n{after}",
        ranks,
    )


def _design(
    dims: str, body: str, mesh: str = "one:1", shards: str = "", ranks: int = 1, fused: str = ""
) -> Design:
    schedule = f"schedule {{\n  fuse attention: {fused}\n}}" if fused else ""
    return parse(_TEXT.format(dims=dims, body=body, mesh=mesh, shards=shards, ranks=ranks, schedule=schedule))
