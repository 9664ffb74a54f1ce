"""The page of a design: what changed, where the time goes, what it rests on, what an engine needs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from agent.versions import evaluator_version
from server.dashboard.desk import AtDesk, Desk
from server.dashboard.differences import side_by_side
from server.dashboard.frontiers import overview
from server.dashboard.lineage import lineage
from server.dashboard.render import page, wants_json
from server.dashboard.work.evidence import evidence
from server.dashboard.work.replays import again

router = APIRouter()

SearchId = Annotated[str, Path(pattern=r"^[0-9a-f]{4,32}$")]
Structure = Annotated[str, Path(pattern=r"^[0-9a-f]{4,64}$")]


@router.get("/discoveries/{search_id}/{structure}")
async def design_page(
    search_id: SearchId,
    structure: Structure,
    request: Request,
    at: AtDesk,
    point: Annotated[int | None, Query(ge=0, le=100_000)] = None,
    replay: bool = False,
) -> Response:
    """A design beside the conventional point that it beats most clearly. `replay` verifies it again."""
    stored = await run_in_threadpool(_stored, at, search_id, structure)
    name, search = stored["structure"], stored["search"]["id"]
    order = {"database": at.place, "search": search, "design": name}
    patience = 60.0 if wants_json(request) else 0.9
    found = await at.work(("evidence", search, name, evaluator_version()), evidence, order, patience)
    replayed = None
    if replay and stored["certificate"] is not None:
        answer = await _replay(at, search, name, stored["certificate"]["certificate_hash"])
        replayed = answer
    data: dict[str, Any] = {
        **stored, "evidence_state": found.state, "evidence_problem": found.problem, "evidence": found.value,
        "replayed": replayed,
    }  # fmt: skip
    view: dict[str, Any] = {"chosen": 0, "difference": [], "pending": found.state == "pending"}
    if found.state == "ready":
        last = len(found.value["points"]) - 1
        view["chosen"] = min(last, found.value["best_point"] if point is None else point)
        view["difference"] = side_by_side(found.value["start_text"], found.value["structure_text"])
    title = f"{stored['summary']} – {stored['search']['model']}"
    return page(request, "design.html", data, here="discoveries", title=title, view=view)


@router.post("/discoveries/{search_id}/{structure}/replay")
async def replay_certificate(
    search_id: SearchId, structure: Structure, request: Request, at: AtDesk
) -> Response:
    """Verify the design again with the certificate's seed, and say whether its verdict stands."""
    stored = await run_in_threadpool(_stored, at, search_id, structure)
    if not wants_json(request):
        place = f"/discoveries/{stored['search']['id']}/{stored['structure']}?replay=true#certificate"
        return Response(status_code=303, headers={"Location": place})
    if stored["certificate"] is None:
        return JSONResponse({"problem": "This design has no certificate."}, 409)
    name = stored["certificate"]["certificate_hash"]
    return JSONResponse(await _replay(at, stored["search"]["id"], stored["structure"], name))


@router.get("/discoveries/{search_id}/{structure}/text")
async def design_text(search_id: SearchId, structure: Structure, request: Request, at: AtDesk) -> Response:
    """The RoofLang text as a file."""
    record = await run_in_threadpool(at.database.get_design, structure)
    name = f'attachment; filename="{record.design_hash[:12]}.roof"'
    return Response(
        record.text, media_type="text/plain; charset=utf-8", headers={"Content-Disposition": name}
    )


async def _replay(at: Desk, search: str, structure: str, certificate: str) -> dict[str, Any]:
    order = {"database": at.place, "search": search, "design": structure, "certificate": certificate}
    found = await at.work(("replay", certificate, structure), again, order, 60.0)
    if found.state == "ready":
        return dict(found.value)
    problem = found.problem or {"detail": "it takes longer than a minute; look again later"}
    return {"stands": None, "differences": [problem["detail"]], "seconds": None, "certificate": certificate}


def _stored(at: Desk, search_id: str, structure: str) -> dict[str, Any]:
    """What the database says without any computation."""
    base = at.database
    search = base.get_search(search_id)
    record = base.get_design(structure)
    history = at.histories.of(search)
    name = record.design_hash
    candidate = next((c for c in history.designs if c.design_hash == name), None)
    certificate = None
    if candidate is not None and candidate.certificate_hash:
        c = base.get_certificate(candidate.certificate_hash)
        body = dict(c.body)
        certificate = {
            "certificate_hash": c.certificate_hash, "verdict": c.verdict, "created_at": c.created_at,
            "verifier_version": c.verifier_version, "false_accept_bound": body.get("false_accept_bound"),
            "trials": body.get("trials"), "primes": body.get("primes"), "seed": body.get("seed"),
            "layers": body.get("layers"), "reasons": body.get("reasons", []),
        }  # fmt: skip
    return {
        "structure": name,
        "summary": record.summary.removeprefix(f"{search.model}: ") or name[:12],
        "search": {
            "id": search.id, "model": search.model, "device": search.device, "count": search.count,
            "context_tokens": int(search.scenario.get("context", 0)), "setting": search.setting,
            "clock": search.clock,
        },
        "candidate": None if candidate is None else {
            "gain": candidate.gain, "proposer": candidate.proposer, "round": candidate.round_number,
        },
        "certificate": certificate,
        "lineage": lineage(base, search.id, name, history.designs),
        "chart": overview(base, search, history),
    }  # fmt: skip
