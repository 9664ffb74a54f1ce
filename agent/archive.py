"""What a search has found: the joint frontier over structures, and elites that keep it diverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.points import Analysis
from agent.steps import Step
from evaluator.frontier import Point, front, hypervolume, simultaneous_gain


@dataclass(frozen=True, slots=True)
class Member:
    """An accepted structure.

    `gain` is its largest simultaneous gain over the baseline (negative where it is behind everywhere) and
    `best` the position of the point that reaches it. `analyses` tell, for some positions in `points`, where
    the step's time goes; `root` is the conventional structure that it grew from, and `families` are the kinds
    of change since; `steps` are the rules and sites that made it of the root.
    """

    design_hash: str
    structure_hash: str
    sequence: int
    points: tuple[Point, ...]
    analyses: Mapping[int, Analysis]
    gain: float
    best: int
    pools: int
    root: str = ""
    parent: str = ""
    families: frozenset[str] = frozenset()
    depth: int = 0
    same_matrix_work: bool = True
    steps: tuple[Step, ...] = ()

    @property
    def analysis(self) -> Analysis:
        """That of the analysed point nearest to the best one."""
        if not self.analyses:
            return Analysis({}, {})
        return self.analyses[min(self.analyses, key=lambda i: (abs(i - self.best), i))]

    @property
    def binding(self) -> str:
        """The resource with the largest share at the best point."""
        shares = self.analysis.resources
        return max(sorted(shares), key=lambda name: shares[name]) if shares else ""


class Archive:
    """Members in the order of discovery. Adding the same members in the same order gives the same archive."""

    def __init__(self, baseline: Sequence[Point]) -> None:
        self.baseline = tuple(baseline)
        self._members: dict[str, Member] = {}
        self._elites: dict[tuple[object, ...], str] = {}
        self._frontier: tuple[Point, ...] = ()
        self._volume: float | None = None

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, design_hash: str) -> bool:
        return design_hash in self._members

    def __getitem__(self, design_hash: str) -> Member:
        return self._members[design_hash]

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The joint Pareto frontier; each point names its design."""
        return self._frontier

    @property
    def hypervolume(self) -> float:
        """That of the joint frontier, in log-log scale."""
        if self._volume is None:
            self._volume = hypervolume(self._frontier)
        return self._volume

    def add(self, member: Member) -> bool:
        """Take in a member; True if it extends the joint frontier."""
        self._members[member.design_hash] = member
        before = self._frontier
        self._frontier = front([*before, *member.points])
        self._volume = None
        cell = (member.root, member.binding, member.pools, member.families)
        holder = self._elites.get(cell)
        if holder is None or member.gain > self._members[holder].gain:
            self._elites[cell] = member.design_hash
        return any(p.design == member.design_hash for p in self._frontier)

    def breadth_first(self) -> list[Member]:
        """All members, those with the fewest changes first."""
        return sorted(self._members.values(), key=lambda m: (m.depth, m.sequence))

    def promising(self) -> list[Member]:
        """Elites and members on the frontier: the best of every root, then the second of each, and so on.

        Roots go by their best gain. Of members whose best points are equal (a change that does nothing there)
        only the first counts.
        """
        names = {*self._elites.values(), *(p.design for p in self._frontier)} & set(self._members)
        ranked = sorted((self._members[n] for n in names), key=lambda m: (-m.gain, m.sequence))
        met: set[tuple[float, float]] = set()
        places: dict[str, int] = {}
        keyed: list[tuple[int, int, Member]] = []
        for number, member in enumerate(ranked):
            point = member.points[member.best]
            look = (point.tokens_per_second_per_user, point.tokens_per_second_per_gpu)
            if look not in met:
                met.add(look)
                place = places[member.root] = places.get(member.root, -1) + 1
                keyed.append((place, number, member))
        return [member for _, _, member in sorted(keyed, key=lambda key: key[:2])]

    @property
    def cells(self) -> Mapping[tuple[object, ...], str]:
        """The elite of each cell: (root, what binds, pools, kinds of change)."""
        return dict(self._elites)

    def members(self) -> tuple[Member, ...]:
        return tuple(self._members.values())


def gain_of(baseline: Sequence[Point], points: Sequence[Point]) -> tuple[float, int]:
    """(simultaneous gain over the baseline, position of the point that reaches it)."""
    gain, _, new = simultaneous_gain(baseline, points)
    return gain, next((i for i, p in enumerate(points) if p is new), 0)


def point_from_json(values: Mapping[str, Any]) -> Point:
    """A stored point."""
    return Point(
        values["tokens_per_second_per_user"],
        values["tokens_per_second_per_gpu"],
        values["batch"],
        dict(values["configuration"]),
        values["design"],
        values["binding"],
    )
