"""What callers hand in and get back: frozen records, a different type from the live rows.

JSON parts come back as `json.loads` makes them: tuples inside them become lists, and keys become strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from db.columns import utc_now

JsonObject: TypeAlias = Mapping[str, Any]
Verdict: TypeAlias = Literal["accepted", "refused"]
CandidateStatus: TypeAlias = Literal["proposed", "accepted", "refused", "failed"]
SearchState: TypeAlias = Literal["running", "done", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A design: its RoofLang text, and in plain words what it changes."""

    design_hash: str
    structure_hash: str
    text: str
    model: str
    summary: str = ""
    rule: str = ""
    created_at: datetime = field(default_factory=utc_now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """One step from parent to child; both designs must be saved before it."""

    child_hash: str
    parent_hash: str
    rule: str
    site: str = ""
    parameters: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The verifier's answer for a pair of structures."""

    certificate_hash: str
    verdict: Verdict
    reference_structure_hash: str
    candidate_structure_hash: str
    verifier_version: str
    body: JsonObject
    created_at: datetime = field(default_factory=utc_now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """All that an evaluation depends on beside the design."""

    scenario_hash: str
    device_hash: str
    evaluator_version: str
    setting: str
    clock: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The frontier of a design, a sequence of points, and the seconds it took to compute."""

    design_hash: str
    conditions: Conditions
    points: Sequence[JsonObject]
    seconds: float
    created_at: datetime = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple(self.points))


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The conventional frontier of a model on a number of devices."""

    model: str
    count: int
    conditions: Conditions
    points: Sequence[JsonObject]
    created_at: datetime = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple(self.points))


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """A point that no other point of its search dominates, and the design that reaches it."""

    design_hash: str
    values: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search as stored; `cursor` is the state from which its proposers continue."""

    id: str
    owner: str
    model: str
    device: str
    count: int
    scenario: JsonObject
    scenario_hash: str
    seed: int
    setting: str
    clock: str
    state: SearchState
    counters: Mapping[str, int]
    cursor: JsonObject
    created_at: datetime
    updated_at: datetime
    heartbeat_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What became of a design in a search; `reasons` are codes, `detail` one sentence for people."""

    search_id: str
    design_hash: str
    status: CandidateStatus
    round_number: int
    sequence_number: int
    proposer: str
    reasons: Sequence[str] = ()
    detail: str = ""
    certificate_hash: str | None = None
    gain: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", tuple(self.reasons))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonCount:
    """How many candidates gave this reason, and the first one that did."""

    reason: str
    count: int
    example: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStatistics:
    """How often a rule was proposed, accepted and improved the frontier while a resource was binding."""

    rule: str
    resource: str
    proposed: int
    accepted: int
    improved: int
