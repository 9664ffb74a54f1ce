"""Servers of their own that are killed at random moments, and what must be true of the database after.

`python -m tests.server.ops.drill --seeds 6` runs the whole; `test_drills.py` runs one seed of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from db import Database
from db.schema import EvaluationRow

Target = str
TARGETS: tuple[Target, ...] = ("server", "job", "worker")
"""What is killed: the server with its coordinator, the process of a job, a process that tries candidates."""

JOBS: tuple[dict[str, Any], ...] = (
    {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 2, "budget": {"structures": 16}},
    {"model": "llama-3.1-70b", "device": "h100-sxm", "count": 8, "budget": {"structures": 16}},
)
PROGRAM = "import sys; from seis.cli.main import main; sys.argv[0] = 'seis'; main()"
LONGEST = 240.0


@dataclass
class Server:
    """One `seis serve` on a free port, on a SQLite file in its folder unless its settings say otherwise."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    process: subprocess.Popen[str] = field(init=False)
    url: str = field(init=False, default="")

    def __post_init__(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SEIS_")} | {
            "SEIS_LEASE_SECONDS": "2", "SEIS_WORKERS": "2", "SEIS_FIRST_JOB": "false",
            "SEIS_DATABASE": str(self.folder / "seis.db"), "PYTHONPATH": os.getcwd(), **self.settings,
        }  # fmt: skip
        log = (self.folder / "log").open("a")
        self.process = subprocess.Popen(
            [*self.prefix, sys.executable, "-c", PROGRAM, "serve", "--port", "0"],
            cwd=self.folder, env=environment, stderr=subprocess.PIPE, stdout=log, text=True,
        )  # fmt: skip
        log.close()
        for line in self.process.stderr or ():
            if "SEIS serves at " in line:
                self.url = line.partition("SEIS serves at ")[2].split()[0]
                break
        else:
            raise RuntimeError(f"a server must start, but ended with {self.process.wait()}")
        self._rest = threading.Thread(target=self._drain, daemon=True)
        self._rest.start()

    def _drain(self) -> None:
        with (self.folder / "log").open("a") as log:
            for line in self.process.stderr or ():
                log.write(line)

    def call(self, method: str, path: str, **options: Any) -> Any:
        answer = httpx.request(method, f"{self.url}/api/v1{path}", timeout=60, **options)
        answer.raise_for_status()
        return answer.json()

    def kill(self) -> None:
        self.process.kill()
        self._over()

    def close(self) -> int:
        """Stop in order; its code."""
        if self.process.poll() is None:
            self.process.terminate()
        return self._over()

    def _over(self) -> int:
        code = self.process.wait(60)
        self._rest.join()
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code


@dataclass(frozen=True)
class Found:
    """What the database holds of each model: candidates by design, results, and the events of ends."""

    candidates: dict[str, dict[str, str]]
    sequences: dict[str, list[int]]
    evaluated: frozenset[tuple[str, str]]
    states: tuple[str, ...]
    ends: Counter[str]
    frontiers: dict[str, Any]


def read(place: Path | str) -> Found:
    """Everything that must not be lost or doubled."""
    with Database.open(place) as database:
        searches = {s.model: s.id for s in database.list_searches()}
        rows = {m: database.list_candidates(i) for m, i in searches.items()}
        with database.snapshot() as now, now._reading() as session:
            evaluated = session.execute(select(EvaluationRow.design_hash, EvaluationRow.points)).all()
        jobs = database.list_jobs()
        return Found(
            {m: {c.design_hash: c.status for c in r} for m, r in rows.items()},
            {m: [c.sequence_number for c in r] for m, r in rows.items()},
            frozenset((name, json.dumps(points, sort_keys=True)) for name, points in evaluated),
            tuple(j.state for j in jobs),
            Counter(e.subject for e in database.list_events() if e.kind == "job.done"),
            {str(j.request["model"]): j.result["frontier"] for j in jobs if j.result},
        )


def processes() -> dict[int, tuple[int, str]]:
    """Parent and command of every process of this machine."""
    said = subprocess.run(["ps", "-axo", "pid=,ppid=,command="], capture_output=True, text=True, check=True)
    found = {}
    for line in said.stdout.splitlines():
        pid, parent, *command = line.split(None, 2)
        found[int(pid)] = (int(parent), command[0] if command else "")
    return found


