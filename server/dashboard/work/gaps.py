"""A measured run against its limits, mapped in the fastest conventional way."""

from __future__ import annotations

from typing import Any

from catalogue.devices import load_device
from catalogue.models import load_model
from catalogue.models.precision import at_precision
from evaluator.scenario import Scenario
from evaluator.truth.gap import Run, fastest, mapping
from evaluator.truth.gap import gap as measured
from mutations.start import starting_designs
from server.problems import Refusal


def gap(order: dict[str, Any]) -> dict[str, Any]:
    """`order` has model, device, count, context, batch, throughput, drafted and precision."""
    design = at_precision(load_model(order["model"]), order["precision"] or None)
    device = load_device(order["device"])
    batch = float(order["batch"])
    bare = Run(
        design, device, order["count"], 1, batch, order["drafted"], Scenario(order["context"]),
        order["throughput"],
    )  # fmt: skip
    run = fastest(starting_designs(design), bare)
    if run is None:
        raise Refusal(
            "configuration",
            f"a conventional mapping must fit {batch:g} sequences of {order['context']:,} tokens on "
            f"{order['count']} x {device.name}, but none does; check count, precision and batch",
        )
    found = measured(run, design, starting_designs)
    speed = run.throughput
    return {
        "mapping": mapping(run.design),
        "batch": batch,
        "measured_per_gpu": speed,
        "measured_per_user": speed * run.count / batch,
        "binding": found.binding,
        "above_bound": found.above_bound,
        "above_limit": speed > found.limit,
        "limits": [
            {"name": "limit, published peaks", "per_gpu": found.limit, "reached": speed / found.limit},
            {"name": "overlapped, published peaks", "per_gpu": found.overlapped,
             "reached": speed / found.overlapped},
            {"name": "achievable, predicted", "per_gpu": found.achievable,
             "reached": speed / found.achievable},
        ],
        "predicted_per_user": found.predicted_per_user,
        "changes": [
            {"text": c.text, "kind": c.kind, "per_gpu": c.per_device, "per_user": c.per_user, "gain": c.gain}
            for c in found.changes
        ],
    }  # fmt: skip
