"""DeepSeek-V3: multi-head latent attention in absorbed form, grouped sigmoid routing, one draft layer.

Sections of a layer: `attention`, and `mlp` (repeat `dense`) or `moe` with `shared` and `experts` inside
(repeat `sparse`); others: `embed`, `head`, and the draft layer `mtp` with its own `embed` and `head`.

Dimensions: D hidden; H heads; R query rank; L latent width; P rotary width, A width without rotation,
AP = A + P, LP = L + P; U value width; S cached rows; E experts, k per token; F, FS, FD expert, shared and
dense width; V vocabulary; DD = 2 D. The cache is two states: `latent` and `rotary` are the keys of all heads,
and `latent` their values too.
Sources: facts; technical report arXiv 2412.19437 (sections 2.1, 2.2) and the reference `inference/model.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from catalogue.models import moe
from catalogue.models.blocks import Block, Model
from catalogue.models.caches import Kv, stored
from catalogue.models.ends import head, normed, tokens
from rooflang.design import Design
from rooflang.size import symbol


@dataclass(frozen=True, slots=True)
class DeepSeekV3:
    """Facts of one model, by the names of `catalogue/facts`."""

    layers: int
    dense_layers: int
    draft_layers: int
    hidden: int
    vocabulary: int
    max_position: int
    norm_epsilon: float
    heads: int
    q_rank: int
    latent: int
    nope_dims: int
    rope_dims: int
    value_dims: int
    rope_theta: float
    rope_factor: int
    rope_mscale: float
    dense_width: int
    experts: int
    experts_per_token: int
    expert_width: int
    shared_experts: int
    groups: int
    groups_kept: int
    routed_scale: float

    @property
    def score_scale(self) -> float:
        """1/sqrt(A + P), with the YaRN attention factor (0.1 · mscale · ln(factor) + 1) squared."""
        yarn = 0.1 * self.rope_mscale * log(self.rope_factor) + 1
        return float((self.nope_dims + self.rope_dims) ** -0.5 * yarn**2)


def build(name: str, f: DeepSeekV3, kv: Kv) -> Design:
    """The design of one decode step; served, the cache is fp8."""
    model = Model(name)
    model.dim(D=f.hidden, H=f.heads, R=f.q_rank, L=f.latent, P=f.rope_dims, A=f.nope_dims, U=f.value_dims)
    model.dim(AP=f.nope_dims + f.rope_dims, LP=f.latent + f.rope_dims, S=symbol("S"), V=f.vocabulary)
    model.dim(E=f.experts, k=f.experts_per_token, F=f.expert_width, FS=f.expert_width * f.shared_experts)
    model.dim(FD=f.dense_width, DD=2 * f.hidden)
    cache = "fp8" if kv == "served" else "bf16"
    tokens(model)
    with model.repeat("dense", f.dense_layers) as layer:
        _attention(layer, f, cache)
        with layer.section("mlp") as m:
            u8 = _input(m, "u", f)
            fed = moe.gated(m, u8, "FD", ("fp8", "fp8"))
            with m.kernel():
                m.let("x", f"add(x, {fed})")
    with model.repeat("sparse", f.layers - f.dense_layers) as layer:
        _attention(layer, f, cache)
        _moe(layer, f)
    head(model, f.norm_epsilon, draft=bool(f.draft_layers))
    if not f.draft_layers:
        return model.design("next")
    with model.repeat("mtp", f.draft_layers, draft=True) as layer:
        with layer.section("embed") as b:
            b.weight("f32", "D", "e_gain", "h_gain")
            b.weight("fp8", "DD D", "eh_proj")
            b.let("e", "gather(emb[guess])")
            b.let("e_n", "norm(e over D, e_gain)", eps=f.norm_epsilon)
            b.let("x_n", "norm(x over D, h_gain)", eps=f.norm_epsilon)
            b.let("both", "concat(e_n over D, x_n over D -> B Q DD)")
            both8 = moe.fp8(b, "both", "DD")
            b.let("x", f"einsum({both8}, eh_proj -> B Q D)")
        _attention(layer, f, cache)
        _moe(layer, f)
        with layer.section("head") as b:
            normed(b, "x", "last", f.norm_epsilon)
            b.let("logits: f32", "einsum(last, unemb -> B Q V)")
            b.let("guess", "sample(logits over V)")
    return model.design("next", "guess")


def _input(b: Block, name: str, f: DeepSeekV3) -> str:
    """The sublayer's normed input, rounded to fp8."""
    with b.kernel():
        return moe.fp8(b, normed(b, "x", name, f.norm_epsilon), "D")


