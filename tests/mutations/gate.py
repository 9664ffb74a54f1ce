"""The gate: no rule's faults pass the verifier, and no right rewrite is refused.

Run: python -m tests.mutations.gate [--faults A:B] [--right A:B] [--composed A:B] [--most N] [--rules R,…]
     [--models M,…] [--log FILE]

`--faults` is a range of seeds of the whole matrix (every rule on every workload, a site and a place per kind
of fault chosen by the seed), `--right` one of rewrites that must be accepted (each seed takes every rule on
one workload in turn), and `--composed` one of compositions of two to five rules that must be too. A log of
finished cells is read again, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from mutations.faults.declared import declared
from mutations.faults.gate import REAL, Case, Injected, case, composed, inject, right
from mutations.faults.judge import Judgement
from mutations.faults.report import table
from mutations.registry import rules
from mutations.rule import Rule
from rooflang.errors import RoofLangError
from tests.mutations.workloads import WORKLOADS, workload

COMPOSED = "composition"
Key = tuple[str, str, int]


def span(text: str) -> range:
    first, _, last = text.partition(":")
    return range(int(first), int(last))


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    asked.add_argument("--faults", type=span, default=range(1), metavar="A:B")
    asked.add_argument("--right", type=span, default=range(500), metavar="A:B")
    asked.add_argument("--composed", type=span, default=range(500), metavar="A:B")
    asked.add_argument("--most", type=int, default=1, help="injections of a kind per rule, workload and seed")
    asked.add_argument("--rules", default="", help="names, with commas between them; all if none are given")
    asked.add_argument("--models", default="", help="catalogued models among the workloads; all by default")
    asked.add_argument("--log", type=Path, help="file of finished cells, read again at the next start")
    given = asked.parse_args(arguments)
    wanted = [r for r in rules() if not given.rules or r.name in given.rules.split(",")]
    names = [n for n, m in WORKLOADS.items() if not given.models or m in given.models.split(",")]
    log = Log(given.log)
    found: list[Injected] = []
    refused: list[str] = []
    for seed in given.faults:
        for name in names:
            began = time.process_time()
            cells = [c for r in wanted for c in cell(r, name, seed, given.most, log)]
            found += [c for c in cells if isinstance(c, Injected)]
            refused += [c for c in cells if isinstance(c, str)]
            escaped = [i for i in found if i.judgement.outcome == REAL]
            print(
                f"seed {seed}, {name}: {len(cells)} faults, {time.process_time() - began:.0f} CPU-seconds; "
                f"so far {len(found)}, {len(escaped)} escaped, {len(refused)} right rewrites refused",
                flush=True,
            )
    accepted = 0
    for name, seeds in by_workload(given.composed, names).items():
        for seed in seeds:
            text = log.right(COMPOSED, name, seed)
            if text is None:
                text = composition(wanted, name, seed)
                log.keep(COMPOSED, name, seed, text)
            accepted += not text
            refused += [text] if text else []
        print(f"compositions, {name}: {accepted} accepted so far, {len(refused)} refused", flush=True)
    for name, seeds in by_workload(given.right, names).items():
        for seed in seeds:
            for r in wanted:
                text = log.right(r.name, name, seed)
                if text is None:
                    text = rewrite(r, name, seed)
                    log.keep(r.name, name, seed, text)
                accepted += not text
                refused += [text] if text else []
        print(f"right rewrites, {name}: {accepted} accepted so far, {len(refused)} refused", flush=True)
    return conclude(wanted, found, refused, accepted, bool(given.faults) and not given.models)


def cell(r: Rule, name: str, seed: int, most: int, log: Log) -> Iterator[Injected | str]:
    """The injections into one rule's result on one workload, and a sentence if the result is refused."""
    known = log.cell(r.name, name, seed)
    if known is None:
        made, text = applied(r, name, seed)
        known = [] if made is None else list(inject(made, seed, most=most))
        text = right(made, seed) if made is not None else text
        log.add(r.name, name, seed, known, f"{r.name} on {name}: {text}" if text else "")
    yield from known
    if said := log.refused(r.name, name, seed):
        yield said


