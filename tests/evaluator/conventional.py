"""Conventional structures of catalogued models, by title, for evaluator tests."""

from __future__ import annotations

from functools import cache

from catalogue.models import load_model
from catalogue.models.precision import at_precision
from mutations.start import starting_designs
from rooflang.design import Design

DATA_PARALLEL = "DP attention + EP"
TENSOR_PARALLEL = "TP attention + TP experts"
DENSE_TENSOR_PARALLEL = "TP attention + EP"


@cache
def structure(model: str, title: str, kv: str = "served", weights: str | None = None) -> Design:
    """A model under a conventional structure, optionally with its matrices in another format."""
    design = at_precision(load_model(model, "bf16" if kv == "bf16" else "served"), weights)
    return next(s for s in starting_designs(design) if s.name == f"{design.name}: {title}")


def sizes(dp: int = 1, tp: int = 1) -> dict[str, float]:
    return {"dp": float(dp), "tp": float(tp)}
