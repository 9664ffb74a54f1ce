"""Layer 3: executed work equals the cost formulas, and a wrong formula is noticed."""

from __future__ import annotations

import pytest

import mutations.verify.work as layer
from catalogue.models import load_model
from mutations.start import starting_designs
from mutations.verify import verify
from rooflang.size import mul

MODELS = ("llama-3.1-70b", "gpt-oss-120b", "deepseek-v3")


@pytest.mark.parametrize("model", MODELS)
def test_conventional_placements_do_the_work_that_is_priced(model):
    reference = load_model(model)
    for design in starting_designs(reference):
        verdict = verify(reference, design)
        assert not verdict.reasons, design.name
        assert "work" in verdict.layers


def _doubled(name, monkeypatch):
    right = getattr(layer, name)
    if name == "arithmetic":
        monkeypatch.setattr(
            layer, name, lambda op, e: ({k: mul(v, 2) for k, v in right(op, e)[0].items()}, 0, 0)
        )
    else:
        monkeypatch.setattr(layer, name, lambda op, e, m: [w.plus(w) for w in right(op, e, m)])


@pytest.mark.parametrize("name", ["arithmetic", "move_work"])
def test_a_wrong_formula_is_refused(name, monkeypatch):
    """Another seed than elsewhere, so that no earlier comparison answers."""
    _doubled(name, monkeypatch)
    reference = load_model("llama-3.1-70b")
    tensor_parallel = next(d for d in starting_designs(reference) if "TP attention" in d.name)
    verdict = verify(reference, tensor_parallel, seed=77)
    assert {r.code for r in verdict.reasons} == {"work.differs"}
    assert "by its formula" in verdict.reasons[0].message
