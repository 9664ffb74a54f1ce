"""A service: requests with prompts and answers on a cluster, and what its users and its owner get of it.

Definitions, for a request of L prompt tokens (of which the share h is cached) and n answer tokens:

    TTFT         time to first token: from the request's start to its first token, without waiting for a place
    TPOT         time per output token after the first: a decode step over its emitted tokens α
    latency      TTFT + (n - 1) · TPOT
    tokens/s/user    1 / TPOT
    requests/s   of the whole cluster, in a steady state in which every batch is full
    output tokens/s/GPU    requests/s · mean n / devices;    total: requests/s · mean (L + n) / devices

Idle devices count. A point that misses a limit is never given as an answer: where none meets both limits the
service is infeasible, and the point nearest to them (the least largest ratio to a limit) is given beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from evaluator.errors import ScenarioError
from evaluator.lengths import Lengths, fixed
from evaluator.scenario import Scenario

MODES = ("aggregated", "disaggregated", "best")
CHUNK = 2048
"""Tokens of a prompt per step where no chunk is asked for: a usual budget of today's engines."""
MOST_CHUNKS = 1024
"""Of a prompt: each is evaluated, so more take too long and too much memory."""


@dataclass(frozen=True, slots=True)
class Service:
    """What is asked of a cluster.

    `hit` is the share of a prompt that a prefix cache holds, `drafted` the tokens drafted per step, `chunk`
    the tokens of a prompt that one step computes on each group of ranks that shares a sequence. `scenario`
    gives acceptance and routing; its context is not used. Limits are in seconds.
    """

    prompts: Lengths = field(default_factory=lambda: fixed(8192))
    answers: Lengths = field(default_factory=lambda: fixed(1024))
    hit: float = 0.0
    drafted: int = 0
    chunk: int = CHUNK
    scenario: Scenario = field(default_factory=Scenario)
    max_ttft: float = inf
    max_tpot: float = inf

    def __post_init__(self) -> None:
        if not 0 <= self.hit <= 1:
            raise ScenarioError(f"a hit rate must be between 0 and 1, but got {self.hit}")
        if self.chunk < 1:
            raise ScenarioError(f"a chunk must be at least 1 token, but got {self.chunk}")
        steps = self.prompts.longest / self.chunk
        if steps > MOST_CHUNKS:
            raise ScenarioError(
                f"the longest prompt must take at most {MOST_CHUNKS:,} chunks, but "
                f"{self.prompts.longest:,.0f} tokens in chunks of {self.chunk:,} take {steps:,.0f}; "
                "raise the chunk"
            )
        if self.drafted < 0:
            raise ScenarioError(f"drafted tokens must be at least 0, but got {self.drafted}")
        for name, limit in (("TTFT", self.max_ttft), ("TPOT", self.max_tpot)):
            if not limit > 0:
                raise ScenarioError(f"a limit of {name} must be more than 0 seconds, but got {limit:g}")

    def excess(self, ttft: float, tpot: float) -> float:
        """The larger ratio to a limit; at most 1 where both are met."""
        return max(ttft / self.max_ttft, tpot / self.max_tpot)


@dataclass(frozen=True, slots=True)
class Role:
    """How one part of a cluster runs: `structure` names a design, whose replicas are configured alike.

    `batch` is sequences (prompts, of prefill) per replica, `seconds` a step of decode or a prompt batch's
    prefill, `binding` what takes most of its time.
    """

    structure: str
    configuration: Mapping[str, int]
    replicas: int
    devices: int
    batch: int
    seconds: float
    binding: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """One way to run a service, with its figures. Seconds; rates of the whole cluster or per device.

    `prefill` is None where prompts ride on decode steps. `transfer` is the part of `ttft` that moves caches
    between devices, `limiting` what limits the requests: aggregated serving, prefill, decode or transfer.
    """

    mode: str
    ttft: float
    tpot: float
    requests_per_second: float
    output_per_gpu: float
    total_per_gpu: float
    latency: float
    limiting: str
    decode: Role
    prefill: Role | None = None
    transfer: float = 0.0

    @property
    def per_user(self) -> float:
        return 1 / self.tpot

    def dollars_per_million_output(self, per_hour: float) -> float:
        """Cost of a million answer tokens at a price per device and hour."""
        return per_hour / 3600 / self.output_per_gpu * 1e6

    def to_json(self) -> dict[str, Any]:
        from dataclasses import asdict

        return asdict(self)


@dataclass(frozen=True, slots=True)
class Answer:
    """The best way that meets the limits, or None and the one nearest to them.

    `frontier` are the ways within the limits that none beats on both tokens/s/user and output tokens/s/GPU;
    `points` counts operating points that were evaluated, `fitting` those that fit in memory.
    """

    best: Served | None
    nearest: Served | None
    frontier: tuple[Served, ...]
    points: int
    fitting: int

    @property
    def feasible(self) -> bool:
        return self.best is not None


def served(
    service: Service,
    count: int,
    requests: float,
    times: tuple[float, float],
    limiting: str,
    decode: Role,
    prefill: Role | None = None,
    transfer: float = 0.0,
) -> Served:
    """A way to run a service, from requests per second of the cluster and its (TTFT, TPOT)."""
    ttft, tpot = times
    answer, prompt = service.answers.mean, service.prompts.mean
    return Served(
        "aggregated" if prefill is None else "disaggregated", ttft, tpot, requests,
        requests * answer / count, requests * (answer + prompt) / count, ttft + (answer - 1) * tpot,
        limiting, decode, prefill, transfer,
    )  # fmt: skip


def best_of(service: Service, ways: list[Served], points: int, fitting: int) -> Answer:
    """The answer among ways to run a service."""
    meeting = [w for w in ways if service.excess(w.ttft, w.tpot) <= 1]
    best = max(meeting, key=lambda w: (w.output_per_gpu, -w.tpot, -w.ttft), default=None)
    nearest = min(ways, key=lambda w: service.excess(w.ttft, w.tpot), default=None) if best is None else None
    frontier: list[Served] = []
    for way in sorted(meeting, key=lambda w: (w.tpot, -w.output_per_gpu)):
        if not frontier or way.output_per_gpu > frontier[-1].output_per_gpu:
            frontier.append(way)
    return Answer(best, nearest, tuple(frontier), points, fitting)