def applied(r: Rule, name: str, seed: int) -> tuple[Case | None, str]:
    """The rule at a site of the workload, or why its result does not lower."""
    reference, starts = workload(name)
    try:
        return case(r, name, reference, starts, seed), ""
    except RoofLangError as error:
        return None, f"does not lower: {error}"


def by_workload(seeds: range, names: list[str]) -> dict[str, list[int]]:
    """Seeds by the workload that they take, so that each model is loaded once."""
    return {name: [s for s in seeds if s % len(names) == i] for i, name in enumerate(names)}


def rewrite(r: Rule, name: str, seed: int) -> str:
    """Why a right rewrite is refused, or nothing."""
    made, text = applied(r, name, seed)
    text = text if made is None else right(made, seed)
    return f"{r.name} on {name}, seed {seed}, {made.site if made else ''}: {text}" if text else ""


def composition(wanted: list[Rule], name: str, seed: int) -> str:
    """Why a composition of two to five rules is refused, or nothing."""
    reference, starts = workload(name)
    try:
        made, steps = composed(wanted, name, reference, starts, seed, 2 + seed // len(WORKLOADS) % 4)
    except RoofLangError as error:
        return f"{COMPOSED} on {name}, seed {seed}: does not lower: {error}"
    text = right(made, seed)
    return f"{COMPOSED} on {name}, seed {seed}: {steps}: {text}" if text else ""


def conclude(
    wanted: list[Rule], found: list[Injected], refused: list[str], accepted: int, all_kinds: bool
) -> int:
    """Print both tables and what is wrong; 1 if anything is."""
    print("\n" + table("fault", lambda i: i.fault, sorted(found, key=lambda i: i.fault)))
    print("\n" + table("rule", lambda i: i.rule, found))
    wrong = [f"escaped: {i.fault} in {i.rule} on {i.workload} at {i.judgement.where}: {i.judgement.message}"
             for i in found if i.judgement.outcome == REAL]  # fmt: skip
    wrong += [f"refused although right: {text}" for text in refused]
    for r in wanted if all_kinds else []:
        missing = set(declared(r.name, r.family)) - {i.fault for i in found if i.rule == r.name}
        wrong += [f"declared but never injected: {fault} in {r.name}" for fault in sorted(missing)]
    print(f"\n{accepted} right rewrites accepted, {len(refused)} refused")
    print("\n".join(wrong) if wrong else "the gate is closed: nothing escaped")
    return int(bool(wrong))


class Log:
    """Finished cells, one JSON line each."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.cells: dict[Key, tuple[list[Injected], str]] = {}
        self.rights: dict[Key, str] = {}
        for line in path.read_text().splitlines() if path and path.exists() else ():
            said = json.loads(line)
            key = (said["rule"], said["workload"], said["seed"])
            if "right" in said:
                self.rights[key] = said["right"]
            else:
                made = [Injected(**{**i, "judgement": Judgement(**i["judgement"])}) for i in said["faults"]]
                self.cells[key] = (made, said["refused"])

    def cell(self, rule: str, name: str, seed: int) -> list[Injected] | None:
        known = self.cells.get((rule, name, seed))
        return None if known is None else known[0]

    def refused(self, rule: str, name: str, seed: int) -> str:
        return self.cells[rule, name, seed][1]

    def add(self, rule: str, name: str, seed: int, made: list[Injected], refused: str) -> None:
        self.cells[rule, name, seed] = (made, refused)
        self._write(rule, name, seed, faults=[asdict(i) for i in made], refused=refused)

    def right(self, rule: str, name: str, seed: int) -> str | None:
        return self.rights.get((rule, name, seed))

    def keep(self, rule: str, name: str, seed: int, text: str) -> None:
        self._write(rule, name, seed, right=text)

    def _write(self, rule: str, name: str, seed: int, **said: object) -> None:
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"rule": rule, "workload": name, "seed": seed, **said}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
