"""Models by their configs: totals to the last parameter, nothing left unread, and text that parses back."""

from __future__ import annotations

import pytest

from catalogue.architecture import Architecture, Experts, GroupedQuery, Latent
from catalogue.huggingface import Imported, read_config
from catalogue.models import counts
from rooflang.parser import parse
from rooflang.printer import print_design
from tests.catalogue.published import PUBLISHED


def read(name: str) -> Imported:
    return read_config(PUBLISHED[name].config, name)


def facts(name: str) -> Architecture:
    found = read(name).architecture
    assert isinstance(found, Architecture)
    return found


@pytest.mark.parametrize("name", PUBLISHED)
def test_total_is_the_published_one(name: str) -> None:
    published, found = PUBLISHED[name], read(name)
    total = counts.parameters(found.design()) + published.missing
    assert total == pytest.approx(published.parameters, rel=published.tolerance, abs=0)
    assert found.not_understood == ()


@pytest.mark.parametrize("name", PUBLISHED)
def test_text_of_the_design_parses_back(name: str) -> None:
    design = read(name).design()
    assert parse(print_design(design)) == design


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gpt2", "Learned position embeddings (786432 parameters) are left out."),
        ("llama-2-7b", "num_key_value_heads is not stated; each of 32 heads has keys of its own."),
        ("llama-2-7b", "tie_word_embeddings is not stated; false is taken, as in code of llama."),
        ("gemma-3-27b", "vocab_size is not stated; 262208 is taken, as in code of gemma3."),
        ("gemma-2-9b", "Left out, since values depend on it and cost does not: attn_logit_softcapping."),
        ("falcon-h1-34b", "written one after the other"),
        ("gpt-neox-20b", "each with its norm"),
        ("phi-3.5-moe", "The output projection's bias is left out."),
    ],
)
def test_what_is_not_stated_is_said(name: str, sentence: str) -> None:
    assert sentence in " ".join(read(name).assumptions)


def test_layers_follow_their_patterns() -> None:
    def windows(name: str) -> list[int | None]:
        return [m.mixer.window for m in facts(name).layers if isinstance(m.mixer, GroupedQuery)]

    assert windows("mistral-7b-v0.1") == [4096] * 32
    assert set(windows("qwen2.5-7b")) == {None}  # use_sliding_window is false
    assert windows("gemma-2-9b")[:4] == [4096, None, 4096, None]
    assert windows("gemma-3-27b").count(None) == 10
    assert windows("command-r7b")[:4] == [4096, 4096, 4096, None]
    assert windows("exaone-4.0-32b")[:5] == [4096, 4096, 4096, None, 4096]
    scout = [layer.mixer for layer in facts("llama-4-scout").layers]
    assert [m.chunk for m in scout if isinstance(m, GroupedQuery)][:4] == [8192, 8192, 8192, None]
    assert [m.rope is None for m in scout if isinstance(m, GroupedQuery)][:4] == [False, False, False, True]
    small = [layer.mixer for layer in facts("smollm3-3b").layers]
    assert [m.rope is None for m in small if isinstance(m, GroupedQuery)][:4] == [False, False, False, True]
    linear = [isinstance(layer.mixer, Latent) for layer in facts("kimi-linear-48b-a3b").layers]
    assert [i + 1 for i, latent in enumerate(linear) if latent] == [4, 8, 12, 16, 20, 24, 27]


def test_experts_follow_their_patterns() -> None:
    def sparse(name: str) -> list[int]:
        return [i for i, layer in enumerate(facts(name).layers) if isinstance(layer.feed, Experts)]

    assert sparse("llama-4-scout") == list(range(48))
    assert sparse("llama-4-maverick") == list(range(1, 48, 2))
    assert sparse("deepseek-v2-lite") == list(range(1, 27))
    assert sparse("ernie-4.5-21b-a3b") == list(range(1, 28))
    assert sparse("qwen1.5-moe-a2.7b") == list(range(24))


def test_drafts_are_read() -> None:
    draft = facts("glm-4.5-air").draft
    assert len(draft) == 1
    assert isinstance(draft[0].feed, Experts)


def test_positions_that_do_not_turn() -> None:
    assert all(
        m.mixer.rope is None
        for m in facts("nemotron-h-56b").layers + facts("gpt2").layers
        if isinstance(m.mixer, GroupedQuery)
    )
    phi = facts("phi-2").layers[0].mixer
    assert isinstance(phi, GroupedQuery)
    assert phi.rope is not None
    assert phi.rope.dims == 32  # 0.4 of 80
