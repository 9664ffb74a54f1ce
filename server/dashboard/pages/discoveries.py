"""Discoveries: the list with filters, and several of them side by side."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from agent.archive import point_from_json
from evaluator.frontier import simultaneous_gain
from server.dashboard.desk import AtDesk, Desk
from server.dashboard.found import SORTS, discoveries
from server.dashboard.history import X, Y
from server.dashboard.render import page
from server.problems import Refusal

router = APIRouter()
PAGE = 50
MOST = 6


@router.get("/discoveries")
async def discovery_list(
    request: Request,
    at: AtDesk,
    model: Annotated[str, Query(max_length=100)] = "",
    device: Annotated[str, Query(max_length=100)] = "",
    search: Annotated[str, Query(max_length=32)] = "",
    text: Annotated[str, Query(max_length=200)] = "",
    proposer: Annotated[str, Query(max_length=40)] = "",
    gain: Annotated[str, Query(max_length=20)] = "",
    sort: Annotated[str, Query(max_length=10)] = "gain",
    start: Annotated[int, Query(ge=0, le=100_000)] = 0,
) -> Response:
    """Structures that beat their baseline."""
    try:
        least = max(0.0, float(gain or 0) / 100)
    except ValueError:
        least = 0.0
    order = sort if sort in SORTS else "gain"

    def data() -> dict[str, Any]:
        found = discoveries(
            at.database, model=model, device=device, search=search, text=text, proposer=proposer,
            min_gain=least, sort=order, limit=PAGE, offset=start,
        )  # fmt: skip
        return {
            "rows": found.rows, "matching": found.matching, "models": found.models, "devices": found.devices,
            "start": start, "more": start + PAGE < found.matching, "sort": order,
            "filter": {"model": model, "device": device, "search": search, "text": text, "gain": gain,
                       "proposer": proposer},
        }  # fmt: skip

    return page(
        request, "discoveries.html", await run_in_threadpool(data), here="discoveries", title="Discoveries"
    )


@router.get("/discoveries/compare")
async def side_by_side(
    request: Request, at: AtDesk, design: Annotated[list[str] | None, Query(max_length=MOST + 1)] = None
) -> Response:
    """Up to six designs, each `search/structure`."""
    names = list(dict.fromkeys(design or []))
    if not 1 <= len(names) <= MOST:
        raise Refusal(
            "invalid", f"between 1 and {MOST} designs must be chosen to be compared, but got {len(names)}; "
            "go back to the list and mark some",
        )  # fmt: skip

    def data() -> dict[str, Any]:
        return {"designs": [_one(at, n) for n in names]}

    return page(
        request, "side_by_side.html", await run_in_threadpool(data), here="discoveries",
        title="Designs side by side",
    )  # fmt: skip


def _one(at: Desk, name: str) -> dict[str, Any]:
    search_id, _, structure = name.partition("/")
    search = at.database.get_search(search_id)
    record = at.database.get_design(structure)
    history = at.histories.of(search)
    stored = None
    if history.conditions is not None:
        stored = at.database.get_evaluation(record.design_hash, history.conditions)
    points = [point_from_json(dict(p)) for p in stored.points] if stored else []
    old = [point_from_json(dict(p)) for p in history.baseline]
    gain, before, after = simultaneous_gain(old, points)
    candidate = next((c for c in history.designs if c.design_hash == record.design_hash), None)
    return {
        "search": search.id, "structure": record.design_hash, "model": search.model, "device": search.device,
        "count": search.count, "context_tokens": int(search.scenario.get("context", 0)),
        "summary": record.summary.removeprefix(f"{search.model}: "), "gain": gain,
        "rule": (candidate.rule if candidate else "") or "",
        "proposer": candidate.proposer if candidate else "",
        "new": after.to_json() if after else None, "old": before.to_json() if before else None,
        "x": [p.tokens_per_second_per_user for p in points],
        "y": [p.tokens_per_second_per_gpu for p in points],
        "baseline": {"x": [p[X] for p in history.baseline], "y": [p[Y] for p in history.baseline]},
        "most_per_user": max((p.tokens_per_second_per_user for p in points), default=None),
        "most_per_gpu": max((p.tokens_per_second_per_gpu for p in points), default=None),
        "href": f"/discoveries/{search.id}/{record.design_hash}",
    }  # fmt: skip
