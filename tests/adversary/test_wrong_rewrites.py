"""Wrong edits of catalogued models: each is refused, with the section named; right ones are accepted.

The edits are made to the printed text, as a stranger would make them.
"""

from __future__ import annotations

from functools import cache

import pytest

from catalogue.models import load_model
from mutations.verify import verify
from rooflang.design import Design
from rooflang.parser import parse
from rooflang.printer import print_design

LLAMA, GPT, FLASH = "llama-3.1-70b", "gpt-oss-120b", "deepseek-v4-flash"
MERGED = (
    "m_gate = einsum(u, gate -> B Q FD)\n      m_up = einsum(u, up -> B Q FD)",
    "weight gu: bf16[D, FE] = concat(gate over FD, {other} over FD -> D FE)\n"
    "      m = einsum(u, gu -> B Q FE)\n"
    "      m_gate = slice(m over FE, start={first} -> B Q FD)\n"
    "      m_up = slice(m over FE, start={second} -> B Q FD)",
)


@cache
def reference(model: str) -> Design:
    return load_model(model)


def edited(model: str, *changes: tuple[str, str]) -> Design:
    """The model without its kernels, with the first place of each text changed."""
    text = print_design(reference(model)).partition("\nschedule {")[0]
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return parse(text)


def merged(other: str, first: int, second: int) -> tuple[tuple[str, str], ...]:
    old, new = MERGED
    return ((old, new.format(other=other, first=first, second=second)), (" FD=28672", " FD=28672 FE=57344"))


SWIGLU = "m_act = swiglu(m_gate, m_up)\n      m_out = einsum(m_act, down -> B Q D)"
WRONG = {
    "mlp takes the norm of attention": (
        LLAMA, "layer.x", ("section mlp {\n      weight gain: bf16[D]\n", "section mlp {\n"),
    ),
    "values by the weight of keys": (LLAMA, "attention", ("einsum(h, wv", "einsum(h, wk")),
    "gate used twice": (LLAMA, "mlp", ("einsum(u, up", "einsum(u, gate")),
    "epsilon": (LLAMA, "attention", ("eps=1e-05", "eps=1e-06")),
    "theta": (LLAMA, "attention", ("theta=500000.0", "theta=500001.0")),
    "half a rotation": (LLAMA, "attention", ("last=128", "last=64")),
    "a cache read before the append": (
        LLAMA, "attention",
        ("      append(keys, k_t_q)\n", ""),
        ("      total = log", "      append(keys, k_t_q)\n      total = log"),
    ),
    "noise dropped": (LLAMA, "head", ("sample(noisy", "sample(logits")),
    "residual added twice": (LLAMA, "mlp", ("x = x + m_out", "x2 = x + m_out\n      x = x2 + m_out")),
    "sum before the non-linearity": (
        LLAMA, "mlp", (SWIGLU, "z = einsum(m_gate, down -> B Q D)\n      m_out = silu(z)"),
    ),
    "quantised after the sum": (
        LLAMA, "mlp",
        ("m_out = einsum(m_act, down -> B Q D)",
         "z = einsum(m_act, down -> B Q D)\n      m_out: fp8 = quantize(z over D, block=128)"),
    ),
    "rows of a cache turned by one": (
        LLAMA, "attention",
        (" FD=28672", " FD=28672 CA=127 CB=1"),
        ("quantize(k_t over C", "quantize(k_r over C"),
        ("      k_t_q: fp8",
         "      k_a = slice(k_t over C, start=1 -> B Q K CA)\n"
         "      k_b = slice(k_t over C, start=0 -> B Q K CB)\n"
         "      k_r = concat(k_a over CA, k_b over CB -> B Q K C)\n      k_t_q: fp8"),
    ),
    "merged product, slices swapped": (LLAMA, "mlp", *merged("up", 28672, 0)),
    "merged product, slice off by one": (LLAMA, "mlp", *merged("up", 0, 28671)),
    "merged product of one weight": (LLAMA, "mlp", *merged("gate", 0, 28672)),
    "window of 127": (GPT, "attention", ("window 128", "window 127")),
    "sink dropped": (GPT, "attention", ("logsumexp(s over W, sink)", "logsumexp(s over W)")),
    "limit": (GPT, "moe", ("limit=7.0", "limit=7.5")),
    "routed by score without bias": (GPT, "moe", ("topk(score over", "topk(affinity over")),
    "weights normalised before selecting": (
        GPT, "moe",
        ("picked = gather(score[chosen])",
         "t = logsumexp(score over E)\n        all: f32 = softmax(score, t)\n"
         "        picked = gather(all[chosen])"),
    ),
    "another choice for one product": (
        GPT, "moe",
        ("chosen = topk(score over E -> B Q k)",
         "chosen = topk(score over E -> B Q k)\n        other = topk(affinity over E -> B Q k)"),
        ("up[chosen]", "up[other]"),
    ),
    "three picks of four": (
        GPT, "moe",
        (" k=4", " k=4 three=3"), ("E -> B Q k)", "E -> B Q three)"), ("picked over k", "picked over three"),
        ("gate[chosen] -> B Q k F", "gate[chosen] -> B Q three F"),
        ("up[chosen] -> B Q k F", "up[chosen] -> B Q three F"),
    ),
    "an expert less": (GPT, "dims", ("E=128", "E=127")),
    "inverse rotation dropped": (FLASH, "attention", (", inverse=true", "")),
    "blocks of five": (FLASH, "attention", ("every 4", "every 5")),
    "sinkhorn iterations": (FLASH, "attention", ("iterations=20", "iterations=19")),
    "blocks of a quantisation": (FLASH, "attention", ("block=128", "block=64")),
    "factor of the experts": (FLASH, "moe", ("by=1.5", "by=1.0")),
    "a narrower cache": (FLASH, "attention", ("win: v4_row", "win: fp8"), ("kv_q: v4_row", "kv_q: fp8")),
    "looked-up experts chosen by score": (
        FLASH, "moe", ("chosen = gather(table[ids])", "chosen = topk(score over E -> B Q k)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_refused_with_the_place(name: str) -> None:
    model, where, *changes = WRONG[name]
    verdict = verify(reference(model), edited(model, *changes))
    assert not verdict.accepted
    assert verdict.certificate is None
    assert any(where in r.where for r in verdict.reasons), [str(r) for r in verdict.reasons]
    assert all(r.message and r.code for r in verdict.reasons)


RIGHT = {
    "unchanged": (LLAMA,),
    "independent statements reordered": (
        LLAMA,
        ("      k = einsum(h, wk -> B Q K C)\n      v = einsum(h, wv -> B Q K C)\n",
         "      v = einsum(h, wv -> B Q K C)\n      k = einsum(h, wk -> B Q K C)\n"),
    ),
    "merged product": (LLAMA, *merged("up", 0, 28672)),
    "noise given to the sampler": (
        LLAMA,
        ("    noisy = logits + noise\n", ""), ("sample(noisy over V)", "sample(logits over V, noise)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_edits_are_accepted(name: str) -> None:
    model, *changes = RIGHT[name]
    verdict = verify(reference(model), edited(model, *changes))
    assert verdict.accepted, [str(r) for r in verdict.reasons]
