"""Every rule on every model: its results type, lower, differ, and come back through its inverse."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from catalogue.models import load_model, model_names
from evaluator.numeric import Numeric
from mutations.registry import rule, rules
from mutations.rule import Rule, RuleError, Site
from mutations.start import starting_designs
from rooflang.canonical import design_hash
from rooflang.design import Design
from rooflang.lower import lower
from rooflang.typing import type_program
from rooflang.work import unit_work

RULES = [r.name for r in rules()]
# One model of each family of parts.
MODELS = (
    "deepseek-v3", "deepseek-v4-pro", "deepseek-v4.1-flash", "gpt-oss-120b", "llama-3.1-70b",
    "longcat-flash-chat", "minimax-m3", "nemotron-3-nano-30b-a3b", "qwen3-next-80b-a3b",
)  # fmt: skip
SAMPLES = 3
POINT = {"B": 96.0, "Q": 1.0, "S": 4096.0, "domain": 64.0, "innet": 0.0}
AXES = {"dp": 4.0, "dpi": 1.0, "tpi": 1.0}


@lru_cache(maxsize=1)
def bases() -> dict[str, tuple[Design, ...]]:
    """Of each model: tensor-parallel attention with expert parallelism, and with narrow experts."""
    found = {}
    for name in MODELS:
        starts = {d.name.split(": ")[1]: d for d in starting_designs(load_model(name))}
        wanted: tuple[str, ...] = ("TP attention + EP", "TP attention + TP experts", "DP attention + EP")
        # Programs of many kinds of layers take long to hash: one placement of those.
        wanted = wanted[:1] if name.startswith("deepseek-v4") else wanted
        found[name] = tuple(starts[w] for w in wanted if w in starts)
    return found


def sources(r: Rule, base: Design) -> list[Design]:
    """Designs that the rule has sites in: the base, or what its inverse makes of it."""
    if r.likely_sites(base) or r.inverse in (None, r.name):
        return [base]
    other = rule(r.inverse or "")
    return [other.apply(base, s) for s in other.sites(base)[:2]]


def some(sites: tuple[Site, ...]) -> tuple[Site, ...]:
    """A few sites, spread over all."""
    return sites if len(sites) <= SAMPLES else tuple(sites[i * len(sites) // SAMPLES] for i in range(SAMPLES))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", RULES)
def test_results_type_lower_and_return(name: str, model: str) -> None:
    r = rule(name)
    for base in bases()[model]:
        for source in sources(r, base):
            before = design_hash(source)
            for site in some(r.likely_sites(source)):
                try:
                    result = r.apply(source, site)
                except RuleError:
                    if r.untried is None:
                        raise
                    continue
                type_program(result.program)
                lower(result)
                assert design_hash(result) != before, site
                if r.inverse and not across_kernels(source, site):
                    assert returns(rule(r.inverse), result, source, before), (source.name, site)


def across_kernels(design: Design, site: Site) -> bool:
    """Whether products of several kernels are merged, which taking them apart leaves in one."""
    products = set(site.words("products"))
    groups = [products & set(f.values) for f in design.schedule.fusions]
    return bool(products) and any(g and g != products for g in groups)


def returns(inverse: Rule, result: Design, source: Design, before: str) -> bool:
    """Whether some site of the inverse gives the source back, lines in any order."""
    for back in inverse.likely_sites(result):
        try:
            found = inverse.apply(result, back)
        except RuleError:
            continue
        if found.program == source.program and alike(found) != alike(source):
            continue
        if design_hash(found) == before:
            return True
    return False


def alike(design: Design) -> object:
    p, s = design.placement, design.schedule
    fusions = frozenset((f.target, frozenset(f.values)) for f in s.fusions)
    numbers = (
        s.microbatches,
        s.overlap_links,
        s.streams,
        s.cascade,
        frozenset(s.prefetch),
        frozenset(p.tiers),
    )
    return design.pools, p.meshes, frozenset(p.shards), p.homes, p.pipeline, fusions, numbers


def matrix_flops(design: Design) -> float:
    """FLOPs of matrix units over all devices at a sample point with even routing."""
    lowered = lower(design)
    axes = {a: AXES.get(a, 2.0) for _, names in lowered.meshes for a in names}
    price = Numeric({**POINT, **axes}, "balanced")
    total = 0.0
    for pool, names in lowered.meshes:
        ranks = float(np.prod([axes[a] for a in names if a != design.placement.pipeline]))
        for segment, unit in lowered.units():
            for kernel in unit_work(unit, tuple(lowered.sizes.items()), lowered.meshes):
                if kernel.work.pool == pool:
                    found = sum(float(price(f)) for f in kernel.work.flops.values())
                    total += found * segment.count * ranks
    return total


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", [r.name for r in rules() if r.same_matrix_work])
def test_matrix_work_is_kept(name: str, model: str) -> None:
    r = rule(name)
    base = bases()[model][0]
    for source in sources(r, base):
        before = matrix_flops(source)
        for site in some(r.sites(source)):
            assert matrix_flops(r.apply(source, site)) == pytest.approx(before, rel=1e-4), site


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    with pytest.raises(RuleError, match="did you mean 'second stream'"):
        rule("second steam")


def test_a_rule_refuses_what_is_no_site() -> None:
    base = bases()["llama-3.1-70b"][0]
    for r in rules():
        with pytest.raises(RuleError, match="one of its sites"):
            r.apply(base, Site("nothing of the kind"))


def test_rules_document_themselves() -> None:
    for r in rules():
        d = r.documentation
        assert all((d.rewrites, d.helps, d.costs, d.source, r.delta, r.relieves)), r.name


@pytest.mark.parametrize("model", model_names())
def test_starting_designs_lower_and_cover_every_section(model: str) -> None:
    starts = starting_designs(load_model(model))
    assert len({design_hash(d) for d in starts}) == len(starts) >= 8
    for design in starts:
        lowered = lower(design)
        for _, unit in lowered.units():
            axes = {a for op in unit.ops for a, _ in op.result.layout}
            assert "dp" in axes or not unit.path, (design.name, unit.path)
