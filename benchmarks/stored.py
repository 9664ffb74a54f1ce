"""A large database of made-up searches, for benchmarks."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from agent.problem import Problem
from agent.store import SearchStore, scenario_record
from db import Conditions, Database, utc_now
from db.schema import Base, CandidateRow, DesignRow, EvaluationRow, LineageRow
from server.examples import placed

PER_SEARCH = 500
POINTS = 8
CONFIGURATION = {"tp": 8, "microbatches": 1, "overlap": 0, "drafted": 0, "replicas": 1}


def fill(place: Path, designs: int) -> tuple[list[str], list[str]]:
    """Store so many designs with their results; identifiers of searches, and hashes of designs."""
    problem = Problem("llama-3.1-8b", "h100-sxm", 8)
    searches: list[str] = []
    names = [sha256(str(n).encode()).hexdigest() for n in range(designs)]
    with Database.open(place) as database:
        conditions = SearchStore(database, problem).conditions
        for first in range(0, designs, PER_SEARCH):
            search = database.create_search(
                model=problem.model, device=problem.device, count=8, scenario=scenario_record(problem),
                scenario_hash=conditions.scenario_hash, seed=first, setting=problem.setting,
                clock=problem.clock, owner="benchmark", cursor={"device": conditions.device_hash, "round": 9},
            )  # fmt: skip
            database.finish_search(search.id, owner="benchmark")
            searches.append(search.id)
            made = _rows(search.id, names, range(first, min(first + PER_SEARCH, designs)), conditions)
            with database.transaction() as tx, tx._writing() as session:
                for table, values in made.items():
                    session.execute(insert(table), values)
    return searches, names


def _rows(
    search: str, names: list[str], group: Iterable[int], conditions: Conditions
) -> dict[type[Base], list[dict[str, Any]]]:
    """Rows of one search: a tree of designs under its first, a third of them refused."""
    chance, text, began = random.Random(search), placed(), utc_now() - timedelta(days=30)
    tables: tuple[type[Base], ...] = (DesignRow, CandidateRow, EvaluationRow, LineageRow)
    made: dict[type[Base], list[dict[str, Any]]] = {table: [] for table in tables}
    for n in group:
        place, name, at = n % PER_SEARCH, names[n], began + timedelta(seconds=10 * n)
        made[DesignRow].append({
            "design_hash": name, "structure_hash": sha256(name.encode()).hexdigest(),
            "text": f"# {n}\n{text}", "model": f"model-{n % 20}", "summary": f"made up, number {n}",
            "rule": "split", "created_at": at,
        })  # fmt: skip
        made[CandidateRow].append({
            "search_id": search, "design_hash": name, "status": "accepted" if n % 3 else "refused",
            "reasons": [], "detail": "", "certificate_hash": None, "round_number": place // 24,
            "sequence_number": place, "proposer": "exhaustive", "parent_hash": None, "rule": "split",
            "gain": chance.gauss(0.0, 0.1) if n % 3 else None,
        })  # fmt: skip
        made[EvaluationRow].append({
            "design_hash": name, "scenario_hash": conditions.scenario_hash, "setting": conditions.setting,
            "device_hash": conditions.device_hash, "evaluator_version": conditions.evaluator_version,
            "clock": conditions.clock, "seconds": 0.1, "created_at": at,
            "points": [_point(name, i, chance) for i in range(POINTS)],
        })  # fmt: skip
        if place:
            parent = names[n - place + (place - 1) // 4]
            made[LineageRow].append({
                "child_hash": name, "parent_hash": parent, "rule": "split", "site": "attention",
                "parameters": {},
            })  # fmt: skip
    return made


def _point(name: str, number: int, chance: random.Random) -> dict[str, Any]:
    return {
        "tokens_per_second_per_user": 20.0 * (number + 1) * chance.uniform(0.8, 1.2),
        "tokens_per_second_per_gpu": 4000.0 / (number + 1) * chance.uniform(0.8, 1.2),
        "batch": 64, "configuration": CONFIGURATION, "design": name, "binding": "",
    }  # fmt: skip
