"""What a comparison found: one result per model, device and context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluator.frontier import Point


@dataclass(frozen=True, slots=True)
class Result:
    """The joint conventional frontier over all cluster sizes of one model on one device at one context.

    model, device   catalogued names (or paths)
    context         cached tokens per sequence
    frontier        its points, by falling interactivity
    counts          devices of the cluster of each point
    reason          why there is no point; empty when there is one
    beyond          whether the context exceeds the model's published maximum
    """

    model: str
    device: str
    context: int
    frontier: tuple[Point, ...] = ()
    counts: tuple[int, ...] = ()
    reason: str = ""
    beyond: bool = False

    @property
    def peak(self) -> Point | None:
        """The point of highest throughput per device."""
        return max(self.frontier, key=lambda p: p.tokens_per_second_per_gpu, default=None)

    @property
    def peak_count(self) -> int | None:
        """Devices of the cluster that reaches the peak."""
        return None if self.peak is None else self.counts[self.frontier.index(self.peak)]

    @property
    def fastest(self) -> float | None:
        """The highest interactivity, tokens/s/user."""
        return max((p.tokens_per_second_per_user for p in self.frontier), default=None)

    def row(self) -> dict[str, Any]:
        """The flat record that tables hold; numbers are None where nothing runs."""
        peak = self.peak
        configuration: Mapping[str, int] = {} if peak is None else peak.configuration
        return {
            "model": self.model,
            "device": self.device,
            "context": self.context,
            "beyond_max_position": self.beyond,
            "peak_tokens_per_second_per_gpu": peak and peak.tokens_per_second_per_gpu,
            "tokens_per_second_per_user_at_peak": peak and peak.tokens_per_second_per_user,
            "batch_at_peak": peak and peak.batch,
            "count_at_peak": self.peak_count,
            "configuration_at_peak": " ".join(f"{a}={n}" for a, n in sorted(configuration.items())),
            "highest_tokens_per_second_per_user": self.fastest,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All results, in the order of models, devices and contexts as asked, and how they were made."""

    results: tuple[Result, ...]
    setting: str
    clock: str
    kv: str
    counts: tuple[int, ...]
    points: int

    def at(self, model: str, device: str, context: int) -> Result:
        """The result of one case. Raises KeyError when it was not asked."""
        for result in self.results:
            if (result.model, result.device, result.context) == (model, device, context):
                return result
        raise KeyError((model, device, context))
