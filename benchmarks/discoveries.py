"""Searches over models, devices, cluster sizes and contexts, and the page of what they found.

Run: python -m benchmarks.discoveries [--database FILE] [--structures N] [--cases SUBSTRING …] [--write]

Every case is searched under achievable and under physical rates, on from what the database holds, up to
--structures; what came of it is a line of FILE.jsonl. It may be interrupted; run again, it goes on. With
--write, docs/discoveries.md is made of these lines, without searching.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent import Budget, Problem, SearchResult, explain, search
from agent.store import SearchStore
from db import Database
from evaluator.rates import SETTINGS
from evaluator.scenario import Scenario
from seis.cli.compare_tables import context_name
from seis.cli.units import number, percent

PAGE = Path(__file__).parents[1] / "docs" / "discoveries.md"
CONTEXTS = (8192, 65536, 262144, 1048576)
COUNTS = (8, 16, 32, 64, 128, 256)
MODELS = (
    "deepseek-v4-flash", "glm-5.3", "kimi-k3", "deepseek-v3.2", "qwen3.5-397b-a17b", "gpt-oss-120b",
)  # fmt: skip
DEVICES = ("b300-sxm", "gb300-nvl72", "h200-sxm", "mi355x")
HEAD = (
    "model", "devices", "context", "rates", "both axes", "simulated", "hypervolume", "matched", "left",
    "structures",
)  # fmt: skip
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the page."""

    model: str
    device: str
    count: int
    context: int

    @property
    def name(self) -> str:
        return f"{self.model} {self.count}x{self.device} {context_name(self.context)}"

    def problem(self, setting: str) -> Problem:
        return Problem(self.model, self.device, self.count, Scenario(self.context), setting=setting)


def cases() -> Iterator[Case]:
    """DeepSeek-V4-Pro on B300 in every size and context, then all others on 64 devices."""
    first = Case("deepseek-v4-pro", "b300-sxm", 64, 8192)
    yield first
    for context in CONTEXTS:
        for count in COUNTS:
            case = Case("deepseek-v4-pro", "b300-sxm", count, context)
            if case != first:
                yield case
    for device in DEVICES:
        for model in MODELS if device == "b300-sxm" else ("deepseek-v4-pro", *MODELS):
            yield Case(model, device, 64, 8192)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", default="discoveries.db")
    parser.add_argument("--structures", type=int, default=300)
    parser.add_argument("--cases", nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = Path(asked.database + ".jsonl")
    if asked.write:
        PAGE.write_text(page(_read(lines)), encoding="utf-8")
        return
    known = _read(lines)
    for case in cases():
        for setting in SETTINGS:
            done = known.get((case.name, setting), {}).get("structures", 0) >= asked.structures
            if done or (asked.cases and not any(part in case.name for part in asked.cases)):
                continue
            line = run(asked.database, case, setting, asked.structures)
            with lines.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def run(database: str, case: Case, setting: str, structures: int) -> Line:
    """Search a case; what the page says of it."""
    problem = case.problem(setting)
    with Database.open(database) as base:
        store = SearchStore(base, problem)
        tried = store.counters.get("structures", 0) if store.find() else 0
        found = search(problem, base, budget=Budget(max(0, structures - tried)))
    text = "" if found.best is None else explain(problem, database, found.best).text()
    print(
        f"{case.name} {setting}: {found.structures} structures, {found.refused} refused, "
        f"{percent(found.simultaneous_gain)} on both axes, {found.seconds:.0f} s",
        flush=True,
    )
    return {
        "case": case.name, "setting": setting, "structures": found.structures, "text": text,
        "gain": found.simultaneous_gain, "row": _row(case, setting, found),
    }  # fmt: skip


def _read(lines: Path) -> dict[tuple[str, str], Line]:
    """The newest line of every case and setting."""
    found: dict[tuple[str, str], Line] = {}
    for text in lines.read_text(encoding="utf-8").splitlines() if lines.exists() else ():
        line: Line = json.loads(text)
        found[line["case"], line["setting"]] = line
    return found


def page(lines: Mapping[tuple[str, str], Line]) -> str:
    """The page of documentation, in the order of the cases."""
    rows = [
        lines[case.name, setting]["row"]
        for case in cases()
        for setting in SETTINGS
        if (case.name, setting) in lines
    ]
    parts = [
        "# Discoveries",
        "Written by `python -m benchmarks.discoveries --write` from the searches that "
        "`python -m benchmarks.discoveries` made (keyless proposers, seed 0; the last column says how many "
        "structures each tried). Gains compare with the conventional baseline of "
        "[the evaluator](evaluator.md) on the same devices, contexts and drafting, under the `overlapped` "
        "clock. *Both axes* is the largest gain in tokens/s/user and tokens/s/GPU at once, *simulated* the "
        "same two points simulated event by event; *matched* is throughput at equal interactivity, and "
        "interactivity at equal throughput. *Left* is what the relaxation bound still allows beyond the "
        "highest throughput.",
        _table(HEAD, rows),
        "## The largest ones explained",
    ]  # fmt: skip
    told = [line for (_, setting), line in lines.items() if setting == "achievable" and line["text"]]
    for line in sorted(told, key=lambda line: -line["gain"])[:3]:
        parts += [f"### {line['case']}", f"```console\n{line['text']}\n```"]
    return "\n\n".join(parts) + "\n"


def _row(case: Case, setting: str, found: SearchResult) -> list[str]:
    simulated = "–" if found.best is None else percent(found.best.simulated.gain)
    if found.best is not None and found.best.vanishes:
        simulated += " (vanishes)"
    left = found.gap_to_relaxation
    return [
        case.model, f"{case.count} x {case.device}", context_name(case.context), setting,
        percent(found.simultaneous_gain), simulated, percent(found.hypervolume_gain),
        f"{percent(found.throughput_gain)}, {percent(found.interactivity_gain)}",
        "–" if left is None else f"x {number(1 + left['throughput'])}", str(found.structures),
    ]  # fmt: skip


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * 4 + ["---:"] * (len(head) - 4)
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


if __name__ == "__main__":
    main()
