"""What callers hand in and get back: frozen records, a different type from the live rows.

JSON parts come back as `json.loads` makes them: tuples inside them become lists, and keys become strings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from db.columns import utc_now

JsonObject: TypeAlias = Mapping[str, Any]
Verdict: TypeAlias = Literal["accepted", "refused"]
CandidateStatus: TypeAlias = Literal["proposed", "accepted", "refused", "failed"]
SearchState: TypeAlias = Literal["running", "done", "interrupted"]
JobState: TypeAlias = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
Author: TypeAlias = Literal["person", "llm", "search"]
HypothesisVerdict: TypeAlias = Literal["open", "confirmed", "refuted"]


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
    """What became of a design in a search; `reasons` are codes, `detail` one sentence for people.

    `parent_hash` and `rule` name the step of lineage by which this search came to it: empty for a design that
    grew from none, None where an older version did not say.
    """

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
    parent_hash: str | None = None
    rule: str | None = None

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
    """How often a rule was proposed, accepted and improved the frontier while a resource was binding.

    `gained` is the sum of relative gains over the parents, each shared among the rules of its step.
    """

    rule: str
    resource: str
    proposed: int
    accepted: int
    improved: int
    gained: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work that a coordinator does for someone.

    `request` is what was asked, `subject` a name of which only one job runs at a time. While it runs, `owner`
    has its lease, which `heartbeat_at` renews; `attempts` counts how often a run was begun. `wanted` is what
    the owner is told to do: nothing, `pause` or `cancel`. `spent_seconds` are those of all its runs.
    """

    id: str
    kind: str
    state: JobState
    wanted: str
    priority: int
    subject: str
    request: JsonObject
    search_id: str | None
    owner: str
    attempts: int
    spent_seconds: float
    progress: JsonObject
    result: JsonObject | None
    problem: JsonObject | None
    created_at: datetime
    updated_at: datetime
    heartbeat_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a subject, such as a job; numbers grow in the order of writing."""

    number: int
    kind: str
    subject: str
    data: JsonObject
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered to a request that may be sent again under the same key."""

    key: str
    request_hash: str
    status: int
    headers: JsonObject
    body: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a search asked of the world outside and what it was told: two texts, as JSON."""

    search_id: str
    number: int
    kind: str
    request: str
    answer: str
    request_hash: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpending:
    """Sums over calls of language models; `cost` in dollars, over the calls whose price is known.

    Output tokens include those of reasoning.
    """

    calls: int
    prompt_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float
    seconds: float
    unpriced_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Free text with tags; `model` and `search_id` say what it is about and may be empty.

    Named by its content: the same note saved twice is one note.
    """

    text: str
    author: Author = "person"
    tags: Sequence[str] = ()
    model: str = ""
    search_id: str = ""
    created_at: datetime = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tags", tuple(sorted(set(self.tags))))

    @property
    def note_id(self) -> str:
        return _digest([self.text, self.author, list(self.tags), self.model, self.search_id])


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What is expected of a rule where a resource binds, and what was measured over `trials`.

    `prediction` and `measurement` are relative gains a trial; empty `rule`, `resource` or `model` mean any.
    `search_id` is where it was first stated.
    """

    statement: str
    author: Author = "person"
    rule: str = ""
    resource: str = ""
    model: str = ""
    search_id: str = ""
    verdict: HypothesisVerdict = "open"
    prediction: float | None = None
    measurement: float | None = None
    trials: int = 0
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)

    @property
    def hypothesis_id(self) -> str:
        return _digest([self.statement, self.author, self.rule, self.resource, self.model])


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """The problem of a search in another database, whose rule statistics were imported."""

    search_id: str
    problem: JsonObject
    created_at: datetime = field(default_factory=utc_now)


def _digest(facts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()
