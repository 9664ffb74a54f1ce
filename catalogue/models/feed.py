"""Feed-forward parts: dense ones, and what routed experts compute.

Names: a dense part has width FD, a shared expert FS, a routed expert F. GELU is written as x · σ(1.702 x)
and SiTU as SiLU: other functions of the same cost.
"""

from __future__ import annotations

from catalogue.architecture import Activation, Dense, Format
from catalogue.models.blocks import Block
from catalogue.models.context import Context
from rooflang.design import Attribute

_GELU = 1.702


def dense(
    b: Block, x: str, part: Dense, format: Format, ctx: Context, stem: str = "FD", prefix: str = "m"
) -> str:
    """down(activation(gate x, up x)) of width D."""
    width = ctx.dim(stem, part.width)
    names = ("gate", "up") if part.activation.gated else ("up",)
    b.weight(format.weights, f"D {width}", *names)
    b.weight(format.weights, f"{width} D", "down")
    if part.bias:
        b.weight("bf16", width, *(f"{n}_bias" for n in names))
        b.weight("bf16", "D", "down_bias")
    read = ctx.operand(b, x, "D", format)
    with b.kernel():
        for n in names:
            b.let(f"{prefix}_{n}", f"einsum({read}, {n} -> B Q {width})")
        inner = [f"{prefix}_{n}" for n in names]
        if part.bias:
            inner = [b.let(f"{v}_b", f"add({v}, {n}_bias)") for v, n in zip(inner, names, strict=True)]
        act = ctx.operand(b, activated(b, inner, part.activation, f"{prefix}_act"), width, format)
    out = b.let(f"{prefix}_out", f"einsum({act}, down -> B Q D)")
    return b.let(f"{out}_b", f"add({out}, down_bias)") if part.bias else out


def experts(
    b: Block,
    x: str,
    names: tuple[str, str, str, str],
    format: Format,
    activation: Activation,
    ctx: Context,
    bias: str | None = None,
    scales_input: bool = False,
) -> str:
    """The chosen experts' results, weighted by `share` and summed over the choices.

    `names` are the dimensions of experts, choices, expert width, and of what goes in and out. `x` is as
    products read it. `bias` is the format of biases, if there are any; `scales_input` applies the shares to
    what goes in.
    """
    e, k, f, d = names
    inside = ("gate", "up") if activation.gated else ("up",)
    b.weight(format.weights, f"{e} {d} {f}", *inside)
    b.weight(format.weights, f"{e} {f} {d}", "down")
    if bias:
        b.weight(bias, f"{e} {f}", *(f"{n}_bias" for n in inside))
        b.weight(bias, f"{e} {d}", "down_bias")
    share = ", share" if scales_input else ""
    with b.kernel():
        for n in inside:
            b.let(f"e_{n}", f"einsum({x}, {n}[chosen]{share} -> B Q {k} {f})")
        made = [f"e_{n}" for n in inside]
        if bias:
            made = [b.let(f"{v}_b", f"add({v}, {n}_bias[chosen])") for v, n in zip(made, inside, strict=True)]
        act = ctx.operand(b, activated(b, made, activation, "e_act"), f, format)
    with b.kernel():
        share = "" if scales_input else ", share"
        routed = b.let("routed", f"einsum({act}, down[chosen]{share} -> B Q {d})")
        if bias:
            b.let("routed_bias", f"einsum(down_bias[chosen], share -> B Q {d})")
            routed = b.let("routed_b", "add(routed, routed_bias)")
    return routed


def activated(b: Block, parts: list[str], a: Activation, result: str) -> str:
    """The non-linearity of (gate and up), or of up alone."""
    if a.gated and a.kind != "relu2":
        extra: dict[str, Attribute] = {}
        if a.limit is not None:
            extra["limit"] = a.limit
        alpha = _GELU if a.kind.startswith("gelu") else a.alpha
        extra |= {k: v for k, v, usual in (("alpha", alpha, 1.0), ("offset", a.offset, 0.0)) if v != usual}
        return b.let(result, f"swiglu({parts[0]}, {parts[1]})", **extra)
    if a.kind == "relu2":
        b.let(f"{result}_r", f"relu({parts[0]})")
        squared = b.let(result if not a.gated else f"{result}_s", f"mul({result}_r, {result}_r)")
        return b.let(result, f"mul({squared}, {parts[1]})") if a.gated else squared
    if a.kind.startswith("gelu"):
        b.let(f"{result}_s", f"scale({parts[0]})", by=_GELU)
        b.let(f"{result}_g", f"sigmoid({result}_s)")
        return b.let(result, f"mul({parts[0]}, {result}_g)")
    return b.let(result, f"silu({parts[0]})")
