"""Jobs as they run: followed, stopped within two seconds, taken over from the dead, shut down in time."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from db import Database
from seis.client import Client
from tests.server.conftest import SMALL, Caller, calling, until

LONG = {**SMALL, "model": "deepseek-v3", "count": 16, "budget": {"structures": 5000}}


def state_of(call: Caller, name: str) -> str:
    found: str = call.get(f"/jobs/{name}")["state"]
    return found


def events(call: Caller) -> Any:
    return call.app.state.services.events


def submit(call: Caller, body: dict[str, Any]) -> str:
    found: str = call("POST", "/jobs", json=body).json()["id"]
    return found


def test_a_search_runs_to_its_result(running: Caller) -> None:
    body = {**SMALL, "constraints": {"min_tokens_per_second_per_user": 100.0, "max_sequences": 8},
            "objectives": ["tokens_per_second_per_gpu", "tokens_per_second_per_user"],
            "proposers": ["exhaustive"], "budget": {"structures": 24}}  # fmt: skip
    name = submit(running, body)
    until(lambda: state_of(running, name) in ("done", "failed"), events(running))
    job = running.get(f"/jobs/{name}")
    assert job["state"] == "done", job["problem"]
    assert job["progress"]["structures"] == job["result"]["structures"] == 24
    best = job["result"]["best_by_objective"]
    kept = [p for p in job["result"]["frontier"]
            if p["batch"] <= 8 and p["tokens_per_second_per_user"] >= 100]  # fmt: skip
    assert job["result"]["points_within_constraints"] == len(kept) > 0
    assert best["tokens_per_second_per_gpu"] == max(kept, key=lambda p: p["tokens_per_second_per_gpu"])
    assert best["tokens_per_second_per_user"] == max(kept, key=lambda p: p["tokens_per_second_per_user"])
    found = running.get(f"/frontiers/{job['search']}")
    assert [p["design"] for p in found["frontier"]] == [p["design"] for p in job["result"]["frontier"]]
    assert found["baseline_frontier"] == job["result"]["baseline_frontier"]
    database = running.app.state.services.database
    proposers = {c.proposer for c in database.list_candidates(job["search"])}
    assert proposers <= {"baseline", "exhaustive"}
    kinds = [e["kind"] for e in running.get(f"/events/log?subject={name}")["items"]]
    assert (kinds[0], kinds[1], kinds[-1]) == ("job.queued", "job.started", "job.done")


def test_an_uploaded_text_is_searched(running: Caller) -> None:
    text = running("POST", "/designs", json={"model": "llama-3.1-8b"}).json()["text"]
    body = {k: v for k, v in SMALL.items() if k != "model"}
    name = submit(running, {**body, "text": text, "kind": "baseline"})
    until(lambda: state_of(running, name) in ("done", "failed"), events(running))
    job = running.get(f"/jobs/{name}")
    assert job["state"] == "done", job["problem"]
    assert len(job["result"]["baseline_frontier"]) > 5
    assert running.get(f"/frontiers/{job['search']}")["model"] == job["model"]


@pytest.mark.parametrize(("action", "state"), [("pause", "paused"), ("cancel", "cancelled")])
def test_a_running_job_stops_within_two_seconds(running: Caller, action: str, state: str) -> None:
    name = submit(running, LONG)
    until(lambda: state_of(running, name) == "running", events(running))
    asked = time.monotonic()
    running("POST", f"/jobs/{name}/{action}")
    until(lambda: state_of(running, name) == state, events(running))
    assert time.monotonic() - asked < 2.0
    database = running.app.state.services.database
    until(lambda: not database.list_searches(state="running"), events(running))


def test_jobs_of_one_search_take_turns(url: str) -> None:
    with calling(database=url, concurrent_jobs=2, workers=1) as call:
        names = [submit(call, {**SMALL, "budget": {"structures": 4}}) for _ in range(2)]
        until(lambda: all(state_of(call, n) in ("done", "failed") for n in names), events(call))
        jobs = [call.get(f"/jobs/{n}") for n in names]
        assert [j["state"] for j in jobs] == ["done", "done"]
        assert len({j["search"] for j in jobs}) == 1
        assert jobs[0]["finished_at"] <= jobs[1]["started_at"]


def test_an_unusable_problem_fails_with_its_sentence(running: Caller) -> None:
    name = submit(running, {**SMALL, "model": "deepseek-v3", "device": "l40s", "count": 1})
    until(lambda: state_of(running, name) in ("done", "failed"), events(running))
    job = running.get(f"/jobs/{name}")
    assert (job["state"], job["problem"]["code"]) == ("failed", "problem")
    assert "conventional design" in job["problem"]["detail"]


def start(database: str, **settings: str) -> tuple[subprocess.Popen[str], str]:
    """A server process of its own and its address; what it logs passes through."""
    own = {"SEIS_" + k.upper(): v for k, v in settings.items()}
    process = subprocess.Popen(
        [sys.executable, "-c", "from seis.cli.main import main; main()", "serve", "--port", "0",
         "--no-first-job", "--database", database, "--workers", "1"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SEIS_LEASE_SECONDS": "4",
             "SEIS_LOG_LEVEL": "error", **own},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    address: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        with process.stderr or open(os.devnull) as lines:
            for line in lines:
                if line.startswith("SEIS serves at "):
                    address.put(line.split()[3])
                else:
                    sys.stderr.write(line)

    threading.Thread(target=read, daemon=True).start()
    return process, address.get(timeout=60)


def stop(process: subprocess.Popen[str], how: int = signal.SIGTERM) -> float:
    """Seconds until it was gone."""
    began = time.monotonic()
    process.send_signal(how)
    process.wait(30)
    return time.monotonic() - began


def test_a_killed_server_s_job_is_finished_by_another(url: str) -> None:
    first, address = start(url)
    second, other = start(url, coordinator="true")
    try:
        with Client(address) as client:
            jobs = [client.submit(structures=40, **{k: v for k, v in SMALL.items() if k != "budget"}, seed=s)
                    for s in (0, 1)]  # fmt: skip
        with Database.open(url) as database:
            owners: dict[str, str] = {}
            while len(owners) < 2:  # each has one of them
                owners = {j.owner: j.id for j in database.list_jobs(state="running")}
            mine = next(o for o in owners if f":{first.pid}:" in o)
            killed = time.monotonic()
            stop(first, signal.SIGKILL)
            while database.get_job(owners[mine]).owner == mine:
                assert time.monotonic() - killed < 15
            with Client(other) as client:
                done = [client.wait(j.id) for j in jobs]
            assert [j.state for j in done] == ["done", "done"]
            assert all(j.result is not None and j.result["structures"] == 40 for j in done)
            assert database.list_jobs(state="running") == ()
            assert database.list_searches(state="running") == ()
    finally:
        assert stop(second) < 10


def test_a_shutdown_queues_the_job_again_within_ten_seconds(url: str) -> None:
    server, address = start(url)
    with Client(address) as client, httpx.stream("GET", address + "/api/v1/events", timeout=60):
        name = client.submit(structures=500, **{k: v for k, v in LONG.items() if k != "budget"}).id
        stream = client.follow(name)
        while next(stream).kind != "job.started":
            pass
        stream.close()
        assert stop(server) < 10
    with Database.open(url) as database:
        assert database.get_job(name).state == "queued"
        assert database.list_searches(state="running") == ()


def test_a_fresh_database_begins_with_searches(tmp_path: Path) -> None:
    place = str(tmp_path / "new.sqlite")
    with calling(database=place, first_job=True, coordinator=False) as call:
        later, first = call.get("/jobs")["items"]
        assert (first["model"], first["kind"], first["state"]) == ("llama-3.1-8b", "search", "queued")
        assert (later["model"], later["kind"], later["state"]) == ("deepseek-v4-pro", "search", "queued")
        claimed = call.app.state.services.database.claim_job("anybody")
        assert claimed is not None
        assert claimed.id == first["id"]  # the small one shows something within seconds
    with calling(database=place, first_job=True, coordinator=False) as call:
        assert len(call.get("/jobs")["items"]) == 2


def test_the_loop_answers_while_it_computes(quiet: Caller) -> None:
    """A request for a figure does not wait for an evaluation that another one asked for."""
    ended: list[float] = []

    def validate() -> None:
        quiet("GET", "/validation")
        ended.append(time.monotonic())

    thread = threading.Thread(target=validate)
    thread.start()
    answered = [time.monotonic() for _ in range(5) if quiet("GET", "/health/live").is_success]
    thread.join()
    assert max(answered) < ended[0]
