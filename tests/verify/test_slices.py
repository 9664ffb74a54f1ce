"""Slices side by side: test sizes keep where one ends and the next one starts."""

from __future__ import annotations

from catalogue.models import load_model
from mutations.registry import rule
from mutations.start import starting_designs
from mutations.verify import verify


def test_four_products_as_one() -> None:
    """Of four parts of 1024, 1024, 256 and 256, the second starts at a size that other dimensions have."""
    reference = load_model("deepseek-v4-pro")
    merge = rule("merge products")
    start = starting_designs(reference)[0]
    site = next(s for s in merge.sites(start) if len(s.words("products")) == 4)
    verdict = verify(reference, merge.apply(start, site), seed=0)
    assert verdict.accepted, verdict.reasons
