"""A discovery in plain words: what changed, where the time went, how sure it is, what an engine needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agent.discovery import Discovery
from agent.problem import Problem
from agent.sensitivity import sensitivity
from agent.store import SearchStore, opened
from evaluator.evaluate import Evaluation
from evaluator.report import by_bound, by_section, rows
from evaluator.simulate import simulate
from evaluator.sweep import at_point
from mutations.registry import rules

if TYPE_CHECKING:
    import db


@dataclass(frozen=True, slots=True)
class Change:
    """One rule on the way from a conventional design to the discovery."""

    rule: str
    site: str
    rewrites: str
    helps: str
    costs: str
    source: str


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One step at an operating point: seconds by clock, and of the ranked clock's kernels one after another
    by section and by what binds them; bytes per device of the fullest pool."""

    clocks: Mapping[str, float]
    sections: Mapping[str, float]
    resources: Mapping[str, float]
    memory: Mapping[str, float]
    binding: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that a discovery's page says; `start` is the conventional design that it grew from and
    `baseline` the one that it is compared with at `discovery.old`."""

    discovery: Discovery
    start: str
    baseline: str
    changes: tuple[Change, ...]
    before: Breakdown
    after: Breakdown
    sensitivity: Mapping[str, float]
    other_setting_gain: float

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "discovery": self.discovery.to_json(), "text": self.text()}

    def text(self) -> str:
        """Plain words, one fact a line."""
        d = self.discovery
        bound = d.false_accept_bound or 0.0
        lines = [
            f"{d.gain:+.1%} on both axes: from {_speeds(d.old)} to {_speeds(d.new)}.",
            f"Simulated event by event: {d.simulated.gain:+.1%}, a step of "
            f"{d.simulated.new_seconds * 1e3:.3f} ms after {d.simulated.old_seconds * 1e3:.3f} ms"
            + ("; the gain vanishes." if d.vanishes else "."),
            f"Compared with: {self.baseline}, {_sizes(d.old.configuration)}, {d.old.batch:,} sequences.",
            f"The design: {self.start}, {_sizes(d.new.configuration)}, {d.new.batch:,} sequences, changed:",
            *(f"  {n}. {c.rule} at {c.site}: {c.rewrites}." for n, c in enumerate(self.changes, 1)),
            "Where a step's time goes, kernels one after another (before, after):",
            *_table(self.before.sections, self.after.sections),
            "What binds them (before, after):",
            *_table(self.before.resources, self.after.resources),
            "The gain if one assumption changes:",
            *(f"  {name}: {gain:+.1%}" for name, gain in self.sensitivity.items()),
            "An engine must support:",
            *(f"  {need}" for need in self.needs()),
            f"Certificate {d.certificate[:16]}: the chance of a false accept is at most {bound:.1e}.",
        ]
        if d.gain >= 0.05 > self.other_setting_gain:
            lines.append("Under the other setting (physical or achievable) most of this gain vanishes.")
        return "\n".join(lines)

    def needs(self) -> list[str]:
        """What each change asks of an engine, each once."""
        return list(dict.fromkeys(f"{c.rule}: {c.costs} (known from: {c.source})" for c in self.changes))


def explain(
    problem: Problem, database: db.Database | str | os.PathLike[str], discovery: Discovery
) -> Explanation:
    """Explain a discovery of a search from its stored lineage and a fresh evaluation of both points."""
    with opened(database) as base:
        store = SearchStore(base, problem)
        store.find()
        path = store.path_to(discovery.structure)
        start = path[0].parent_hash if path else discovery.structure
        start_name, baseline_name = (base.get_design(h).summary for h in (start, discovery.old.design))
        old = (store.design(discovery.old.design), discovery.old)
        new = (store.design(discovery.structure), discovery.new)
    known = {r.name: r.documentation for r in rules()}
    changes = tuple(
        Change(s["rule"], s["site"], doc.rewrites, doc.helps, doc.costs, doc.source)
        for step in path
        for s in step.parameters["steps"]
        if (doc := known.get(s["rule"])) is not None
    )
    before, after = (
        at_point(design, problem.devices(design), problem.scenario, point, setting=problem.setting)
        for design, point in (old, new)
    )
    found = sensitivity(problem, old, new)
    other = sensitivity(problem.under(_other(problem.setting)), old, new)
    return Explanation(
        discovery, start_name, baseline_name, changes, _breakdown(before, problem.clock),
        _breakdown(after, problem.clock), found, other["as assumed"],
    )  # fmt: skip


def _breakdown(e: Evaluation, clock: str) -> Breakdown:
    table = rows(e)
    fullest = max(e.memory.values(), key=lambda m: float(m.total) / m.capacity)
    memory = {
        "weights": float(fullest.weights), "kv": float(fullest.kv), "activations": float(fullest.activations),
        "capacity": fullest.capacity,
    }  # fmt: skip
    clocks = {name: float(e.seconds(name)) for name in ("limit", "overlapped", "serial")}
    clocks["simulated"] = simulate(e).seconds
    return Breakdown(clocks, by_section(table), by_bound(table), memory, e.binding(clock))


def _other(setting: str) -> str:
    return "physical" if setting == "achievable" else "achievable"


def _speeds(point: Any) -> str:
    return (
        f"{point.tokens_per_second_per_user:,.1f} tokens/s/user and "
        f"{point.tokens_per_second_per_gpu:,.1f} tokens/s/GPU"
    )


def _sizes(configuration: Mapping[str, int]) -> str:
    return " ".join(f"{name}={size}" for name, size in configuration.items())


def _table(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    names = sorted({*before, *after}, key=lambda n: -max(before.get(n, 0.0), after.get(n, 0.0)))
    return [f"  {n}: {before.get(n, 0.0) * 1e3:.3f} ms, {after.get(n, 0.0) * 1e3:.3f} ms" for n in names[:10]]
