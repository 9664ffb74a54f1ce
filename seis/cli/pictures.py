"""Frontiers drawn for the terminal and for a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seis.cli.problems import UsageError
from seis.cli.units import percent
from seis.plots.frame import Curve

if TYPE_CHECKING:
    from evaluator.frontier import Point

X_NAME = "tokens/s/user"
Y_NAME = "tokens/s/GPU"


def check_picture(path: Path | None) -> None:
    """Refuses what cannot be written, before any work is done."""
    if path is None:
        return
    if path.suffix.lower() == ".png":
        raise UsageError(
            f"--plot writes .svg alone, since PNG needs a library that SEIS does not ship, but got {path}; "
            f"write {path.with_suffix('.svg')}, which browsers and editors open and convert"
        )
    if path.suffix.lower() != ".svg":
        raise UsageError(f"--plot must name a file that ends in .svg, but got {path}")
    if not path.parent.is_dir():
        raise UsageError(f"--plot must name a file in an existing folder, but there is no {path.parent}")


def curve(name: str, points: Sequence[Point]) -> Curve:
    return Curve(name, tuple((p.tokens_per_second_per_user, p.tokens_per_second_per_gpu) for p in points))


def in_terminal(curves: Sequence[Curve]) -> str:
    """A plot of 80 columns with rich markup."""
    from seis.plots.terminal import plot

    return plot(curves, X_NAME, Y_NAME)


def write(
    path: Path,
    curves: Sequence[Curve],
    title: str,
    subtitle: str,
    gain: tuple[float, Point, Point] | None = None,
) -> None:
    """Write the picture; `gain` is (simultaneous gain, old point, new point)."""
    from seis.plots.svg import svg

    arrow = None
    if gain is not None and gain[0] > 0:
        old, new = ((p.tokens_per_second_per_user, p.tokens_per_second_per_gpu) for p in gain[1:])
        arrow = (old, new, f"{percent(gain[0])} on both")
    path.write_text(svg(curves, title, subtitle, X_NAME, Y_NAME, arrow), encoding="utf-8")
