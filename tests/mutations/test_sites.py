"""Sites of rules hold what they say: every rule applies there, and its result lowers and is well formed."""

from __future__ import annotations

import random

import pytest

from catalogue.models import load_model
from mutations.registry import rule, rules
from mutations.rule import Rule, RuleError, Site
from mutations.start import starting_designs
from rooflang.check import check
from rooflang.design import Design
from rooflang.lower import lower
from tests.mutations.workloads import WORKLOADS, workload

SHARE = 4  # of so many rules one is tried on each workload; the gate tries all


def uncommon(starts: tuple[Design, ...]) -> Design:
    """A structure in which one axis cuts several names; other tests take the first ones."""
    return next((d for d in starts if d.name.endswith("+ CP")), starts[-1])


def places(r: Rule, design: Design, rng: random.Random) -> list[str]:
    """What is wrong with the result of a rule at a site of a design."""
    sites = r.sites(design)
    if not sites:
        return []
    where = rng.choice(sites)
    result = r.apply(design, where)
    return [f"{r.name} at {where}: {p.code} {p.message}" for p in check(lower(result), numbers=False)]


@pytest.mark.parametrize("name", WORKLOADS)
def test_sites_apply(name: str) -> None:
    _, starts = workload(name)
    rng = random.Random(name)
    some = rules()[list(WORKLOADS).index(name) % SHARE :: SHARE]
    wrong = [text for r in some for text in places(r, uncommon(starts), rng)]
    assert not wrong


def test_sums_and_rows_on_one_axis_leave_products_as_they_are() -> None:
    """Rows of caches and heads over the same axis: another order of products has no layout there."""
    _, starts = workload("grouped queries, dense")
    rows = next(d for d in starts if d.name.endswith("+ CP"))
    assert not rule("reassociate").sites(rows)


@pytest.mark.parametrize("name", ["cut weight", "disaggregate indexer"])
def test_likely_sites_are_the_sites_and_a_few_that_say_no(name: str) -> None:
    """What proposers draw from leaves out no site, and what is too many raises RuleError."""
    chosen = rule(name)
    design = starting_designs(load_model("deepseek-v4-pro"))[0]
    sites, likely = chosen.sites(design), chosen.likely_sites(design)
    refused = [where for where in likely if not applies(chosen, design, where)]
    assert sites
    assert [where for where in likely if where not in refused] == list(sites)
    assert len(refused) < len(sites)


def applies(chosen: Rule, design: Design, where: Site) -> bool:
    try:
        chosen.apply(design, where)
    except RuleError:
        return False
    return True
