"""Hypothesis strategies for well-typed designs: layers of attention, MLP and experts; pools, meshes, states.

`designs()` is the one to use; `sizes()` and `named()` are its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hypothesis import strategies as st

from rooflang.design import (
    Design,
    Fusion,
    Input,
    Mesh,
    Op,
    Operand,
    Placement,
    Pool,
    Program,
    Repeat,
    Schedule,
    Section,
    Shard,
    State,
    Statement,
    Weight,
)
from rooflang.limits import MAX_INTEGER
from rooflang.size import Size, ceildiv, const, div, floordiv, maximum, minimum, symbol

FORMATS = st.sampled_from(["bf16", "fp8", "mxfp4", "nvfp4", "f32"])
B, Q, S = symbol("B"), symbol("Q"), symbol("S")
DEVICES = st.sampled_from(["b300-sxm", "h200-sxm", "mi355x", "tpu_v7", "8x.test"])


def named(text: str, over: str | None = None, index: str | None = None) -> Operand:
    return Operand(text, index, over)


def op(
    result: str,
    operator: str,
    *operands: str | Operand,
    dims: str | None = None,
    dtype: str | None = None,
    **attributes: str | int | float | bool,
) -> Op:
    """An Op written briefly: `op("q", "einsum", "h", "w", dims="B Q E")`."""
    uses = tuple(Operand(o) if isinstance(o, str) else o for o in operands)
    return Op(
        result,
        operator,
        uses,
        tuple(attributes.items()),
        None if dims is None else tuple(dims.split()),
        dtype,
    )


def sizes(symbols: tuple[str, ...] = ("B", "Q", "S")) -> st.SearchStrategy[Size]:
    """Any size that a design may hold, non-constant denominators included."""
    leaves = st.one_of(st.integers(-9, 10**6).map(const), st.sampled_from(symbols).map(symbol))
    divisions: list[Callable[[Size, Size], Size]] = [floordiv, ceildiv, div]

    def grow(inner: st.SearchStrategy[Size]) -> st.SearchStrategy[Size]:
        pairs = st.tuples(inner, inner)
        positive = st.one_of(st.integers(1, 999).map(const), st.sampled_from(symbols).map(symbol))
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            pairs.map(lambda p: p[0] * p[1]),
            pairs.map(lambda p: p[0] - p[1]),
            pairs.map(lambda p: minimum(*p)),
            pairs.map(lambda p: maximum(*p)),
            st.tuples(st.sampled_from(divisions), inner, positive).map(lambda t: t[0](t[1], t[2])),
        )

    return st.recursive(leaves, grow, max_leaves=8).filter(_within_limits)


def _within_limits(size: Size) -> bool:
    if size.kind == "const":
        value = Fraction(size.value)
        return max(abs(value.numerator), value.denominator) <= MAX_INTEGER
    return all(_within_limits(a) for a in size.arguments)


@st.composite
def designs(draw: st.DrawFn, max_repeats: int = 2) -> Design:
    """A small well-typed design. Sections: attention, recurrent, mlp, moe, head; all parts may be absent."""
    dims = {
        name: const(draw(st.sampled_from(values)))
        for name, values in (
            ("D", [64, 128, 8192]), ("K", [2, 4, 8]), ("G", [1, 2, 8]), ("E", [64, 128]), ("F", [256, 512]),
            ("V", [1000, 128256]), ("X", [8, 256]), ("k", [2, 4]), ("A", [4]), ("R", [3]),
        )
    }  # fmt: skip
    span = draw(st.sampled_from([2, 4, 128]))
    dims |= {"S": S, "N": floordiv(S, span), "W": minimum(S, span)}
    if draw(st.booleans()):
        dims["spare"] = draw(sizes())
    body: list[Statement] = [Input("ids", "index<V>", ("B", "Q")), Weight("emb", draw(FORMATS), ("V", "D"))]
    body.append(op("x", "gather", named("emb", index="ids")))
    makers = {"attention": _attention, "mlp": _mlp, "moe": _moe, "recurrent": _recurrent}
    paths: list[str] = []
    for number in range(draw(st.integers(0, max_repeats))):
        kinds = draw(st.lists(st.sampled_from(sorted(makers)), min_size=1, max_size=3, unique=True))
        inner: list[Statement] = []
        for kind in kinds:
            inner.append(Section(kind, tuple(makers[kind](draw, number, span))))
            paths.append(kind)
        body.append(Repeat(f"layer{number}", draw(st.integers(1, 80)), tuple(inner), draw(st.booleans())))
    outputs: tuple[str, ...] = ("x",)
    if draw(st.booleans()):
        body.append(Section("head", tuple(_head(draw))))
        paths.append("head")
        outputs = draw(st.sampled_from([("next",), ("next", "x"), ()]))
    program = Program(tuple(dims.items()), tuple(body), outputs)
    name = draw(st.text(st.characters(codec="utf-8"), max_size=20))
    pools = draw(st.sampled_from([(), ("main",), ("main", "experts")]))
    if not pools:
        return Design(name, program)
    pool_list = tuple(Pool(p, draw(DEVICES), draw(st.integers(1, 512))) for p in pools)
    placement = _placement(draw, list(pools), sorted(set(paths)))
    return Design(name, program, pool_list, placement, _schedule(draw, sorted(set(paths))))


def _attention(draw: st.DrawFn, number: int, span: int) -> list[Statement]:
    kind = draw(st.sampled_from(["append", "window", "every"]))
    rows = {"append": "S", "window": "W", "every": "N"}[kind]
    t = f"{number}"
    cache, extent = draw(FORMATS), 1 if kind == "append" else span
    found: list[Statement] = [
        Weight("gain" + t, "f32", ("D",)),
        Weight("wq" + t, draw(FORMATS), ("D", "K", "G", "E")),
        Weight("wk" + t, "fp8", ("D", "K", "E")),
        Weight("wv" + t, "fp8", ("D", "K", "E")),
        Weight("wo" + t, draw(FORMATS), ("K", "G", "E", "D")),
        State("kc" + t, cache, ("B", rows, "K", "E"), kind, extent),
        State("vc" + t, cache, ("B", rows, "K", "E"), kind, extent),
        op(
            "h", "norm", named("x", over="D"), "gain" + t, kind="rms", eps=draw(st.sampled_from([1e-6, 1e-5]))
        ),
        op("q", "einsum", "h", "wq" + t, dims="B Q K G E"),
        op("kk", "einsum", "h", "wk" + t, dims="B Q K E"),
        op("vv", "einsum", "h", "wv" + t, dims="B Q K E"),
    ]
    query = "q"
    if draw(st.booleans()):
        found.append(op("q2", "rope", named("q", over="E"), last=32, inverse=draw(st.booleans())))
        query = "q2"
    joint = [named("s", over=rows)]
    if draw(st.booleans()):
        found.append(Weight("sink" + t, "f32", ("K", "G")))
        joint.append(named("sink" + t))
    return [
        *found,
        op("kc" + t, "append", "kc" + t, "kk"),
        op("vc" + t, "append", "vc" + t, "vv"),
        op("s", "einsum", query, "kc" + t, dims=f"B Q K G {rows}", dtype="f32"),
        op("l", "logsumexp", *joint),
        op("p", "softmax", "s", "l"),
        op("y", "einsum", "p", "vc" + t, "wo" + t, dims="B Q D"),
        op("x", "add", "x", "y"),
    ]


def _recurrent(draw: st.DrawFn, number: int, span: int) -> list[Statement]:
    t = f"{number}"
    delta = draw(st.booleans())
    return [
        Weight("vk" + t, draw(FORMATS), ("D", "K", "E")),
        Weight("vv" + t, "bf16", ("D", "K", "F")),
        Weight("va" + t, "f32", ("D", "K")),
        Weight("vo" + t, "bf16", ("K", "F", "D")),
        Weight("taps" + t, "bf16", ("A", "K", "E")),
        State("rows" + t, "bf16", ("B", "R", "K", "E"), "window", 3),
        State("last" + t, draw(st.sampled_from(["f32", "bf16"])), ("B", "K", "E", "F"), "last"),
        op("rk", "einsum", "x", "vk" + t, dims="B Q K E"),
        op("rc", "conv", "rk", named("taps" + t, over="A"), "rows" + t),
        op("rows" + t, "append", "rows" + t, "rk"),
        op("rv", "einsum", "x", "vv" + t, dims="B Q K F"),
        op("ra", "einsum", "x", "va" + t, dims="B Q K", dtype="f32"),
        op("rd", draw(st.sampled_from(["exp", "softplus"])), "ra"),
        op("rs", "scan", "last" + t, "rc", "rv", "rd", *(["rd"] if delta else [])),
        op("last" + t, "append", "last" + t, "rs"),
        op("ro", "einsum", "rk", "rs", "vo" + t, dims="B Q D"),
        op("x", "add", "x", "ro"),
    ]


def _mlp(draw: st.DrawFn, number: int, span: int) -> list[Statement]:
    t = f"{number}"
    found: list[Statement] = [Weight(n + t, draw(FORMATS), ("D", "F")) for n in ("up", "gate")]
    found += [
        Weight("down" + t, draw(FORMATS), ("F", "D")),
        op("g", "einsum", "x", "gate" + t, dims="B Q F"),
        op("u", "einsum", "x", "up" + t, dims="B Q F"),
    ]
    if draw(st.booleans()):
        found.append(op("a", "swiglu", "g", "u", limit=draw(st.sampled_from([7.0, 10, 1e30]))))
    else:
        found += [op("sg", "silu", "g"), op("a", "mul", "sg", "u")]
    return [*found, op("z", "einsum", "a", "down" + t, dims="B Q D"), op("x", "add", "x", "z")]


def _moe(draw: st.DrawFn, number: int, span: int) -> list[Statement]:
    t = f"{number}"
    return [
        Weight("router" + t, "f32", ("D", "X")),
        Weight("eu" + t, draw(FORMATS), ("X", "D", "F")),
        Weight("ed" + t, draw(FORMATS), ("X", "F", "D")),
        op("r", "einsum", "x", "router" + t, dims="B Q X", dtype="f32"),
        op("e", "topk", named("r", over="X"), dims="B Q k"),
        op("c", "sigmoid", "r"),
        op("m", "einsum", "x", named("eu" + t, index="e"), dims="B Q k F"),
        op("n", "relu", "m"),
        op("y2", "einsum", "n", named("ed" + t, index="e"), dims="B Q D"),
        op("x", "add", "x", "y2"),
    ]


def _head(draw: st.DrawFn) -> list[Statement]:
    return [
        Weight("unemb", draw(FORMATS), ("D", "V")),
        op("logits", "einsum", "x", "unemb", dims="B Q V"),
        op("next", "sample", named("logits", over="V")),
    ]


def _placement(draw: st.DrawFn, pools: list[str], sections: list[str]) -> Placement:
    axes = {"main": ("pp", "dp", "tp"), "experts": ("ep",)}
    meshes = tuple(Mesh(p, tuple((a, draw(st.sampled_from([1, 2, 8]))) for a in axes[p])) for p in pools)
    shards: list[Shard] = []
    for section in sections:
        if draw(st.booleans()):
            shards.append(Shard(section, "B", draw(st.sampled_from([("dp",), ("dp", "tp"), ("tp", "dp")]))))
        if draw(st.booleans()):
            shards.append(Shard(section, draw(st.sampled_from(["K", "F", "X", "V"])), ("tp",)))
    if draw(st.booleans()):
        shards.append(Shard("x", "D", ("tp",)))
    if draw(st.booleans()):
        shards.append(Shard("x", draw(st.sampled_from(["whole", "partial"])), ("dp",)))
    homes = tuple((s, pools[-1]) for s in sections if draw(st.booleans()))
    tiers = tuple((s, "host") for s in sections if draw(st.booleans()))
    return Placement(meshes, tuple(shards), homes, draw(st.sampled_from([None, "pp"])), tiers)


def _schedule(draw: st.DrawFn, sections: list[str]) -> Schedule:
    known = {
        "attention": ("s", "l", "p", "y"),
        "recurrent": ("rc", "rs", "ro"),
        "mlp": ("g", "u", "a"),
        "moe": ("m", "n"),
        "head": ("logits", "next"),
    }
    fusions = tuple(Fusion(s, known[s]) for s in sections if draw(st.booleans()))
    streams = tuple(s for s in sections if draw(st.booleans()))
    prefetch = tuple(s for s in sections if draw(st.booleans()))
    cascade = tuple(s for s in sections if s == "attention" and draw(st.booleans()))
    return Schedule(draw(st.integers(1, 4)), fusions, draw(st.booleans()), streams, prefetch, cascade)