def _attention(layer: Block, f: DeepSeekV3, cache: str) -> None:
    with layer.section("attention") as a:
        h8 = _input(a, "h", f)
        a.weight("fp8", "D R", "wq_a")
        a.weight("fp8", "D LP", "wkv_a")
        a.weight("f32", "R", "q_gain")
        a.weight("f32", "L", "kv_gain")
        a.weight("fp8", "R H AP", "wq_b")
        a.weight("fp8", "L H A", "w_uk")
        a.weight("fp8", "L H U", "w_uv")
        a.weight("fp8", "H U D", "wo")
        with a.kernel():
            a.let("q_a", f"einsum({h8}, wq_a -> B Q R)")
            a.let("kv_a", f"einsum({h8}, wkv_a -> B Q LP)")
        with a.kernel():
            a.let("q_n", "norm(q_a over R, q_gain)", eps=f.norm_epsilon)
            q8 = moe.fp8(a, "q_n", "R")
        _cache(a, f, cache)
        a.let("q_b", f"einsum({q8}, wq_b -> B Q H AP)")
        with a.kernel():
            a.let("q_s", "scale(q_b)", by=f.score_scale)
            a.let("q_plain", "slice(q_s over AP -> B Q H A)", start=0)
            a.let("q_turn", "slice(q_s over AP -> B Q H P)", start=f.nope_dims)
            a.let("q_t", "rope(q_turn over P)", last=f.rope_dims, theta=f.rope_theta)
        a.let("q_l", "einsum(q_plain, w_uk -> B Q H L)")
        with a.kernel():
            a.let("s_l: f32", "einsum(q_l, latent -> B Q H S)")
            a.let("s_t: f32", "einsum(q_t, rotary -> B Q H S)")
            a.let("s", "add(s_l, s_t)")
            a.let("total", "logsumexp(s over S)")
            a.let("p", "softmax(s, total)")
            a.let("o_l", "einsum(p, latent -> B Q H L)")
        with a.kernel():
            a.let("o", "einsum(o_l, w_uv -> B Q H U)")
            o8 = moe.fp8(a, "o", "U")
        with a.kernel():
            a.let("y", f"einsum({o8}, wo -> B Q D)")
            a.let("x", "add(x, y)")


def _cache(a: Block, f: DeepSeekV3, cache: str) -> None:
    """The step's latent and rotary rows, appended to the cache."""
    a.state(cache, "B S L", "latent")
    a.state(cache, "B S P", "rotary")
    with a.kernel():
        a.let("l_a", "slice(kv_a over LP -> B Q L)", start=0)
        a.let("l", "norm(l_a over L, kv_gain)", eps=f.norm_epsilon)
        a.append("latent", stored(a, "l", "L", cache, 128))
        a.let("t_a", "slice(kv_a over LP -> B Q P)", start=f.latent)
        a.let("t", "rope(t_a over P)", last=f.rope_dims, theta=f.rope_theta)
        a.append("rotary", stored(a, "t", "P", cache, f.rope_dims))


def _moe(layer: Block, f: DeepSeekV3) -> None:
    """Sigmoid scores; the bias steers the choice alone: the best groups first, then experts in them."""
    with layer.section("moe") as m:
        u8 = _input(m, "u", f)
        m.weight("bf16", "D E", "router")
        m.weight("f32", "E", "bias")
        with m.kernel():
            m.let("affinity: f32", "einsum(u, router -> B Q E)")
            m.let("score", "sigmoid(affinity)")
            m.let("ranked", "add(score, bias)")
            m.let("chosen", "topk(ranked over E -> B Q k)", groups=f.groups, keep=f.groups_kept)
            moe.shares(m, "score", f.routed_scale)
        with m.section("shared") as b:
            shared = moe.gated(b, u8, "FS", ("fp8", "fp8"))
        with m.section("experts") as b:
            routed = moe.experts(b, u8, ("fp8", "fp8"), {})
        with m.kernel():
            m.let("fed", f"add({shared}, {routed})")
            m.let("x", "add(x, fed)")
