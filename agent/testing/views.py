"""A small archive of real designs with invented points, made without an evaluation."""

from __future__ import annotations

from agent.archive import Archive, Member
from agent.points import Analysis
from agent.problem import Problem, identity, structure_of
from agent.proposer import View, choices_of
from db import NotFoundError
from evaluator.frontier import Point
from mutations.rule import Rule, Site
from mutations.start import starting_designs
from rooflang.canonical import design_hash
from rooflang.design import Design

SHARES = {"latency": 0.4, "memory": 0.4, "scale-up": 0.2}


def small_view(members: int = 3) -> View:
    """A view of that many conventional structures of a small model; 0 for an empty archive."""
    problem = Problem("qwen3-0.6b", "h100-sxm", 8)
    archive = Archive((Point(10.0, 10.0, 1, {}, "baseline", "memory"),))
    designs: dict[str, Design] = {}
    for number, start in enumerate(starting_designs(problem.reference())[:members]):
        design = structure_of(start)
        name = design_hash(design)
        designs[name] = design
        point = Point(11.0 + number, 12.0 - number, 8, {}, name, "memory")
        archive.add(
            Member(
                design_hash=name, structure_hash=identity(design), sequence=number, points=(point,),
                analyses={0: Analysis(SHARES, {})}, gain=0.1 - 0.01 * number, best=0, pools=1, root=name,
            )
        )  # fmt: skip
    rules = problem.rules()
    known: dict[str, list[tuple[Rule, Site]]] = {}

    def choices(name: str) -> list[tuple[Rule, Site]]:
        if name not in known:
            known[name] = choices_of(rules, designs[name])
        return known[name]

    def stored(name: str) -> Design:
        if name not in designs:
            raise NotFoundError(f"a design must be of the archive to be read, but {name[:16]} is not")
        return designs[name]

    return View(archive, rules, stored, choices)
