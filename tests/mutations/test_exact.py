"""Every rule's results are verified, on one small model of each kind; and where the rules apply."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest

from catalogue.models import load_model
from mutations.registry import rule, rules
from mutations.rule import Rule, Site
from mutations.start import starting_designs
from mutations.verify import verify
from rooflang.design import Design
from rooflang.parser import parse
from rooflang.printer import print_design

MODELS = (
    "llama-3.1-8b", "gpt-oss-20b", "deepseek-v3", "deepseek-v3.2", "minimax-m3", "qwen3-next-80b-a3b",
    "nemotron-3-nano-30b-a3b",
)  # fmt: skip
RULES = [r.name for r in rules()]


@lru_cache(maxsize=16)
def bases(model: str) -> tuple[Design, ...]:
    """Tensor parallelism with whole and with cut residual, and with rows of caches dealt out under heads and
    under whole projections."""
    starts = {d.name.split(": ")[1]: d for d in starting_designs(load_model(model))}
    first = starts["TP attention + EP"]
    scatter = rule("scatter residual")
    found = [first, *(scatter.apply(first, s) for s in scatter.sites(first)[:1])]
    rows = rule("context parallel")
    whole = [s for s in rows.sites(first) if (s.get("axis"), s.get("projections")) == ("tp", "replicated")]
    found += [rows.apply(first, s) for s in whole[:1]]
    return (*found, *(starts[n] for n in ("TP attention + EP + CP",) if n in starts))


def sources(r: Rule, model: str) -> Iterator[Design]:
    """Designs of a model in which a rule has sites: as they are, or after its inverse."""
    for base in bases(model):
        if r.sites(base):
            yield base
    if r.inverse and r.inverse != r.name:
        other = rule(r.inverse)
        for base in bases(model):
            yield from (other.apply(base, s) for s in other.sites(base)[:1])


def some(sites: tuple[Site, ...]) -> tuple[Site, ...]:
    """The first and the last."""
    return sites if len(sites) < 2 else (sites[0], sites[-1])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", RULES)
def test_results_are_the_same_model(name: str, model: str) -> None:
    r = rule(name)
    for source in list(sources(r, model))[:1]:
        for site in some(r.sites(source)):
            found = r.apply(source, site)
            verdict = verify(load_model(model), found)
            assert verdict.accepted, (source.name, site, verdict.reasons[:1])
            assert parse(print_design(found)) == found, site


EVERY = frozenset(MODELS)
ROUTED = EVERY - {"llama-3.1-8b"}
WHERE = {
    "cut weight": EVERY,
    "two-level sum": EVERY,
    "defer sum": EVERY - {"qwen3-next-80b-a3b"},  # its attention is gated before the output projection
    "keep in host": EVERY,
    "prefetch": EVERY,
    "cascade attention": EVERY,
    "recompute": EVERY,
    "fold gain": EVERY,
    "disaggregate head": EVERY,
    "disaggregate experts": ROUTED,
    "disaggregate indexer": {"deepseek-v3.2", "minimax-m3"},
}


@pytest.mark.parametrize("name", list(WHERE))
def test_rules_apply_where_they_make_sense(name: str) -> None:
    assert {m for m in MODELS if any(rule(name).sites(b) for b in bases(m))} == WHERE[name]


def test_text_edited_by_hand_is_verified_like_any_rule() -> None:
    """Context parallelism whose sums are finished behind the output projection, and a wrong factor."""
    model = load_model("llama-3.1-8b")
    text = print_design(bases("llama-3.1-8b")[0])
    lines = "  attention: B over dp, S over tp\n  attention.o: partial over tp\n"
    start = text.index("  attention: ")
    right = text[:start] + lines + text[text.index("\n", start) + 1 :]
    assert verify(model, parse(right)).accepted
    wrong = right.replace("scale(q, by=0.08838834764831845)", "scale(q, by=0.0883883476483184)")
    assert wrong != right
    assert not verify(model, parse(wrong)).accepted
