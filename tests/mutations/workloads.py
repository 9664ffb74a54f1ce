"""One model of each family of parts: what the gate injects faults into (the verifier shrinks their sizes)."""

from __future__ import annotations

from functools import lru_cache

from catalogue.models import load_model
from mutations.registry import rule
from mutations.start import starting_designs
from rooflang.design import Design

WORKLOADS = {
    "grouped queries, dense": "llama-3.1-8b",
    "windows, sinks": "gpt-oss-20b",
    "chunks, one expert": "llama-4-maverick",
    "latent": "deepseek-v3",
    "latent, sparse": "glm-5",
    "compressed": "deepseek-v4-flash",
    "compressed, shared": "deepseek-v4.1-flash",
    "block-sparse": "minimax-m3",
    "gated delta": "qwen3-next-80b-a3b",
    "kimi delta": "kimi-k3",
    "lightning": "minimax-text-01",
    "state space": "nemotron-3-nano-30b-a3b",
    "latent experts": "nemotron-3-ultra-550b-a55b",
    "identity experts": "longcat-flash-chat",
}


@lru_cache(maxsize=2)
def workload(name: str) -> tuple[Design, tuple[Design, ...]]:
    """The model with its conventional structures, and last one whose ranks hold parts of unfinished sums:
    rows of caches dealt out over ranks that share whole projections."""
    reference = load_model(WORKLOADS[name])
    starts = starting_designs(reference)
    return reference, (*starts, *(d for d in map(_whole_projections, starts[2:3]) if d is not None))


def _whole_projections(start: Design) -> Design | None:
    rows = rule("context parallel")
    sites = [w for w in rows.sites(start) if w.get("projections") == "replicated" and w.get("axis") == "tp"]
    return rows.apply(start, sites[0]) if sites else None
