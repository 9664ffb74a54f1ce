"""The morning report of a run: what was tried, what is new since the report before, what was spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from db import Database, Job, NotFoundError, Schedule, ScheduledRun
from server.jobs.request import Stored

MOST_DISCOVERIES = 5
TOTALS = ("structures", "accepted", "refused", "failed", "rounds")

Json = dict[str, Any]


def make_report(
    database: Database, schedule: Schedule, run: ScheduledRun, jobs: Sequence[Job], state: str, now: datetime
) -> Json:
    """The report as it is stored; `first` says what to look at first, the most important first.

    Counts are of what is new since the last report on the same search by the same schedule; totals are of the
    whole search.
    """
    before = _earlier(database, schedule, run)
    entries = [_entry(database, job, before.get(job.subject, {})) for job in jobs]
    spent = {
        "seconds": sum(e["spent"]["seconds"] for e in entries),
        "model_calls": sum(e["spent"]["model_calls"] for e in entries),
        "model_tokens": sum(e["spent"]["model_tokens"] for e in entries),
        "model_dollars": sum(e["spent"]["model_dollars"] for e in entries),
    }
    return {
        "run": run.id, "schedule": schedule.id, "name": schedule.name, "state": state,
        "fire_at": run.fire_at.isoformat(), "timezone": schedule.timezone,
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "finished_at": now.isoformat(), "reason": run.reason,
        "tried": sum(e["new"].get("structures", 0) for e in entries),
        "accepted": sum(e["new"].get("accepted", 0) for e in entries),
        "discoveries": sum(len(e["discoveries"]) for e in entries),
        "spent": spent, "first": _first(entries), "jobs": entries,
    }  # fmt: skip


def _earlier(database: Database, schedule: Schedule, run: ScheduledRun) -> dict[str, Json]:
    """The last entry of every search in reports before this one."""
    found: dict[str, Json] = {}
    for other in database.list_runs(schedule_id=schedule.id, reported=True, limit=50):
        for entry in (other.report or {}).get("jobs", ()) if other.id != run.id else ():
            found.setdefault(entry["subject"], entry)
    return found


def _entry(database: Database, job: Job, before: Mapping[str, Any]) -> Json:
    stored = Stored.model_validate(job.request)
    result = dict(job.result or {})
    told = dict(job.progress) | result
    totals = {name: int(told.get(name, told.get("round", 0) if name == "rounds" else 0)) for name in TOTALS}
    old = before.get("totals", {})
    gain = float(result.get("simultaneous_gain", job.progress.get("best_gain", 0.0)) or 0.0)
    gain_before = before.get("gain")
    discoveries, last = _discoveries(database, job, int(before.get("last_sequence", -1)))
    spending = database.model_spending(search_id=job.search_id) if job.search_id else None
    calls = before.get("spending", {})
    all_spent = {
        "model_calls": spending.calls if spending else 0,
        "model_tokens": spending.prompt_tokens + spending.output_tokens if spending else 0,
        "model_dollars": spending.cost if spending else 0.0,
    }
    return {
        "job": job.id, "subject": job.subject, "search": job.search_id, "state": job.state, "kind": job.kind,
        "model": stored.model, "device": stored.request.device, "count": stored.request.count,
        "context_tokens": stored.request.scenario.context_tokens,
        "totals": totals, "new": {n: max(0, totals[n] - int(old.get(n, 0))) for n in TOTALS},
        "gain": gain, "gain_before": gain_before,
        "hypervolume_gain": result.get("hypervolume_gain"),
        "hypervolume_gain_before": before.get("hypervolume_gain"),
        "discoveries": discoveries, "last_sequence": last,
        "spending": all_spent,
        "spent": {"seconds": job.spent_seconds}
        | {name: max(0, value - calls.get(name, 0)) for name, value in all_spent.items()},
        "rejected": _rejected(database, job),
        "problem": None if job.problem is None else dict(job.problem),
    }  # fmt: skip


def _discoveries(database: Database, job: Job, after: int) -> tuple[list[Json], int]:
    """New structures that beat the baseline, and the last sequence number of the search."""
    if job.search_id is None:
        return [], after
    last = after
    try:
        candidates = database.list_candidates(job.search_id, after_sequence=after)
    except NotFoundError:
        return [], after
    if candidates:
        last = max(c.sequence_number for c in candidates)
    better = [c for c in candidates if c.status == "accepted" and (c.gain or 0.0) > 0]
    better.sort(key=lambda c: (-(c.gain or 0.0), c.sequence_number))
    return [
        {
            "structure": c.design_hash, "gain": c.gain, "proposer": c.proposer,
            "summary": database.get_design(c.design_hash).summary,
            "href": f"/api/v1/discoveries/{c.search_id}/{c.design_hash}",
        }
        for c in better[:MOST_DISCOVERIES]
    ], last  # fmt: skip


def _rejected(database: Database, job: Job) -> list[Json]:
    if job.search_id is None:
        return []
    return [{"reason": r.reason, "count": r.count} for r in database.count_reasons(job.search_id)[:3]]


def _first(entries: Sequence[Json]) -> list[Json]:
    """Failures, then searches that got better, the largest step first, then those that stand still."""
    found: list[tuple[float, Json]] = []
    for e in entries:
        where = f"{e['model']} on {e['count']} x {e['device']}"
        if e["state"] == "failed":
            why = str((e["problem"] or {}).get("detail", "no reason was given"))
            found.append((-2e9, {"kind": "failed", "job": e["job"], "text": f"{where} failed: {why}"}))
            continue
        before = e["gain_before"]
        step = e["gain"] - (before if before is not None else 0.0)
        if step > 1e-9:
            was = "" if before is None else f", {before:+.1%} before"
            text = f"{where} is {e['gain']:+.1%} over the baseline{was}"
            found.append((-step, {"kind": "better", "job": e["job"], "text": text}))
        elif e["new"]["structures"] == 0 and e["state"] == "done" and e["kind"] == "search":
            text = f"{where} tried nothing new; give it another seed or more time"
            found.append((1.0, {"kind": "nothing_new", "job": e["job"], "text": text}))
        elif e["kind"] == "search":
            text = f"{where} stands at {e['gain']:+.1%} after {e['new']['structures']} more structures"
            found.append((0.5, {"kind": "unchanged", "job": e["job"], "text": text}))
    return [item for _, item in sorted(found, key=lambda f: f[0])]
