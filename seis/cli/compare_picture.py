"""The picture of `seis compare`: a panel per device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seis.cli.pictures import X_NAME, Y_NAME
from seis.plots.frame import Curve
from seis.plots.panels import panels

if TYPE_CHECKING:
    from agent.comparison import Comparison


def write_picture(path: Path, found: Comparison, highlighted: Sequence[str]) -> None:
    """Peak throughput against context; with one context, each model's frontier."""
    contexts = sorted({r.context for r in found.results})
    groups: dict[str, list[Curve]] = {}
    for device in dict.fromkeys(r.device for r in found.results):
        mine = [r for r in found.results if r.device == device]
        curves = groups.setdefault(device, [])
        for model in dict.fromkeys(r.model for r in mine):
            if len(contexts) > 1:
                points = tuple(
                    (float(r.context), r.peak.tokens_per_second_per_gpu)
                    for r in mine
                    if r.model == model and r.peak is not None
                )
            else:
                points = tuple(
                    (p.tokens_per_second_per_user, p.tokens_per_second_per_gpu)
                    for r in mine
                    if r.model == model
                    for p in r.frontier
                )
            curves.append(Curve(model, points))
    several = len(contexts) > 1
    title = "Peak decode throughput by context" if several else f"Decode frontiers at {contexts[0]:,} tokens"
    about = f"best conventional design, {found.setting} rates, {found.clock} clock, {found.kv} caches"
    x_name = "context, tokens" if several else X_NAME
    path.write_text(panels(groups, title, about, x_name, Y_NAME, highlighted), encoding="utf-8")
