"""Runs as a table and a picture: share of the best known gain of hypervolume by evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.quality.runs import Run
from evaluator.frontier import Point, hypervolume

REACHED = (0.5, 0.8, 0.95)
"""Shares of the best known gain, of which the table says how many evaluations they take."""

COLOURS = {
    "mix": "#0072B2", "bottleneck": "#E69F00", "evolutionary": "#009E73", "exhaustive": "#CC79A7",
    "nsga2": "#D55E00", "random": "#56606a",
}  # fmt: skip
"""After Okabe and Ito: told apart by colour-blind readers; names stand beside the lines, too."""

DASHED = ("nsga2", "random")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 880, 440, 64, 128, 70, 54
INK, QUIET, RULE, PAPER = "#1f2933", "#5f6b76", "#e3e8ec", "#fdfdfc"


@dataclass(frozen=True, slots=True)
class Curves:
    """Shares by method and seed: `shares[method][seed][n]` after n evaluations, 1 being the best known."""

    shares: dict[str, list[list[float]]]
    evaluations: int


def curves(runs: Sequence[Run]) -> Curves:
    """Runs of one scenario against the union of all their frontiers, which is the best known."""
    start, most = runs[0].start, max(r.evaluations for r in runs)
    points = [Point(x, y, 1) for r in runs for x, y in r.frontier]
    whole = max(hypervolume(points) - start, 1e-12)
    shares: dict[str, list[list[float]]] = {}
    for run in runs:
        reached = [0.0, *((v - start) / whole for v in run.volumes)]
        reached += reached[-1:] * (most + 1 - len(reached))
        shares.setdefault(run.method, []).append(reached)
    return Curves(shares, most)


def band(values: Sequence[float]) -> tuple[float, float, float]:
    """(10th percentile, median, 90th percentile), the outer two linear between ranks."""
    ranked = sorted(values)

    def at(part: float) -> float:
        place = part * (len(ranked) - 1)
        low = int(place)
        high = min(low + 1, len(ranked) - 1)
        return ranked[low] + (place - low) * (ranked[high] - ranked[low])

    return at(0.1), median(ranked), at(0.9)


def needed(shares: Sequence[float], wanted: float) -> int | None:
    """Evaluations until a share is reached; None where it is not."""
    return next((n for n, share in enumerate(shares) if share >= wanted), None)


def table(runs: Sequence[Run]) -> list[str]:
    """A row for each method; `>N` where most seeds do not reach a share in N evaluations."""
    found = curves(runs)
    heads = "".join(f"{f'to {share:.0%}':>9}" for share in REACHED)
    lines = [f"{'method':<14}{'seeds':>6}{heads}{'at the end':>12}{'10 % - 90 %':>16}{'known':>8}"]
    for method, shares in found.shares.items():
        cells = ""
        for wanted in REACHED:
            middle = median(n if (n := needed(s, wanted)) is not None else float("inf") for s in shares)
            cells += f"{f'>{found.evaluations}' if middle == float('inf') else f'{middle:.0f}':>9}"
        low, middle, high = band([s[-1] for s in shares])
        known = median(r.duplicates for r in runs if r.method == method)
        lines.append(
            f"{method:<14}{len(shares):>6}{cells}{middle:>12.0%}{f'{low:.0%} - {high:.0%}':>16}{known:>8.0f}"
        )
    return lines


def picture(runs: Sequence[Run]) -> str:
    """An SVG document: medians as lines, from the 10th to the 90th percentile as bands."""
    found = curves(runs)
    title = f"Share of the best known gain: {runs[0].scenario}"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} "
        f"{HEIGHT}' font-family='Helvetica Neue, Helvetica, Arial, sans-serif' role='img' "
        f"aria-label='{title}'>\n<rect width='{WIDTH}' height='{HEIGHT}' fill='{PAPER}'/>",
        _text(LEFT, 30, title, 18, INK),
        _text(LEFT, 52, "hypervolume over the conventional frontier; median and 10-90 % of seeds", 13, QUIET),
    ]
    for number in range(5):
        share, count = number / 4, round(found.evaluations * number / 4)
        y, x = _y(share), _x(count, found.evaluations)
        parts.append(f"<line x1='{LEFT}' y1='{y:.1f}' x2='{WIDTH - RIGHT}' y2='{y:.1f}' stroke='{RULE}'/>")
        parts.append(_text(LEFT - 8, y + 4, f"{share:.0%}", 12, QUIET, "end"))
        parts.append(_text(x, HEIGHT - BOTTOM + 20, str(count), 12, QUIET, "middle"))
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 12, "evaluations after the conventional ones", 13, INK, "end"))
    ends: dict[str, float] = {}
    for method, shares in found.shares.items():
        bands = [band(column) for column in zip(*shares, strict=True)]
        colour = COLOURS[method]
        at = [_x(n, found.evaluations) for n in range(len(bands))]
        lower = [f"{x:.1f},{_y(b[0]):.1f}" for x, b in zip(at, bands, strict=True)]
        upper = [f"{x:.1f},{_y(b[2]):.1f}" for x, b in zip(at, bands, strict=True)]
        if len(shares) > 1:
            outline = " ".join([*lower, *reversed(upper)])
            parts.append(f"<polygon points='{outline}' fill='{colour}' opacity='0.12'/>")
        line = " ".join(f"{x:.1f},{_y(b[1]):.1f}" for x, b in zip(at, bands, strict=True))
        dash = " stroke-dasharray='6 4'" if method in DASHED else ""
        parts.append(f"<polyline points='{line}' fill='none' stroke='{colour}' stroke-width='2'{dash}/>")
        ends[method] = _y(bands[-1][1])
    last = float("-inf")
    for method, y in sorted(ends.items(), key=lambda pair: pair[1]):
        last = max(y + 4, last + 16)  # names do not lie on each other
        parts.append(_text(WIDTH - RIGHT + 8, last, method, 13, COLOURS[method]))
    return "\n".join([*parts, "</svg>", ""])


def _x(count: float, most: int) -> float:
    return LEFT + count / most * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, words: str, size: int, fill: str, anchor: str = "start") -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' fill='{fill}' "
        f"text-anchor='{anchor}'>{words}</text>"
    )
