"""A frontier as a table: a few points from the most interactive to the most productive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from seis.cli.operator_tables import said
from seis.cli.output import WIDTH, sentence, short, table
from seis.cli.units import number, percent

if TYPE_CHECKING:
    from agent.gaps import Gap
    from evaluator.frontier import Point

MOST = 12


def frontier_table(points: Sequence[Point], titles: Mapping[str, str], most: int = MOST) -> str:
    """Points evenly along the frontier; a letter stands for each design and is explained below."""
    chosen = spread(points, most)
    names = list(dict.fromkeys(titles.get(p.design, p.design[:12]) for p in chosen))
    letters = {n: letter(i) for i, n in enumerate(names)}
    rows = [
        [
            f"{letters[titles.get(p.design, p.design[:12])]}  {said(p.configuration)}",
            number(p.tokens_per_second_per_user), number(p.tokens_per_second_per_gpu), f"{p.batch:,}",
        ]
        for p in chosen
    ]  # fmt: skip
    shown = table(
        (f"{len(chosen)} of {len(points)} points", "tok/s/user", "tok/s/GPU", "batch"), rows, "lrrr"
    )
    legend = "\n".join(f"[dim]{letters[n]}  {sentence(short(n, WIDTH - 3))}[/dim]" for n in names)
    return f"{shown}\n{legend}"


def gap_rows(limit: Gap | None, relaxation: Gap | None) -> list[tuple[str, str]]:
    """How much more is possible at most, as facts."""
    named = (("possible by overlap", limit), ("possible by any design", relaxation))
    return [
        (
            name,
            f"at most {percent(g['throughput'])} tokens/s/GPU, {percent(g['interactivity'])} tokens/s/user",
        )
        for name, g in named
        if g is not None
    ]


def letter(number: int) -> str:
    """A, B, … Z, then AA."""
    return chr(65 + number) if number < 26 else letter(number // 26 - 1) + chr(65 + number % 26)


def spread(points: Sequence[Point], most: int) -> list[Point]:
    """At most `most` points, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]
