"""Records of the service: schedules, runs, tokens and sessions, as callers see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

CatchUp: TypeAlias = Literal["none", "latest", "all"]
Overlap: TypeAlias = Literal["skip", "queue", "cancel"]
Turn: TypeAlias = Literal["all", "one"]
RunState: TypeAlias = Literal[
    "waiting", "running", "paused", "done", "failed", "cancelled", "skipped", "missed"
]
Delivery: TypeAlias = Literal["none", "due", "sent", "failed"]
TokenScope: TypeAlias = Literal["read", "submit", "admin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When which jobs are begun.

    A fire later than `grace_seconds` is late, and `catch_up` says which late ones are done. Work goes on from
    `window_start` to `window_end` alone (local HH:MM; both empty for always). `jobs` are checked requests, of
    which a run begins `all`, or the next `one`. `budget` limits a run; with `notify` its report is sent.
    """

    id: str
    name: str
    cron: str
    timezone: str
    enabled: bool
    next_fire_at: datetime | None
    grace_seconds: int
    catch_up: CatchUp
    overlap: Overlap
    window_start: str
    window_end: str
    turn: Turn
    jobs: Sequence[Mapping[str, Any]]
    budget: Mapping[str, Any]
    notify: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledRun:
    """One fire of a schedule: its jobs by identifier, and those of them that wait for the window (`held`)."""

    id: str
    schedule_id: str
    fire_at: datetime
    state: RunState
    reason: str
    jobs: Sequence[str]
    held: Sequence[str]
    report: Mapping[str, Any] | None
    delivery: Delivery
    deliveries: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Who may do what until when."""

    id: str
    token_hash: str
    name: str
    scope: TokenScope
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
