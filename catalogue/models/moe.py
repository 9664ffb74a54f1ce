"""Mixtures of experts: the choice, the shared expert, the routed experts, and what stands around them.

E experts, k of them per token, widths F (routed) and FS (shared). Sections `shared` and `experts` stand in
`moe`, so that placement can speak of each. Routed experts of a narrower width EL work between two projections
of the whole section. Choices that return their input (zero-computation experts, I of them in all) are
counted at their average: of m choices among E + I, a token takes i = m·I/(E + I) of those and k = m − i real
experts, the best of each.
Sources: reports of DeepSeek-V3 (arXiv 2412.19437, section 2.1.2) and LongCat-Flash (arXiv 2509.01322).
"""

from __future__ import annotations

from catalogue.architecture import Dense, Experts, Router
from catalogue.models import feed
from catalogue.models.blocks import Block
from catalogue.models.context import Context


def write(m: Block, u: str, e: Experts, ctx: Context) -> str:
    """What experts and shared expert make of the normed input `u`, of width D."""
    read = ctx.operand(m, u, "D", ctx.formats.experts)
    idle = e.identity * e.chosen // (e.count + e.identity)
    names = (ctx.dim("E", e.count), ctx.dim("k", e.chosen - idle))
    idlers = _choose(m, u, e, ctx, names, idle)
    inner, narrow = "D", read
    if e.latent is not None:
        inner = ctx.dim("EL", e.latent)
        m.weight(ctx.formats.shared.weights, f"D {inner}", "into")
        m.weight(ctx.formats.shared.weights, f"{inner} D", "out_of")
        m.let("u_l", f"einsum({ctx.operand(m, u, 'D', ctx.formats.shared)}, into -> B Q {inner})")
        narrow = ctx.operand(m, "u_l", inner, ctx.formats.experts)
    shared = None
    if e.shared_width:
        with m.section("shared") as b:
            if e.shared_gate:
                b.weight("bf16", "D", "s_open")
                with b.kernel():
                    b.let("s_logit", f"einsum({u}, s_open -> B Q)")
                    b.let("s_share", "sigmoid(s_logit)")
            part = Dense(e.shared_width, e.activation)
            shared = feed.dense(b, u, part, ctx.formats.shared, ctx, "FS", "s")
            if e.shared_gate:
                shared = b.let("s_shared", f"mul({shared}, s_share)")
    with m.section("experts") as b:
        bias = "bf16" if e.bias else None
        sizes = (*names, ctx.dim("F", e.width), inner)
        routed = feed.experts(b, narrow, sizes, ctx.formats.experts, e.activation, ctx, bias, e.scales_input)
    if e.latent is not None:
        if e.latent_norm:
            routed = ctx.norm(m, routed, inner, "routed_n", "latent_gain")
        routed = ctx.operand(m, routed, inner, ctx.formats.shared)
        routed = m.let("widened", f"einsum({routed}, out_of -> B Q D)")
    with m.kernel():
        fed = routed
        if idlers is not None:
            m.let("unchanged", f"einsum({u}, idle_share -> B Q D)")
            fed = m.let("with_idle", f"add({fed}, unchanged)")
        return fed if shared is None else m.let("fed", f"add({shared}, {fed})")


def _choose(m: Block, u: str, e: Experts, ctx: Context, names: tuple[str, str], idle: int) -> str | None:
    """`chosen` experts and their `share`; `idle_share` of choices that return their input."""
    r, (count, k) = e.router, names
    scored = count if not idle else ctx.dim("EI", e.count + e.identity)
    m.weight(ctx.router, f"D {scored}", "router")
    if r.bias:
        m.weight(ctx.router, scored, "router_bias")
    if r.correction:
        m.weight("f32", scored, "bias")
    with m.kernel():
        score = m.let("affinity: f32", f"einsum({u}, router -> B Q {scored})")
        if r.bias:
            final = r.score == "chosen" or (r.score == "softmax" and r.normalise and not r.correction)
            score = m.let("score" if final else "affinity_b", "add(affinity, router_bias)")
        if r.score == "softmax" and (r.correction or not r.normalise):
            m.let("score_t", f"logsumexp({score} over {scored})")
            score = m.let("score: f32", f"softmax({score}, score_t)")
        elif r.score in ("sigmoid", "sqrtsoftplus"):
            score = m.let("score", f"{r.score}({score})")
        ranked = m.let("ranked", f"add({score}, bias)") if r.correction else score
        if not idle:
            _best(m, r, ranked, count, k, "chosen")
            m.let("picked", f"gather({score}[chosen])")
            shares(m, r, "picked", k)
            return None
        i = ctx.dim("i", idle)
        for part, start, name, size in ((count, 0, "chosen", k), ("I", e.count, "idle", i)):
            ctx.dim(part, e.count if part == count else e.identity)
            m.let(f"{name}_r", f"slice({ranked} over {scored} -> B Q {part})", start=start)
            m.let(f"{name}_s", f"slice({score} over {scored} -> B Q {part})", start=start)
            _best(m, r, f"{name}_r", part, size, name)
            m.let(f"{name}_p", f"gather({name}_s[{name}])")
        m.let("share", "scale(chosen_p)", by=r.scale)
        m.let("idle_share", "scale(idle_p)", by=r.scale)
        return "idle_share"


def _best(m: Block, r: Router, ranked: str, count: str, k: str, result: str) -> None:
    call = f"topk({ranked} over {count} -> B Q {k})"
    if r.groups > 1:
        m.let(result, call, groups=r.groups, keep=r.keep)
    else:
        m.let(result, call)


def shares(m: Block, r: Router, picked: str, k: str) -> None:
    """`share` of each chosen expert: its score, normalised to sum 1 where the model does so, and scaled."""
    # A softmax over all experts, normalised over the chosen ones, is a softmax over these.
    if r.score == "chosen" or (r.score == "softmax" and r.normalise and not r.correction):
        m.let("picked_t", f"logsumexp({picked} over {k})")
        name = m.let("share: f32" if r.scale == 1.0 else "portion: f32", f"softmax({picked}, picked_t)")
    elif r.normalise:
        name = m.let(
            "share: f32" if r.scale == 1.0 else "portion: f32", f"norm({picked} over {k})", kind="sum"
        )
    else:
        name = picked
    if name != "share":
        m.let("share", f"scale({name})", by=r.scale)
