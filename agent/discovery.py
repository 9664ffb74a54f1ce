"""What a search found: gains over the baseline, and the best discovery."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agent.archive import Archive
from agent.gaps import Gap, gaps
from agent.problem import Problem
from agent.simulated import SimulatedGain, simulated_gain, vanishes
from agent.stagnation import STAGNATION
from evaluator.frontier import Point, hypervolume_gain, matched_gains, simultaneous_gain
from evaluator.sweep import concrete
from rooflang.canonical import design_hash

if TYPE_CHECKING:
    from agent.store import SearchStore

SIGNIFICANT = 0.05
"""A gain below this is within the spread of what it was computed from."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """A verified design that is better on both axes than a point of the baseline.

    `structure` is the stored structure, `design` the hash of the design of the point `new`, whose text is
    `text`; `old` is the point of the baseline that it beats by `gain` on both axes. `simulated` is the same
    comparison with both points simulated.
    """

    design: str
    structure: str
    summary: str
    gain: float
    old: Point
    new: Point
    certificate: str
    false_accept_bound: float | None
    text: str
    simulated: SimulatedGain

    @property
    def significant(self) -> bool:
        return self.gain >= SIGNIFICANT

    @property
    def vanishes(self) -> bool:
        """Whether the gain is gone, or no longer significant, when both points are simulated."""
        return vanishes(self.gain, self.simulated.gain, SIGNIFICANT)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "significant": self.significant, "vanishes": self.vanishes}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a run ended with, over the whole search.

    `stopped` says why: budget, exhausted (no rule makes anything new), time, or interrupted. `seconds` are
    of this run, and so is `verification_milliseconds`, the median. `quiet` is how many structures were tried
    since the frontier last grew. Gaps say how much more is possible at
    most, by overlapping the same designs perfectly and by any design.
    """

    search_id: str
    baseline_frontier: tuple[Point, ...]
    frontier: tuple[Point, ...]
    simultaneous_gain: float
    throughput_gain: float
    interactivity_gain: float
    hypervolume_gain: float
    best: Discovery | None
    structures: int
    accepted: int
    refused: int
    failed: int
    duplicates: int
    points: int
    rounds: int
    seconds: float
    stopped: str
    verification_milliseconds: float | None
    gap_to_limit: Gap | None = None
    gap_to_relaxation: Gap | None = None
    quiet: int = 0

    @property
    def stagnant(self) -> bool:
        """Whether the frontier has not grown over so many structures that the search varied more widely."""
        return self.quiet >= STAGNATION

    def to_json(self) -> dict[str, Any]:
        """Plain JSON with the keys of `seis search --json`."""
        values = {name: getattr(self, name) for name in self.__slots__}
        values["baseline_frontier"] = [p.to_json() for p in self.baseline_frontier]
        values["frontier"] = [p.to_json() for p in self.frontier]
        values["stagnant"] = self.stagnant
        values["best"] = self.best.to_json() if self.best else None
        return values


def conclude(
    problem: Problem,
    store: SearchStore,
    archive: Archive,
    stopped: str,
    seconds: float,
    milliseconds: float | None,
    quiet: int = 0,
) -> SearchResult:
    """The result of a search from its archive."""
    old, new = archive.baseline, archive.frontier
    gain, _, _ = simultaneous_gain(old, new)
    throughput, interactivity = matched_gains(old, new)
    limit, relaxation = gaps(problem, new, store.design)
    c = store.counters
    search = store.database.get_search(store.search_id)
    return SearchResult(
        search_id=store.search_id,
        baseline_frontier=old,
        frontier=new,
        simultaneous_gain=gain,
        throughput_gain=throughput,
        interactivity_gain=interactivity,
        hypervolume_gain=hypervolume_gain(old, new),
        best=best_discovery(problem, store, archive),
        structures=c.get("structures", 0),
        accepted=c.get("accepted", 0),
        refused=c.get("refused", 0),
        failed=c.get("failed", 0),
        duplicates=c.get("duplicates", 0),
        points=c.get("points", 0),
        rounds=int(search.cursor["round"]),
        seconds=seconds,
        stopped=stopped,
        verification_milliseconds=milliseconds,
        gap_to_limit=limit,
        gap_to_relaxation=relaxation,
        quiet=quiet,
    )


def best_discovery(problem: Problem, store: SearchStore, archive: Archive) -> Discovery | None:
    """The design with the largest simultaneous gain; None if no design beats the baseline on both axes."""
    gain, old, new = simultaneous_gain(archive.baseline, archive.frontier)
    if old is None or new is None or gain <= 0:
        return None
    return discovery_of(problem, store, gain, old, new)


def discovery_of(problem: Problem, store: SearchStore, gain: float, old: Point, new: Point) -> Discovery:
    """Everything about a stored point that beats one of the baseline; the store must know its search."""
    structure = store.design(new.design)
    found = concrete(structure, new.configuration, problem.device_names(structure))
    simulated = simulated_gain(problem, (store.design(old.design), old), (structure, new))
    from rooflang.printer import print_design

    certificate = store.certificate_of(new.design)
    bound = certificate.body.get("false_accept_bound") if certificate else None
    stored = store.database.get_design(new.design)
    return Discovery(
        design_hash(found), new.design, stored.summary, gain, old, new,
        certificate.certificate_hash if certificate else "", bound, print_design(found),
        simulated,
    )  # fmt: skip
