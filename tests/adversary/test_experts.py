"""One expert among many takes the weights of another: noticed whichever it is, however few tokens it gets."""

from __future__ import annotations

import pytest

from catalogue.models import load_model
from mutations.verify import verify
from tests.adversary.test_deceptions import G, edit

EXPERTS = 128


def exchanged(at: int, by: int) -> tuple[tuple[str, str], ...]:
    """Changes of the text that lay expert `by` where expert `at` was, in a derived weight."""
    sizes = {"E1": at, "E2": 1, "E3": EXPERTS - 1 - at}
    starts = {"E1": 0, "E2": by, "E3": at + 1}
    names = [n for n, size in sizes.items() if size]
    slices = "".join(
        f" weight g{n}: mxfp4[{n}, D, F] = slice(gate over E, start={starts[n]} -> {n} D F)\n" for n in names
    )
    laid = ", ".join(f"g{n} over {n}" for n in names)
    whole = f" weight g9: mxfp4[E, D, F] = concat({laid} -> E D F)\n"
    dims = "".join(f" {n}={sizes[n]}" for n in names)
    return (
        ("e_gate = einsum(u, gate[chosen]", f"{slices}{whole} e_gate = einsum(u, g9[chosen]"),
        (f" E={EXPERTS}", f" E={EXPERTS}{dims}"),
    )


@pytest.mark.parametrize(("at", "by"), [(0, 1), (127, 0)])
def test_an_exchanged_expert_is_noticed(at: int, by: int) -> None:
    verdict = verify(load_model(G), edit(G, *exchanged(at, by)))
    assert {r.code for r in verdict.reasons} == {"value.differs"}


def test_a_derived_weight_that_cannot_be_run_is_a_reason_and_no_error() -> None:
    """Slices that small sizes cannot keep."""
    verdict = verify(load_model(G), edit(G, *exchanged(64, 3)))
    assert {r.code for r in verdict.reasons} == {"type.size"}
    assert all("derived weight" in r.message for r in verdict.reasons)
