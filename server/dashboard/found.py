"""Discoveries of all searches: filtered, sorted, in pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from db import Candidate, Database, Search

Json = dict[str, Any]
MOST = 5000
"""Discoveries that are looked through; the ones with the largest gains."""
SORTS = ("gain", "new", "model", "device", "round")


@dataclass(frozen=True, slots=True)
class Found:
    """A page of rows, how many match, and the values that filters may take."""

    rows: list[Json]
    matching: int
    models: list[str]
    devices: list[str]


def discoveries(
    database: Database,
    *,
    model: str = "",
    device: str = "",
    search: str = "",
    text: str = "",
    proposer: str = "",
    min_gain: float = 0.0,
    sort: str = "gain",
    limit: int = 50,
    offset: int = 0,
) -> Found:
    """Structures that beat their baseline, under all conditions of a filter."""
    searches = {s.id: s for s in database.list_searches(limit=2000)}
    name = search if search in searches else database.get_search(search).id if search else None
    found = database.list_discoveries(search_id=name, above=min_gain, limit=MOST)
    words = text.lower().split()
    kept = [
        (c, summary, searches[c.search_id])
        for c, summary in found
        if c.search_id in searches
        and (not model or searches[c.search_id].model == model)
        and (not device or searches[c.search_id].device == device)
        and (not proposer or c.proposer == proposer)
        and all(w in f"{summary} {c.rule or ''} {c.design_hash}".lower() for w in words)
    ]
    keys: dict[str, Any] = {
        "new": lambda r: (-r[2].updated_at.timestamp(), -r[0].sequence_number),
        "model": lambda r: (r[2].model, -(r[0].gain or 0)),
        "device": lambda r: (r[2].device, -(r[0].gain or 0)),
        "round": lambda r: (r[0].round_number, r[0].sequence_number),
    }
    if sort in keys:
        kept.sort(key=keys[sort])
    return Found(
        [row(*k) for k in kept[offset : offset + limit]], len(kept),
        sorted({s.model for s in searches.values()}), sorted({s.device for s in searches.values()}),
    )  # fmt: skip


def latest(database: Database, least: float, limit: int) -> list[Json]:
    """The last discoveries of the searches that changed last, without looking through all of them."""
    searches = sorted(database.list_searches(limit=200), key=lambda s: s.updated_at, reverse=True)
    found: list[Json] = []
    for search in searches[:20]:
        best = database.list_discoveries(search_id=search.id, above=least, limit=100)
        best = tuple(sorted(best, key=lambda f: -f[0].sequence_number))
        found += [row(c, summary, search) for c, summary in best[: limit - len(found)]]
        if len(found) >= limit:
            break
    return found


def row(candidate: Candidate, summary: str, search: Search) -> Json:
    """A discovery as a list shows it."""
    return {
        "search": search.id,
        "structure": candidate.design_hash,
        "gain": candidate.gain or 0.0,
        "summary": summary.removeprefix(f"{search.model}: "),
        "model": search.model,
        "device": search.device,
        "count": search.count,
        "context_tokens": int(search.scenario.get("context", 0)),
        "proposer": candidate.proposer,
        "rule": candidate.rule or "",
        "round": candidate.round_number,
        "certificate": candidate.certificate_hash,
        "found_at": search.updated_at,
        "href": f"/discoveries/{search.id}/{candidate.design_hash}",
    }
