"""Records to store, numbered so that two are equal if their numbers are."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

from db import Candidate, CandidateStatus, Certificate, Conditions, Database, Design, Evaluation, Search

TIME = datetime(2025, 6, 1, 22, 30, 15, 123456, tzinfo=UTC)
CONDITIONS = Conditions(
    scenario_hash="scenario",
    device_hash="device",
    evaluator_version="1",
    setting="achievable",
    clock="overlapped",
)


def digest(number: object) -> str:
    return sha256(str(number).encode()).hexdigest()


def design(number: object) -> Design:
    return Design(
        design_hash=digest(number),
        structure_hash=digest(("structure", number)),
        text=f"design {number} { {'tp': 8} }\n×",
        model="small",
        summary="heads over two pools",
        rule="split_heads",
        created_at=TIME,
    )


def certificate(number: object, version: str = "1") -> Certificate:
    return Certificate(
        certificate_hash=digest(("certificate", number, version)),
        verdict="accepted",
        reference_structure_hash=digest("reference"),
        candidate_structure_hash=digest(("structure", number)),
        verifier_version=version,
        body={"sections": [1, 2.5, None, True], "π": "ü"},
        created_at=TIME,
    )


def evaluation(number: object, *points: tuple[float, float]) -> Evaluation:
    return Evaluation(
        design_hash=digest(number),
        conditions=CONDITIONS,
        points=[{"x": x, "y": y} for x, y in points],
        seconds=0.25,
        created_at=TIME,
    )


def candidate(
    search: Search, number: int, status: CandidateStatus = "proposed", **changes: object
) -> Candidate:
    values: dict[str, object] = {
        "search_id": search.id,
        "design_hash": digest(number),
        "status": status,
        "round_number": number // 10,
        "sequence_number": number,
        "proposer": "exhaustive",
    }
    return Candidate(**(values | changes))  # type: ignore[arg-type]


def new_search(database: Database, seed: int = 7, owner: str = "") -> Search:
    return database.create_search(
        model="small",
        device="accelerator",
        count=8,
        scenario={"context": 4096},
        scenario_hash="scenario",
        seed=seed,
        setting="achievable",
        clock="overlapped",
        owner=owner,
    )
