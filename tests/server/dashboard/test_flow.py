"""The folded graph: what is drawn is what the kernels read."""

from __future__ import annotations

import re
from typing import Any

from server.dashboard.flow import cards


def kernel(number: int, reads: list[int], pool: str = "main", engine: str = "compute") -> dict[str, Any]:
    return {
        "id": number, "reads": reads, "name": f"k{number}", "section": "layer.moe", "pool": pool,
        "engine": engine, "bound": "memory",
    }  # fmt: skip


def drawn(kernels: list[dict[str, Any]]) -> tuple[list[str], list[float]]:
    """(paths between kernels, horizontal places of the kernels)."""
    (card,) = cards([{"layers": 2, "draft": False, "kernels": kernels}], set())
    text = str(card["lanes"])
    marks = re.findall(r'class="at n-memory" (?:cx="([\d.]+)"|d="M([\d.]+))', text)
    return re.findall(r'class="flow" d="([^"]+)"', text), [float(a or b) for a, b in marks]


def test_a_chain_is_one_straight_lane() -> None:
    paths, places = drawn([kernel(0, []), kernel(1, [0]), kernel(2, [1])])
    assert len(paths) == 2
    assert not any("C" in p for p in paths)
    assert len(set(places)) == 1


def test_branches_have_lanes_of_their_own_until_they_meet() -> None:
    paths, places = drawn([kernel(0, []), kernel(1, [0]), kernel(2, [0]), kernel(3, [1, 2])])
    assert len(paths) == 4
    assert places[1] != places[2]
    assert places[3] in places[1:3]


def test_a_value_that_is_read_late_is_not_crossed_by_other_kernels() -> None:
    _, places = drawn([kernel(0, []), kernel(1, []), kernel(2, [1]), kernel(3, [0, 2])])
    assert places[0] not in places[1:3]


def test_pools_stand_side_by_side() -> None:
    kernels = [kernel(0, []), kernel(1, [0], engine="link"), kernel(2, [1], "experts", "link")]
    _, places = drawn(kernels)
    assert places[0] == places[1] < places[2]


def test_a_row_says_whether_the_other_side_has_it() -> None:
    unit = {"layers": 1, "draft": False, "kernels": [kernel(0, []), kernel(1, [0])]}
    (card,) = cards([unit], {("layer.moe", "k0")})
    assert [r["fresh"] for r in card["rows"]] == [False, True]
    assert card["rows"][1]["before"] == ["k0"]
