"""One model on several devices at several contexts, by its conventional baseline."""

from __future__ import annotations

from typing import Any

from agent.comparison.compare import Asked, compare_model


def compared(order: dict[str, Any]) -> list[dict[str, Any]]:
    """`order` has model, devices, contexts, counts and setting; one row per device and context."""
    asked = Asked(
        (order["model"],), tuple(order["devices"]), tuple(order["contexts"]), tuple(order["counts"]),
        setting=order["setting"],
    )  # fmt: skip
    results, _ = compare_model(asked, order["model"])
    return [
        {**r.row(), "x": [p.tokens_per_second_per_user for p in r.frontier],
         "y": [p.tokens_per_second_per_gpu for p in r.frontier]}
        for r in results
    ]  # fmt: skip