def family(root: int) -> dict[int, str]:
    """The commands of all descendants of a process."""
    every = processes()
    found: dict[int, str] = {}
    level = [root]
    while level:
        level = [p for p, (parent, _) in every.items() if parent in level and p not in found]
        found |= {p: every[p][1] for p in level}
    return found


def strike(server: Server, target: Target, chance: random.Random) -> bool:
    """Kill something; whether it was there to be killed."""
    if target == "server":
        server.kill()
        return True
    jobs = [p for p, c in family(server.process.pid).items() if "server.jobs.runner" in c]
    victims = jobs if target == "job" else [p for j in jobs for p in family(j)]
    if not victims:
        return False
    try:
        os.kill(chance.choice(sorted(victims)), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def undisturbed(folder: Path, jobs: tuple[dict[str, Any], ...]) -> Found:
    """What comes of the jobs where nothing is killed."""
    return run(folder, jobs, (), random.Random(0))


def run(
    folder: Path, jobs: tuple[dict[str, Any], ...], targets: tuple[Target, ...], chance: random.Random
) -> Found:
    """Submit the jobs, kill the targets one after the other, and let the jobs end; checks what is lost."""
    folder.mkdir(exist_ok=True)
    path = folder / "seis.db"
    left: set[int] = set()
    with ExitStack() as stack:
        server = Server(folder)
        stack.callback(lambda: server.close())
        for job in jobs:
            server.call("POST", "/jobs", json=job)
        end = time.monotonic() + LONGEST
        waiting = list(targets)
        due = time.monotonic() + chance.uniform(0.5, 4.0)
        while True:
            states = [j["state"] for j in server.call("GET", "/jobs")["items"]]
            if all(s in ("done", "failed", "cancelled") for s in states):
                break
            if time.monotonic() > end:
                raise AssertionError(f"jobs must end within {LONGEST:g} s, but are {states}")
            if waiting and time.monotonic() >= due and "running" in states:
                before = read(path)
                left |= set(family(server.process.pid))
                if strike(server, waiting[0], chance):
                    print(f"  killed: {waiting.pop(0)}", flush=True)
                    due = time.monotonic() + chance.uniform(0.5, 4.0)
                    if server.process.poll() is not None:
                        server = Server(folder)
                    kept(before, read(path))
            time.sleep(0.1)
        code = server.close()
        if code != -signal.SIGTERM:  # it ends itself by the signal once everything is in order
            raise AssertionError(f"a server that is told to stop must end in order, but ended with {code}")
    alive = [p for p in left if "server.jobs" in processes().get(p, (0, ""))[1]]
    if alive:
        raise AssertionError(f"processes of killed servers must end, but {alive} go on")
    return read(path)


def kept(before: Found, after: Found) -> None:
    """Nothing that was stored before is gone or different after."""
    for model, rows in before.candidates.items():
        for name, status in rows.items():
            if status != "proposed" and after.candidates[model].get(name) != status:
                raise AssertionError(f"a stored result must stay, but {name[:12]} of {model} did not")
    if not before.evaluated <= after.evaluated:
        raise AssertionError("a stored evaluation must stay, but one did not")


def check(found: Found, reference: Found, jobs: int) -> None:
    """The end is that of an undisturbed run: nothing lost, nothing double, every job done once."""
    if found.states != ("done",) * jobs:
        raise AssertionError(f"every job must be done, but they are {found.states}")
    if sorted(found.ends.values()) != [1] * jobs:
        raise AssertionError(f"every job must end once, but ended {dict(found.ends)}")
    for model, numbers in found.sequences.items():
        if len(set(numbers)) != len(numbers):
            raise AssertionError(f"every candidate of {model} must have a number of its own")
    if found.candidates != reference.candidates:
        raise AssertionError("the candidates must be those of an undisturbed run, but are not")
    if found.evaluated != reference.evaluated:
        raise AssertionError("the evaluations must be those of an undisturbed run, but are not")
    if found.frontiers != reference.frontiers:
        raise AssertionError("the frontiers must be those of an undisturbed run, but are not")


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    seeds = parser.parse_args().seeds
    with tempfile.TemporaryDirectory() as name:
        reference = undisturbed(Path(name) / "reference", JOBS)
        for seed in range(seeds):
            chance = random.Random(seed)
            targets = tuple(chance.choices(TARGETS, k=4))
            print(f"seed {seed}: {', '.join(targets)}", flush=True)
            check(run(Path(name) / str(seed), JOBS, targets, chance), reference, len(JOBS))
    print(f"{seeds} seeds: nothing lost, nothing doubled, every job done")


if __name__ == "__main__":
    main()
