"""All that is known of a discovered design: its steps from a conventional one, times, memory, assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent.archive import point_from_json
from agent.discovery import SIGNIFICANT
from agent.simulated import vanishes
from catalogue.devices import Device
from evaluator.evaluate import Evaluation
from evaluator.frontier import Point, simultaneous_gain
from evaluator.report import by_bound, by_section, rows
from evaluator.scenario import Scenario
from evaluator.simulate import Simulated, simulate
from evaluator.sweep import at_point, concrete
from mutations.registry import rules
from rooflang.design import Design
from rooflang.parser import parse
from seis.cli.problems import UsageError
from seis.cli.stored_search import Stored, read

if TYPE_CHECKING:
    import db


@dataclass(frozen=True, slots=True)
class Change:
    """One rule of the way from a conventional design, with what its documentation says."""

    rule: str
    site: str
    prediction: str
    rewrites: str = ""
    helps: str = ""
    costs: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One operating point taken apart; seconds are of one step, bytes by class and pool."""

    sections: Mapping[str, float]
    bounds: Mapping[str, float]
    step: Mapping[str, float]
    memory: Mapping[str, Mapping[str, float]]
    simulated: Simulated


@dataclass(frozen=True, slots=True)
class Explanation:
    """A design beside the conventional point that it beats most clearly on both axes."""

    stored: Stored
    design: str
    summary: str
    gain: float
    old: Point
    new: Point
    changes: tuple[Change, ...]
    before: Side
    after: Side
    sensitivity: Mapping[str, float]
    certificate: Mapping[str, Any] | None
    commands: tuple[str, ...]

    @property
    def simulated_gain(self) -> float:
        """The gain on both axes when both points are simulated."""
        users, throughputs = [], []
        for point, side in ((self.old, self.before), (self.new, self.after)):
            users.append(float(side.simulated.evaluation.emitted) / side.simulated.seconds)
            throughputs.append(users[-1] * point.batch)
        return min(users[1] / users[0], throughputs[1] / throughputs[0]) - 1

    @property
    def vanishes(self) -> bool:
        """Whether the gain is gone, or no longer significant, under simulation."""
        return self.gain > 0 and vanishes(self.gain, self.simulated_gain, SIGNIFICANT)


def read_explanation(database: db.Database, search: str | None, prefix: str | None) -> Explanation:
    """The explanation of a stored design, or of the best one. Raises UsageError where there is none."""
    stored = read(database, search)
    structure, points = _points(database, stored, prefix)
    gain, old, new = simultaneous_gain(stored.baseline, points)
    if old is None or new is None:
        raise UsageError("a design must have points and a baseline to be explained; run `seis search`")
    design, conventional = (parse(database.get_design(p.design).text) for p in (new, old))
    sides = [_side(stored, d, p) for d, p in ((conventional, old), (design, new))]
    record = database.get_design(structure)
    certificate = _certificate(database, stored, structure)
    return Explanation(
        stored, structure, record.summary, gain, old, new, _changes(database, structure), sides[0], sides[1],
        _sensitivity(stored, (conventional, old), (design, new)), certificate, _commands(stored, design, new),
    )  # fmt: skip


def _points(database: db.Database, stored: Stored, prefix: str | None) -> tuple[str, tuple[Point, ...]]:
    """The structure's hash and its frontier."""
    if prefix is None:
        if stored.new is None:
            raise UsageError("a search must have points to be explained, but has none; run `seis search`")
        name = stored.new.design
    else:
        name = database.get_design(prefix).design_hash
    found = database.get_evaluation(name, stored.conditions)
    if found is None:  # a design with its numbers stands for its structure
        for other in database.list_designs(structure_hash=database.get_design(name).structure_hash):
            found = database.get_evaluation(other.design_hash, stored.conditions)
            if found is not None:
                name = other.design_hash
                break
    if found is None:
        raise UsageError(
            f"a design must be evaluated in search {stored.search.id[:12]} to be explained, but {name[:12]} "
            "is not; choose another with --search"
        )
    return name, tuple(point_from_json(p) for p in found.points)


def _changes(database: db.Database, structure: str) -> tuple[Change, ...]:
    """The rules applied since the conventional design, first one first."""
    known = {r.name: r.documentation for r in rules()}
    found: list[Change] = []
    wanted = structure
    for step in database.lineage(structure):
        if step.child_hash != wanted:
            continue
        wanted = step.parent_hash
        parts = []
        for part in step.parameters.get("steps", ()):
            doc = known.get(part["rule"])
            text = (doc.rewrites, doc.helps, doc.costs, doc.source) if doc else ()
            parts.append(Change(part["rule"], part["site"], step.parameters.get("prediction", ""), *text))
        found = parts + found
    return tuple(found)


