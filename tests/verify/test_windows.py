"""Windows dealt out over ranks: which rank is fullest changes from token to token, and that is no fault."""

from __future__ import annotations

import pytest

from catalogue.models import load_model
from mutations.registry import rule
from mutations.start import starting_designs
from mutations.verify import verify


@pytest.mark.parametrize("model", ["gpt-oss-20b", "deepseek-v4-flash"])
def test_a_cut_window_is_accepted(model: str) -> None:
    reference = load_model(model)
    context = rule("context parallel")
    start = next(d for d in starting_designs(reference) if "DP attention + EP" in d.name)
    sites = [s for s in context.sites(start) if s.get("windows") == "cut"]
    assert sites
    for site in sites[:2]:
        verdict = verify(reference, context.apply(start, site), seed=0)
        assert verdict.accepted, verdict.reasons
