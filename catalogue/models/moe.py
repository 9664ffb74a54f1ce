"""Feed-forward parts: gated MLPs, routed experts, and the choice of experts.

Names: a dense MLP has width FD, a shared expert FS, a routed expert F; E experts, k of them per token.
Sections `shared` and `experts` stand inside `moe`, so that placement can speak of each.
"""

from __future__ import annotations

from catalogue.models.blocks import Block
from rooflang.design import Attribute


def gated(b: Block, x: str, width: str, formats: tuple[str, str], limit: float | None = None) -> str:
    """down(swiglu(gate x, up x)) of one MLP. `formats` are those of its weights and of its activations."""
    stored, active = formats
    prefix = "s" if b.name == "shared" else "m"
    b.weight(stored, f"D {width}", "gate", "up")
    b.weight(stored, f"{width} D", "down")
    with b.kernel():
        b.let(f"{prefix}_gate", f"einsum({x}, gate -> B Q {width})")
        b.let(f"{prefix}_up", f"einsum({x}, up -> B Q {width})")
        act = _activation(b, prefix, width, active, {} if limit is None else {"limit": limit})
    return b.let(f"{prefix}_out", f"einsum({act}, down -> B Q D)")


def experts(
    b: Block, x: str, formats: tuple[str, str], swiglu: dict[str, Attribute], bias: str | None = None
) -> str:
    """The chosen experts' results, weighted by `share` and summed over k inside the down projection.

    `bias` is the format of per-expert biases, if the model has them.
    """
    stored, active = formats
    b.weight(stored, "E D F", "gate", "up")
    b.weight(stored, "E F D", "down")
    if bias:
        b.weight(bias, "E F", "gate_bias", "up_bias")
        b.weight(bias, "E D", "down_bias")
    with b.kernel():
        b.let("e_gate", f"einsum({x}, gate[chosen] -> B Q k F)")
        b.let("e_up", f"einsum({x}, up[chosen] -> B Q k F)")
        if bias:
            b.let("e_gate_b", "add(e_gate, gate_bias[chosen])")
            b.let("e_up_b", "add(e_up, up_bias[chosen])")
        act = _activation(b, "e", "F", active, swiglu, "_b" if bias else "")
    with b.kernel():
        routed = b.let("routed", f"einsum({act}, down[chosen], share -> B Q D)")
        if bias:
            b.let("routed_bias", "einsum(down_bias[chosen], share -> B Q D)")
            routed = b.let("routed_b", "add(routed, routed_bias)")
    return routed


def _activation(
    b: Block, prefix: str, width: str, active: str, swiglu: dict[str, Attribute], suffix: str = ""
) -> str:
    act = b.let(f"{prefix}_act", f"swiglu({prefix}_gate{suffix}, {prefix}_up{suffix})", **swiglu)
    return fp8(b, act, width) if active == "fp8" else act


def fp8(b: Block, x: str, dim: str) -> str:
    """The activation rounded to fp8 with one scale per 128 elements, shared by all products that read it."""
    return b.let(f"{x}8: fp8", f"quantize({x} over {dim})", block=128)


def shares(b: Block, scores: str, scale: float) -> None:
    """The chosen experts' unbiased scores, normalised to sum 1 and scaled."""
    b.let("picked", f"gather({scores}[chosen])")
    b.let("portion: f32", "norm(picked over k)", kind="sum")
    b.let("share", "scale(portion)", by=scale)