def _at(stored: Stored, design: Design, point: Point, device: Device, scenario: Scenario) -> Evaluation:
    devices = {pool.name: device for pool in design.pools}
    return at_point(design, devices, scenario, point, setting=stored.problem.setting)


def _side(stored: Stored, design: Design, point: Point) -> Side:
    e = _at(stored, design, point, stored.problem.accelerator, stored.problem.scenario)
    table = rows(e)
    memory = {
        pool: {
            "weights": float(m.weights), "kv": float(m.kv), "activations": float(m.activations),
            "capacity": m.capacity,
        }
        for pool, m in e.memory.items()
    }  # fmt: skip
    clocks = {c: float(e.seconds(c)) for c in ("limit", "overlapped", "serial")}
    simulated = simulate(e)
    clocks["simulated"] = simulated.seconds
    return Side(by_section(table), by_bound(table), clocks, memory, simulated)


def _sensitivity(stored: Stored, old: tuple[Design, Point], new: tuple[Design, Point]) -> dict[str, float]:
    """The gain on both axes at the same two points when an assumption changes."""
    problem = stored.problem
    base, scenario = problem.accelerator, problem.scenario
    slower = {
        f"{name} -10 %": base.scaled(field, 0.9)
        for name, field in (
            ("memory bandwidth", "memory_bytes_per_second"),
            ("scale-up links", "scale_up_bytes_per_second"),
            ("scale-out links", "scale_out_bytes_per_second"),
            ("matrix rate", "flops_per_second"),
        )
    }
    cases: dict[str, tuple[Device, Scenario, str]] = {
        name: (device, scenario, problem.setting) for name, device in slower.items()
    }
    cases["balanced routing"] = (base, replace(scenario, routing="balanced"), problem.setting)
    if any(p.configuration.get("drafted") for _, p in (old, new)):
        half = tuple(0.8 * scenario.chance(i) for i in range(8))
        cases["draft acceptance -20 %"] = (base, replace(scenario, acceptance=half), problem.setting)
    other = "physical" if problem.setting == "achievable" else "achievable"
    cases[f"{other} rates"] = (base, scenario, other)
    return {name: _gain(stored, old, new, *case) for name, case in cases.items()}


def _gain(
    stored: Stored, old: tuple[Design, Point], new: tuple[Design, Point], device: Device, scenario: Scenario,
    setting: str,
) -> float:  # fmt: skip
    users, throughputs = [], []
    for design, point in (old, new):
        devices = {pool.name: device for pool in design.pools}
        e = at_point(design, devices, scenario, point, setting=setting)
        user = float(e.per_user(stored.problem.clock))
        users.append(user)
        throughputs.append(user * point.batch / stored.problem.count)
    return min(users[1] / users[0], throughputs[1] / throughputs[0]) - 1


def _certificate(database: db.Database, stored: Stored, structure: str) -> dict[str, Any] | None:
    from agent.store import SearchStore

    store = SearchStore(database, stored.problem)
    store.search_id = stored.search.id
    found = store.certificate_of(structure)
    if found is None:
        return None
    body = dict(found.body)
    return {
        "certificate": found.certificate_hash,
        "verdict": found.verdict,
        "false_accept_bound": body.get("false_accept_bound"),
        "layers": body.get("layers"),
    }


def _commands(stored: Stored, design: Design, point: Point) -> tuple[str, ...]:
    """Commands that show more of the design at this point."""
    configuration = point.configuration
    placed = concrete(design, configuration, stored.problem.device_names(design))
    axes = " ".join(
        f"--axis {a}={size}" for mesh in placed.placement.meshes for a, size in mesh.axes if size > 1
    )
    more = [f"--device {stored.problem.device}", f"--count {stored.problem.count}", f"--batch {point.batch}"]
    if configuration.get("microbatches", 1) > 1:
        more.append(f"--microbatches {configuration['microbatches']}")
    if configuration.get("drafted"):
        more.append(f"--mtp {configuration['drafted']}")
    name = point.design[:12]
    return (f"seis show {name}", f"seis evaluate {name} {axes} {' '.join(more)}".replace("  ", " "))
