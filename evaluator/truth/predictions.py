"""What we predict at an operating point: the achievable setting, uniform routing, the schedule as written.

Products run at the rate of the row's precision. Where devices also prefill, each token waits for its share
of the prompts of new requests. Where drafting is not said, every depth up to the deepest is tried with the
default acceptance, and where the placement is not, every conventional one: the fastest counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from catalogue.models.precision import narrowest
from evaluator.evaluate import Evaluation, evaluate
from evaluator.lengths import fixed
from evaluator.prefill import prefill
from evaluator.scenario import Scenario
from evaluator.truth.bounds import drafts
from evaluator.truth.favour import lifted
from evaluator.truth.placements import Mapped, Placements
from evaluator.truth.points import Point


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predictions of operating points; `placements` gives the designs."""

    placements: Placements

    def token_seconds(self, point: Point) -> float | None:
        """Seconds per token of one user, or None where the batch is unknown or no placement fits."""
        if point.batch is None:
            return None
        each = point.batch / point.deployment.instances
        found = []
        for e, emitted, mapped in self._steps(point, point.batch):
            seconds = float(e.seconds("overlapped")) / emitted
            if not point.isolated and point.output:
                seconds += each / point.output * self._prompts(point, mapped, float(mapped.ranks))
            found.append(seconds)
        return min(found, default=None)

    def first_token_seconds(self, point: Point) -> float | None:
        """Seconds of computing one prompt and a step of decode, without waiting for others."""
        found = [
            self._prompts(point, mapped, 1.0) + float(e.seconds("overlapped"))
            for e, _, mapped in self._steps(point, point.batch or 1.0)
        ]
        return min(found, default=None)

    def _steps(self, point: Point, batch: float) -> Iterator[tuple[Evaluation, float, Mapped]]:
        """(a step, tokens that it emits per user, placement) for every possible reading."""
        each = max(1.0, round(batch / point.deployment.instances))
        for mapped in self.placements.possible(point):
            device = lifted(point.device, narrowest(mapped.design))
            for drafted, accepted in drafts(point):
                scenario = Scenario(int(point.context))
                emitted = accepted if point.drafts_known else scenario.emitted(drafted)
                found = evaluate(
                    mapped.design, {"main": device}, scenario, each, axes=mapped.axes, drafted=float(drafted),
                    microbatches=1.0, setting="achievable",
                )  # fmt: skip
                if bool(np.all(found.allowed)):
                    yield found, emitted, mapped

    def _prompts(self, point: Point, mapped: Mapped, batch: float) -> float:
        """Seconds per prompt where an instance computes `batch` of them together."""
        found = prefill(
            mapped.design, {"main": lifted(point.device, narrowest(mapped.design))}, Scenario(), batch,
            fixed(max(1.0, round(point.prompt))), axes=mapped.axes, microbatches=1.0, setting="achievable",
        )  # fmt: skip
        return float(found.seconds) / batch
