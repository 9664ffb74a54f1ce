"""A small search on real parts but the verifier, and all that it leaves in a database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent.problem import Problem
from agent.store import SearchStore
from agent.trial import Judgement, Proofs
from db import Database
from mutations.registry import rule
from mutations.rule import Rule
from rooflang.canonical import structure_hash
from rooflang.design import Design

PROBLEM = Problem("llama-3.1-70b", "h100-sxm", 8)
TINY = ("second stream", "one stream", "shard mlp")
"""Rules of a space small enough to be searched whole."""


def some_rules(names: Sequence[str] = TINY) -> tuple[Rule, ...]:
    return tuple(rule(name) for name in names)


def accept(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
    """Everything is right."""
    return Judgement(True, (), {"false_accept_bound": 1e-9, "seed": seed}, 1.0)


def refuse_some(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
    """One structure in three is wrong, whichever that is."""
    if wrong(candidate):
        return Judgement(False, (("fake.wrong", "attention: it is wrong"),), {}, 1.0)
    return accept(reference, candidate, seed, proofs)


def wrong(candidate: Design) -> bool:
    return int(structure_hash(candidate)[:8], 16) % 3 == 0


def fail_some(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
    """One structure in three makes the verifier fail."""
    if wrong(candidate):
        raise RuntimeError("no idea")
    return accept(reference, candidate, seed, proofs)


def left(database: Database, problem: Problem = PROBLEM) -> dict[str, Any]:
    """Everything that a search stored, but for times and identifiers."""
    store = SearchStore(database, problem)
    if not store.find():
        return {}
    search = database.get_search(store.search_id)
    candidates = database.list_candidates(search.id)
    baseline = database.get_baseline(problem.model, problem.count, store.conditions)
    lineage = sorted(
        (s.parent_hash, s.child_hash, s.rule, s.site, json.dumps(s.parameters, sort_keys=True))
        for c in candidates
        for s in database.children(c.design_hash)
    )
    return {
        "candidates": [
            (c.sequence_number, c.round_number, c.design_hash, c.status, c.proposer, c.reasons, c.detail,
             c.gain, c.certificate_hash)
            for c in candidates
        ],
        "texts": [database.get_design(c.design_hash).text for c in candidates],
        "evaluations": [
            (e.design_hash, e.points) for e in database.list_evaluations(search.id, store.conditions)
        ],
        "baseline": baseline.points if baseline else None,
        "lineage": lineage,
        "rules": [(r.rule, r.resource, r.proposed, r.accepted, r.improved)
                  for r in database.rule_statistics(search.id)],
        "counters": dict(search.counters),
        "cursor": {k: v for k, v in search.cursor.items() if k != "runs"},  # those a kill divides
    }  # fmt: skip
