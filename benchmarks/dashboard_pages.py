"""Overview of many designs, lineage of a large search, the slider: `python -m benchmarks.dashboard_pages`."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from agent.problem import Problem, identity
from agent.store import SearchStore, scenario_record
from db import Candidate, Database, Design, Lineage
from server.dashboard.lineage import lineage
from tests.browser.screenshots import get, post
from tests.browser.service import browser, running

JOB = {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 8, "budget": {"structures": 40}}
SLIDE = """(at) => new Promise((done) => {
  const slider = document.querySelector("#operating"), began = performance.now();
  slider.value = String(at);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


def fill(place: Path, designs: int, chain: bool) -> tuple[str, str]:
    """Store a search of so many designs, each made of an earlier one; (its identifier, its last design).

    In a chain each is made of the one before; else of a random one, as searches do.
    """
    problem = Problem("llama-3.1-8b", "h100-sxm", 8)
    chance = np.random.default_rng(0)
    names = [sha256(f"{place} {n}".encode()).hexdigest() for n in range(designs)]
    with Database.open(place) as database:
        store = SearchStore(database, problem)
        search = database.create_search(
            model=problem.model, device=problem.device, count=8, scenario=scenario_record(problem),
            scenario_hash=store.conditions.scenario_hash, seed=0, setting=problem.setting,
            clock=problem.clock, owner="benchmark",
            cursor={"device": store.conditions.device_hash, "round": 0},
        )  # fmt: skip
        structure = identity(problem.reference())
        with database.transaction() as tx:
            for n, name in enumerate(names):
                tx.save_design(Design(design_hash=name, structure_hash=structure, text="made up",
                                      model=problem.model, summary=f"made up, number {n}"))  # fmt: skip
                parent = "" if n == 0 else names[n - 1 if chain else int(chance.integers(n))]
                rule = "fuse" if parent else None
                tx.record_candidate(Candidate(search_id=search.id, design_hash=name, status="accepted",
                                              round_number=n // 24, sequence_number=n, rule=rule,
                                              proposer="benchmark", parent_hash=parent,
                                              gain=float(chance.uniform(0, 0.2))))  # fmt: skip
                if parent:
                    tx.save_lineage(Lineage(child_hash=name, parent_hash=parent, rule="fuse", parameters={}))
        database.finish_search(search.id, owner="benchmark")
        return search.id, names[-1]


def milliseconds(
    act: Callable[[], object], times: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Times of an act, the first one left out."""
    act()
    found = []
    for _ in range(times):
        began = clock()
        act()
        found.append(1e3 * (clock() - began))
    return found


def told(what: str, found: list[float]) -> None:
    """Print a median."""
    print(
        f"{what}: {statistics.median(found):.0f} ms (median of {len(found)}, most {max(found):.0f} ms)",
        flush=True,
    )


def overview(folder: Path, designs: int, times: int) -> None:
    """The first page, from request to answer."""
    fill(folder / "seis.db", designs, chain=False)
    with running(folder, SEIS_COORDINATOR="false") as service:

        def load() -> bytes:
            request = urllib.request.Request(service.address, headers={"Accept": "text/html"})
            with urllib.request.urlopen(request) as answer:
                return bytes(answer.read())

        told(f"overview with {designs:,} designs, from request to answer", milliseconds(load, times))


def ancestors(folder: Path, designs: int, times: int) -> None:
    """The lineage of the last design of a search."""
    for chain, what in ((False, "each made of a random earlier one"), (True, "in one chain")):
        place = folder / f"{what}.db"
        search, last = fill(place, designs, chain)
        with Database.open(place) as database:
            known = database.list_candidates(search)  # as kept by the server for a search that it showed
            found = milliseconds(lambda: lineage(database, search, last, known), times, time.process_time)  # noqa: B023
        told(f"lineage in a search of {designs:,} designs, {what}, of the processor", found)


def slider(folder: Path, times: int) -> None:
    """The operating-point slider of a real discovery, from input to picture."""
    with running(folder) as service, browser() as chrome:
        job = post(f"{service.address}/api/v1/jobs", JOB)["id"]
        while get(f"{service.address}/api/v1/jobs/{job}")["state"] in ("queued", "running"):
            time.sleep(1)
        place = get(f"{service.address}/discoveries?format=json")["rows"][0]["href"]
        page: Any = chrome.new_page(viewport={"width": 1440, "height": 900})
        page.goto(service.address + place)
        page.wait_for_selector("#operating", timeout=300_000)
        most = int(page.locator("#operating").get_attribute("max"))
        found = [float(page.evaluate(SLIDE, n % (most + 1))) for n in range(times)]
        told(f"operating-point slider over {most + 1} points", found)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", type=int, default=100_000)
    parser.add_argument("--lineage", type=int, default=5_000)
    parser.add_argument("--times", type=int, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        overview(Path(folder), asked.designs, asked.times)
    with tempfile.TemporaryDirectory() as folder:
        ancestors(Path(folder), asked.lineage, asked.times)
    with tempfile.TemporaryDirectory() as folder:
        slider(Path(folder), 2 * asked.times)


if __name__ == "__main__":
    main()
