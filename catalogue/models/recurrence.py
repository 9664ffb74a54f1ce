"""Parts of recurrent mixers: projections, short convolution, decay, recurrence, output projection."""

from __future__ import annotations

from catalogue.models.blocks import Block
from catalogue.models.context import Context


def project(b: Block, x: str, dtype: str, result: str, dims: str, bias: bool = False) -> str:
    """`x` of width D times the weight `w_result`, to these dimensions."""
    name = result.partition(":")[0]
    b.weight(dtype, f"D {dims}", f"w_{name}")
    value = b.let(result, f"einsum({x}, w_{name} -> B Q {dims})")
    if not bias:
        return value
    b.weight("bf16", dims, f"{name}_bias")
    return b.let(f"{value}_b", f"add({value}, {name}_bias)")


def convolved(b: Block, x: str, channels: str, taps: int, ctx: Context, bias: bool = False) -> str:
    """silu of the causal convolution of `x` over its last tokens, channel by channel."""
    a, rows = ctx.dim("A", taps), ctx.dim("AW", taps - 1)
    b.weight("bf16", f"{a} {channels}", f"{x}_taps")
    b.state("bf16", f"B {rows} {channels}", f"{x}_rows", "window", taps - 1)
    value = b.let(f"{x}_c", f"conv({x}, {x}_taps over {a}, {x}_rows)")
    b.append(f"{x}_rows", x)
    if bias:
        b.weight("bf16", channels, f"{x}_shift")
        value = b.let(f"{x}_d", f"add({value}, {x}_shift)")
    return b.let(f"{x}_u", f"silu({value})")


def decayed(b: Block, x: str, heads: str) -> tuple[str, str]:
    """step = softplus(x + dt), and decay = exp(-exp(log_a) · step), in f32; `heads` are the dims of log_a."""
    b.weight("f32", heads, "log_a")
    b.let("step_x", f"add({x}, dt)")
    b.let("step", "softplus(step_x)")
    b.let("rate", "exp(log_a)")
    b.let("pace", "mul(step, rate)")
    b.let("log_decay", "scale(pace)", by=-1.0)
    return "step", b.let("decay", "exp(log_decay)")


def recur(b: Block, dims: str, widths: tuple[str, str], operands: str, q: str) -> str:
    """The state S after each token from `operands` (keys, values, decay, beta), kept, and read: `o` = q · S.

    `dims` are the heads, `widths` those of keys and of values.
    """
    b.state("f32", f"B {dims} {' '.join(widths)}", "memory", "last")
    b.let("after", f"scan(memory, {operands})")
    b.append("memory", "after")
    return b.let("o", f"einsum({q}, after -> B Q {dims} {widths[1]})")


def closed(b: Block, o: str, dims: str, over: str, ctx: Context) -> str:
    """The output projection to width D; `over` is the dimension along which its input is rounded."""
    b.weight(ctx.output.weights, f"{dims} D", "wo")
    with b.kernel():
        return b.let("y", f"einsum({ctx.operand(b, o, over, ctx.output)}, wo -> B Q D)")
