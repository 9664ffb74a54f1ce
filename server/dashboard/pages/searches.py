"""A search: its frontier chart's data, its statistics, and its page where no job is known."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from agent.versions import evaluator_version
from db import Search
from server.api.searches import shown as search_json
from server.dashboard.desk import AtDesk, Desk
from server.dashboard.frontiers import columns, overview
from server.dashboard.history import X, Y
from server.dashboard.render import page
from server.dashboard.work.bounds import bound
from server.problems import Refusal

router = APIRouter()

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{4,32}$")]
RULES = 30


def search_data(at: Desk, search: Search) -> dict[str, Any]:
    """Everything that a search's page shows."""
    history = at.histories.of(search)
    rules: dict[str, dict[str, Any]] = {}
    for s in at.database.rule_statistics(search.id):
        entry = rules.setdefault(
            s.rule, {"rule": s.rule, "proposed": 0, "accepted": 0, "improved": 0, "gained": 0.0}
        )
        for name in ("proposed", "accepted", "improved", "gained"):
            entry[name] += getattr(s, name)
    ordered = sorted(rules.values(), key=lambda r: (-r["improved"], -r["accepted"], r["rule"]))
    return {
        **search_json(search),
        "chart": overview(at.database, search, history),
        "steps": history.steps,
        "proposers": [
            {"name": n, "tried": p.tried, "accepted": p.accepted, "refused": p.refused, "failed": p.failed,
             "better": p.better, "best_gain": p.best}
            for n, p in sorted(history.proposers.items(), key=lambda i: -i[1].tried)
        ],
        "rules": ordered[:RULES],
        "rejected": [
            {"reason": r, "count": n, "detail": history.examples[r].detail,
             "example": history.examples[r].design_hash}
            for r, n in history.reasons.most_common()
        ],
    }  # fmt: skip


@router.get("/searches/{search_id}")
async def search_page(search_id: Id, request: Request, at: AtDesk) -> Response:
    """A search, whoever ran it."""
    data = await run_in_threadpool(lambda: {"search": search_data(at, at.database.get_search(search_id))})
    s = data["search"]
    title = f"{s['model']} on {s['count']} × {s['device']}"
    return page(request, "search.html", data, here="jobs", title=title)


@router.get("/searches/{search_id}/points")
async def points(search_id: Id, request: Request, at: AtDesk) -> Response:
    """All points as binary columns; 304 where nothing is new."""

    def content() -> tuple[str, bytes]:
        search = at.database.get_search(search_id)
        history = at.histories.of(search)
        tag = f'"{search.id[:8]}-{len(history.x)}-{history.last}"'
        if tag == request.headers.get("if-none-match"):
            return tag, b""
        found = at.database.list_discoveries(search_id=search.id, above=-1.0)
        return tag, columns(history, {c.design_hash: text for c, text in found})

    tag, body = await run_in_threadpool(content)
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if not body:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/octet-stream", headers=headers)


@router.get("/searches/{search_id}/points/{index}")
async def point(search_id: Id, index: int, request: Request, at: AtDesk) -> Response:
    """One point in full."""

    def content() -> dict[str, Any]:
        history = at.histories.of(at.database.get_search(search_id))
        if not 0 <= index < len(history.x) or history.conditions is None:
            raise Refusal("not_found", f"a point must be one of {len(history.x)}, but got {index}")
        position = int(history.of[index])
        name = history.designs[position].design_hash
        stored = at.database.get_evaluation(name, history.conditions)
        at_point = dict(stored.points[index - history.starts[position]])
        return {
            X: at_point[X], Y: at_point[Y], "batch": at_point["batch"],
            "configuration": at_point["configuration"], "design": name,
            "summary": at.database.get_design(name).summary, "at": index - history.starts[position],
        }  # fmt: skip

    return JSONResponse(await run_in_threadpool(content))


@router.get("/searches/{search_id}/bound")
async def limit_curve(search_id: Id, request: Request, at: AtDesk) -> Response:
    """The bound above every design of this model on this cluster; 202 while it is computed."""
    search = await run_in_threadpool(at.database.get_search, search_id)
    order = {"database": at.place, "search": search.id}
    found = await at.work(("bound", search.id, evaluator_version()), bound, order, 20.0)
    if found.state == "refused":
        return JSONResponse({"x": [], "y": [], "problem": found.problem})
    if found.state == "pending":
        return JSONResponse({}, 202, headers={"Retry-After": "2"})
    return JSONResponse(found.value)


@router.get("/searches/{search_id}/frontier.csv")
async def as_csv(search_id: Id, request: Request, at: AtDesk) -> Response:
    """Both frontiers as a table."""

    def content() -> str:
        search = at.database.get_search(search_id)
        chart = overview(at.database, search, at.histories.of(search))
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["frontier", X, Y, "sequences", "design", "summary", "configuration"])
        for kind, rows in (("conventional", chart["baseline"]), ("discovered", chart["frontier"])):
            for p in rows:
                sizes = " ".join(f"{k}={v}" for k, v in p["configuration"].items())
                summary = p.get("summary", "")
                # A cell that begins like a formula would be run by spreadsheets.
                safe = f"'{summary}" if summary[:1] in ("=", "+", "-", "@") else summary
                writer.writerow([kind, p[X], p[Y], p["batch"], p["design"], safe, sizes])
        return out.getvalue()

    name = f'attachment; filename="seis-frontier-{search_id[:12]}.csv"'
    text = await run_in_threadpool(content)
    return Response(text, media_type="text/csv; charset=utf-8", headers={"Content-Disposition": name})
