"""How many times the peak throughput of others a model reaches, on the same device and context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.comparison.result import Comparison


@dataclass(frozen=True, slots=True)
class Ratio:
    """`reference` reaches `times` the peak tokens/s/GPU of `other`."""

    reference: str
    other: str
    device: str
    context: int
    times: float


def ratios(comparison: Comparison, references: Sequence[str]) -> tuple[Ratio, ...]:
    """Every pair of a reference and another model where both run, the largest ratio first."""
    peaks = {
        (r.model, r.device, r.context): r.peak.tokens_per_second_per_gpu
        for r in comparison.results
        if r.peak is not None
    }
    found = [
        Ratio(reference, model, device, context, peaks[reference, device, context] / peak)
        for (model, device, context), peak in peaks.items()
        if model not in references
        for reference in references
        if (reference, device, context) in peaks
    ]
    return tuple(sorted(found, key=lambda r: -r.times))


def span(found: Sequence[Ratio]) -> tuple[Ratio, Ratio] | None:
    """The smallest and the largest ratio, if there is any."""
    return (found[-1], found[0]) if found else None
