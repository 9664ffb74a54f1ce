"""The folded graph of one side of a design: a card per unit, a row per kernel, and lanes that show whose data
each kernel reads, as version histories are drawn. Every pool has lanes of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from markupsafe import Markup

Json = Mapping[str, Any]
ROW, LANE, EDGE = 24, 13, 11
"""Pixels: height of a row (as in the style sheet), width of a lane, margin of the drawing."""


def cards(units: Sequence[Json], others: Collection[tuple[str, str]]) -> list[dict[str, Any]]:
    """Cards with `name`, `layers`, `draft`, `rows` and `lanes`, the drawing beside the rows.

    `units` are as `work/units.py` makes them. A row is the name of a section, or a kernel with `fresh`:
    whether the other side lacks it; `others` are its (section, name).
    """
    laid = [_lanes(unit["kernels"]) for unit in units]
    pools = list(dict.fromkeys(k["pool"] for unit in units for k in unit["kernels"]))
    wide = {p: 1 + max((lane for at in laid for lane, q in at if q == p), default=0) for p in pools}
    begins, x = {}, float(EDGE)
    for pool in pools:
        begins[pool] = x
        x += wide[pool] * LANE + (LANE if len(pools) > 1 else 0)
    bands = [(begins[p] - EDGE + 1, wide[p] * LANE + LANE - 4) for p in pools] if len(pools) > 1 else []
    width = x + EDGE - LANE
    found = []
    for unit, at in zip(units, laid, strict=True):
        kernels = unit["kernels"]
        name = _shared([k["section"] for k in kernels])
        rows: list[dict[str, Any]] = []
        section, heights = name, []
        for k in kernels:
            if k["section"] != section:
                section = k["section"]
                own = name.rpartition(".")[2]
                rows.append({"section": own if section == name else section.removeprefix(f"{name}.")})
            heights.append(len(rows) * ROW + ROW / 2)
            fresh = (k["section"], k["name"]) not in others
            before = [b["name"] for b in kernels if b["id"] in k["reads"]]
            rows.append({"section": None, "kernel": k, "fresh": fresh, "before": before})
        places = [(begins[pool] + lane * LANE, y) for (lane, pool), y in zip(at, heights, strict=True)]
        found.append(
            {
                "name": name, "layers": unit["layers"], "draft": unit["draft"], "rows": rows,
                "lanes": _drawn(kernels, places, bands, width, len(rows) * ROW),
            }
        )  # fmt: skip
    return found


def _shared(paths: Sequence[str]) -> str:
    """The beginning that dotted names have in common."""
    parts = [p.split(".") for p in paths]
    most = min(len(p) for p in parts)
    same = next((i for i in range(most) if len({p[i] for p in parts}) > 1), most)
    return ".".join(parts[0][:same]) or parts[0][0]


def _lanes(kernels: Sequence[Json]) -> list[tuple[int, str]]:
    """(lane, pool) of each kernel: a lane is held until its last reader."""
    row = {k["id"]: r for r, k in enumerate(kernels)}
    until = list(range(len(kernels)))
    for r, k in enumerate(kernels):
        for b in k["reads"]:
            until[row[b]] = max(until[row[b]], r)
    held: dict[str, list[int]] = {}
    found: list[tuple[int, str]] = []
    for r, k in enumerate(kernels):
        pool = k["pool"]
        busy = held.setdefault(pool, [])
        ending = [found[row[b]][0] for b in k["reads"] if until[row[b]] == r and found[row[b]][1] == pool]
        free = [lane for lane, end in enumerate(busy) if end < r]
        lane = min(ending or free, default=len(busy))
        if lane == len(busy):
            busy.append(r)
        busy[lane] = until[r]
        found.append((lane, pool))
    return found


def _drawn(
    kernels: Sequence[Json], places: Sequence[tuple[float, float]], bands: Sequence[tuple[float, float]],
    width: float, height: float,
) -> Markup:  # fmt: skip
    at = {k["id"]: p for k, p in zip(kernels, places, strict=True)}
    read = {b for k in kernels for b in k["reads"]}
    parts = [
        f'<rect class="pool" x="{x:g}" y="0" width="{w:g}" height="{height:g}" rx="3"/>' for x, w in bands
    ]
    for number, k in enumerate(kernels):
        x, y = at[k["id"]]
        if not k["reads"]:
            top = 0 if number == 0 else y - ROW / 2
            parts.append(f'<path class="flow enter" d="M{x:g} {top:g}V{y:g}"/>')
        if k["id"] not in read:
            bottom = height if number == len(kernels) - 1 else y + ROW / 2
            parts.append(f'<path class="flow enter" d="M{x:g} {y:g}V{bottom:g}"/>')
        for b in k["reads"]:
            u, v = at[b]
            bend = y - ROW + 5
            turn = "" if u == x else f"V{bend:g}C{u:g} {y - 8:g} {x:g} {bend:g} {x:g} {y - 2:g}"
            parts.append(f'<path class="flow" d="M{u:g} {v:g}{turn}V{y:g}"/>')
    for k in kernels:
        x, y = at[k["id"]]
        kind = f'class="at n-{k["bound"]}"'
        if k["engine"] == "compute":
            parts.append(f'<circle {kind} cx="{x:g}" cy="{y:g}" r="4.5"/>')
        else:
            parts.append(f'<path {kind} d="M{x:g} {y - 6:g}l6 6l-6 6l-6 -6z"/>')
    return Markup(
        f'<svg class="lanes" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )
