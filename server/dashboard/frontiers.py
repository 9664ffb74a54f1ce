"""The data of a frontier chart: a summary for the page, and all points as binary columns."""

from __future__ import annotations

import json
import struct
from typing import Any

from agent.archive import point_from_json
from db import Database, Search
from evaluator.frontier import simultaneous_gain
from server.dashboard.history import History, X, Y

Json = dict[str, Any]


def frontier_points(database: Database, history: History) -> list[Json]:
    """The points of the joint frontier in full, by falling interactivity, each with its design's summary."""
    if history.conditions is None:
        return []
    texts: dict[str, str] = {}
    points: dict[str, Any] = {}
    found = []
    for i in history.front:
        design = history.designs[int(history.of[i])]
        name = design.design_hash
        if name not in points:
            stored = database.get_evaluation(name, history.conditions)
            points[name] = stored.points if stored else ()
            texts[name] = database.get_design(name).summary
        at = i - history.starts[int(history.of[i])]
        values = dict(points[name][at])
        found.append(
            {
                X: values[X], Y: values[Y], "batch": values["batch"],
                "configuration": values["configuration"], "design": name, "summary": texts[name],
                "index": i, "at": at, "conventional": not design.rule and not design.parent_hash,
            }
        )  # fmt: skip
    return found


def overview(database: Database, search: Search, history: History) -> Json:
    """What a chart says at a glance: both frontiers, and the pair of points that differ most clearly."""
    new = frontier_points(database, history)
    old = [
        {X: p[X], Y: p[Y], "batch": p["batch"], "configuration": p["configuration"], "design": p["design"]}
        for p in history.baseline
    ]
    gain, before, after = simultaneous_gain(
        [point_from_json(dict(p)) for p in history.baseline],
        [point_from_json({**p, "binding": ""}) for p in new],
    )
    pair = None
    if before is not None and after is not None and gain > 0:
        best = next(
            p for p in new if p["design"] == after.design and p[X] == after.tokens_per_second_per_user
        )
        pair = {
            "gain": gain,
            "old": {X: before.tokens_per_second_per_user, Y: before.tokens_per_second_per_gpu,
                    "batch": before.batch, "configuration": dict(before.configuration)},
            "new": best,
        }  # fmt: skip
    return {
        "search": search.id,
        "baseline": old,
        "frontier": new,
        "best": pair,
        "hypervolume_gain": history.steps[-1][1] if history.steps else None,
        "points": len(history.x),
        "structures": len(history.designs),
        "current": history.current,
    }


def columns(history: History, summaries: dict[str, str]) -> bytes:
    """Little-endian: length of a JSON head (uint32), the head padded with blanks to a multiple of 4, then
    float32 x and float32 y of each point. `starts` says where the points of each design begin."""
    head = json.dumps(
        {
            "points": len(history.x),
            "designs": [
                [d.design_hash, summaries.get(d.design_hash, ""), round(d.gain or 0.0, 5), d.round_number]
                for d in history.designs
            ],
            "starts": history.starts,
            "front": history.front,
        },
        separators=(",", ":"),
    ).encode()
    head += b" " * (-len(head) % 4)
    return b"".join(
        (
            struct.pack("<I", len(head)),
            head,
            history.x.astype("<f4").tobytes(),
            history.y.astype("<f4").tobytes(),
        )
    )
