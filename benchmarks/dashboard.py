"""How fast the job page of a large search is drawn and zoomed, and what it weighs.

`python -m benchmarks.dashboard`; `python -m benchmarks.dashboard_pages` has the other pages.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from agent.problem import Problem, identity
from agent.store import SearchStore, scenario_record
from db import Baseline, Candidate, Database, Design, Evaluation
from server.jobs.request import JobRequest, Stored
from tests.browser.service import browser, running

PER_DESIGN = 80


def fill(place: Path, points: int) -> str:
    """Store a search of so many points with made-up speeds; the identifier of its job."""
    problem = Problem("llama-3.1-8b", "h100-sxm", 8)
    chance = np.random.default_rng(0)
    with Database.open(place) as database:
        store = SearchStore(database, problem)
        search = database.create_search(
            model=problem.model, device=problem.device, count=8, scenario=scenario_record(problem),
            scenario_hash=store.conditions.scenario_hash, seed=0, setting=problem.setting,
            clock=problem.clock, owner="benchmark",
            cursor={"device": store.conditions.device_hash, "round": 0},
        )  # fmt: skip
        text, structure = "made up", identity(problem.reference())

        def made(name: str, lift: float) -> list[dict[str, Any]]:
            x = np.geomspace(20, 700, PER_DESIGN) * chance.uniform(0.7, 1.0, PER_DESIGN)
            y = lift * 4000 / (1 + (x / 250) ** 2)
            return [
                {
                    "tokens_per_second_per_user": float(a), "tokens_per_second_per_gpu": float(b),
                    "batch": 64, "configuration": {"tp": 8, "microbatches": 1, "overlap": 0, "drafted": 0,
                                                   "replicas": 1}, "design": name, "binding": "",
                }
                for a, b in zip(x, y, strict=True)
            ]  # fmt: skip

        with database.transaction() as tx:
            tx.save_baseline(Baseline(model=problem.model, count=8, conditions=store.conditions,
                                      points=made("0" * 64, 0.9)))  # fmt: skip
            for n in range(points // PER_DESIGN):
                name = sha256(str(n).encode()).hexdigest()
                tx.save_design(Design(design_hash=name, structure_hash=structure, text=text,
                                      model=problem.model, summary=f"made up, number {n}"))  # fmt: skip
                tx.record_candidate(Candidate(search_id=search.id, design_hash=name, status="accepted",
                                              round_number=n // 24, sequence_number=n, proposer="benchmark",
                                              gain=0.01))  # fmt: skip
                tx.save_evaluation(Evaluation(design_hash=name, conditions=store.conditions, seconds=0.0,
                                              points=made(name, chance.uniform(0.5, 1.2))))  # fmt: skip
        database.finish_search(search.id, owner="benchmark")
        request = JobRequest(model=problem.model, device=problem.device, count=8)
        stored = Stored(request=request, model=problem.model).model_dump(mode="json")
        job = database.create_job(kind="search", subject=problem.hash, request=stored)
        database.claim_job("benchmark")
        database.settle_job(job.id, "benchmark", "done", spent_seconds=1.0, search_id=search.id)
        return job.id


def measure(page: Any, address: str, points: int) -> tuple[float, float]:
    """(seconds from navigation until all points are drawn, bytes that came)."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    weight = [0.0]

    def came(event: dict[str, Any]) -> None:
        weight[0] += event["encodedDataLength"]

    session.on("Network.loadingFinished", came)
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    while int(page.locator(".plot").first.get_attribute("data-drawn") or 0) < points:
        page.wait_for_timeout(10)
    return time.perf_counter() - began, weight[0]


ZOOM = """() => new Promise((done) => {
  const stage = document.querySelector(".stage"), began = performance.now();
  stage.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


def zoomed(page: Any, times: int) -> list[float]:
    """Milliseconds from the key until the next picture is drawn, of steps from the whole chart inwards."""
    found = []
    for n in range(times):
        if n % 5 == 0:
            page.locator(".stage").press("0")
        found.append(float(page.evaluate(ZOOM)))
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, nargs="*", default=[50_000, 100_000])
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    for points in asked.points:
        with tempfile.TemporaryDirectory() as folder, browser() as chrome:
            job = fill(Path(folder) / "seis.db", points)
            with running(Path(folder), SEIS_COORDINATOR="false") as service:
                address = f"{service.address}/jobs/{job}"
                page = chrome.new_page(viewport={"width": 1440, "height": 900})
                first, weight = measure(page, address, points)
                zooms = zoomed(page, 4 * asked.times)
                later = [measure(chrome.new_page(), address, points)[0] for _ in range(asked.times)]
        print(
            f"{points:,} points: first view after a start {first:.2f} s, "
            f"then {statistics.median(later):.2f} s "
            f"(median of {asked.times}); {weight / 1e3:.0f} kB; zoom step {statistics.median(zooms):.0f} ms "
            f"(median of {len(zooms)}, most {max(zooms):.0f} ms)"
        )


if __name__ == "__main__":
    main()
