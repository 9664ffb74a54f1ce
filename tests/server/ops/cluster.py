"""Two servers and their workers on a PostgreSQL and a Redis of their own, everything killed at random.

`python -m tests.server.ops.cluster --seeds 6` runs the whole; `test_drills.py` runs a little of it.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from db import Database, DatabaseError
from tests.server.ops.drill import (
    JOBS,
    LONGEST,
    PROGRAM,
    Found,
    Server,
    Target,
    check,
    family,
    kept,
    processes,
    read,
    undisturbed,
)
from tests.server.ops.private import PostgreSQL, RedisServer

Value = TypeVar("Value")

TARGETS: tuple[Target, ...] = (
    "server", "job", "worker", "supervisor", "redis", "empty redis", "postgres", "connection",
)  # fmt: skip
"""Killed are: a server, the process of a job, one that tries candidates, the one that starts those, Redis
with and without its data, PostgreSQL, and one process of PostgreSQL, after which it drops all connections."""

TAKEN_SECONDS = 15.0
"""Within this another server must have taken over the job of a dead one."""


class Cluster:
    """Everything that runs, each part known by what kills it."""

    def __init__(self, folder: Path, chance: random.Random, stack: ExitStack) -> None:
        self._folder = folder
        self._chance = chance
        self.postgres = PostgreSQL()
        stack.callback(self.postgres.close)
        self.redis = RedisServer(folder / "redis")
        stack.callback(self.redis.close)
        self._settings = {
            "SEIS_DATABASE": self.postgres.url, "SEIS_REDIS_URL": self.redis.url, "SEIS_EXECUTOR": "dramatiq",
            "SEIS_EVENTS": "redis", "SEIS_LEASE_SECONDS": "10",
        }  # fmt: skip
        self.servers: list[Server] = []
        self.supervisor: subprocess.Popen[bytes] | None = None
        stack.callback(self._close)
        for number in range(2):
            self.servers.append(self._server(number))
        self.supervisor = self._workers()
        self.taken: list[float] = []
        self.seen: set[int] = set()

    def strike(self, target: Target) -> bool:
        """Kill something and begin it again; whether it was there to be killed."""
        self.seen |= self._everyone()
        return {
            "server": self._kill_server, "job": self._kill_job, "worker": self._kill_worker,
            "supervisor": self._kill_supervisor, "redis": lambda: self._kill_redis(True),
            "empty redis": lambda: self._kill_redis(False), "postgres": self._kill_postgres,
            "connection": self._kill_connection,
        }[target]()  # fmt: skip

    def read(self) -> Found:
        return patiently(lambda: read(self.postgres.url))

    def states(self) -> list[tuple[str, str]]:
        """(state, owner) of every job."""

        def look() -> list[tuple[str, str]]:
            with Database.open(self.postgres.url) as database:
                return [(j.state, j.owner) for j in database.list_jobs()]

        return patiently(look)

    def left_over(self) -> list[int]:
        """Processes of killed parents that go on."""
        now = processes()
        return [p for p in self.seen if "server." in now.get(p, (0, ""))[1]]

    def stop(self) -> None:
        """End everything of ours in order."""
        codes = [server.close() for server in self.servers]
        if any(code != -signal.SIGTERM for code in codes):
            raise AssertionError(f"servers that are told to stop must end in order, but ended with {codes}")
        self._close()

    def _server(self, number: int) -> Server:
        folder = self._folder / f"server{number}"
        folder.mkdir(exist_ok=True)
        return Server(folder, self._settings, elsewhere(f"machine{number}"))

    def _workers(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **self._settings, "PYTHONPATH": os.getcwd()}
        with (self._folder / "workers").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-c", PROGRAM, "worker", "--processes", "2"], env=environment, stderr=log,
                stdout=log,
            )  # fmt: skip

    def _kill_server(self) -> bool:
        """The other one must take its job, where it had one."""
        owners = [owner for state, owner in self.states() if state == "running"]
        busy = [n for n, s in enumerate(self.servers) if any(f":{s.process.pid}:" in o for o in owners)]
        number = self._chance.choice(busy or range(2))
        mine = f":{self.servers[number].process.pid}:"
        self.servers[number].kill()
        began = time.monotonic()
        while any(mine in owner for state, owner in self.states() if state == "running"):
            if time.monotonic() - began > TAKEN_SECONDS:
                raise AssertionError(
                    f"another server must take a job within {TAKEN_SECONDS:g} s, but did not"
                )
            time.sleep(0.05)
        if busy:
            self.taken.append(time.monotonic() - began)
        self.servers[number] = self._server(number)
        return True

    def _kill_job(self) -> bool:
        jobs = [
            p for s in self.servers for p, c in family(s.process.pid).items() if "server.jobs.runner" in c
        ]
        return self._kill_one(jobs)

    def _kill_worker(self) -> bool:
        return self._kill_one(list(family(self.supervisor.pid))) if self.supervisor else False

    def _kill_supervisor(self) -> bool:
        if self.supervisor is not None:
            self.supervisor.kill()
            self.supervisor.wait()
        self.supervisor = self._workers()
        return True

    def _kill_redis(self, keep: bool) -> bool:
        self.redis.kill(keep)
        time.sleep(self._chance.uniform(0.0, 2.0))  # away for a while
        self.redis.start()
        return True

    def _kill_postgres(self) -> bool:
        self.postgres.kill()
        time.sleep(self._chance.uniform(0.0, 2.0))
        self.postgres.start()
        return True

    def _kill_connection(self) -> bool:
        return self._kill_one([p for p, c in family(self.postgres.process.pid).items() if "127.0.0.1(" in c])

    def _kill_one(self, victims: list[int]) -> bool:
        if not victims:
            return False
        try:
            os.kill(self._chance.choice(sorted(victims)), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def _everyone(self) -> set[int]:
        roots = [s.process.pid for s in self.servers] + ([self.supervisor.pid] if self.supervisor else [])
        return {p for root in roots for p in family(root)}

    def _close(self) -> None:
        for server in self.servers:
            if server.process.poll() is None:
                server.close()
        if self.supervisor is not None and self.supervisor.poll() is None:
            self.supervisor.terminate()
            self.supervisor.wait(30)


def elsewhere(name: str) -> tuple[str, ...]:
    """What gives a process another machine's name, so that a death is known by silence alone; root may."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return ()
    return ("unshare", "--uts", "sh", "-c", f'hostname {name} && exec "$@"', "sh")


def patiently(look: Callable[[], Value]) -> Value:
    """What `look` finds, once the database is there again."""
    end = time.monotonic() + 60
    while True:
        try:
            return look()
        except DatabaseError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def run(
    folder: Path, jobs: tuple[dict[str, Any], ...], targets: tuple[Target, ...], chance: random.Random
) -> tuple[Found, Counter[Target], list[float]]:
    """Submit the jobs, kill the targets in turn, let the jobs end; with what was killed and taken over."""
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        cluster = Cluster(folder, chance, stack)
        for job in jobs:
            cluster.servers[0].call("POST", "/jobs", json=job)
        end = time.monotonic() + LONGEST + 20 * len(targets)
        waiting = list(targets)
        due = time.monotonic() + chance.uniform(0.5, 4.0)
        while True:
            states = [state for state, _ in cluster.states()]
            if all(s in ("done", "failed", "cancelled") for s in states):
                break
            if time.monotonic() > end:
                raise AssertionError(f"jobs must end, but are {states}")
            if waiting and time.monotonic() >= due and "running" in states:
                before = cluster.read()
                if cluster.strike(waiting[0]):
                    print(f"  killed: {waiting.pop(0)}", flush=True)
                    due = time.monotonic() + chance.uniform(0.5, 4.0)
                    kept(before, cluster.read())
            time.sleep(0.1)
        found = cluster.read()
        cluster.stop()
        if alive := cluster.left_over():
            raise AssertionError(f"processes of killed parents must end, but {alive} go on")
        return found, Counter(targets[: len(targets) - len(waiting)]), cluster.taken


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--kills", type=int, default=8, help="kills of each seed")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    struck: Counter[str] = Counter()
    taken: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        reference = undisturbed(Path(name) / "reference", JOBS)
        for seed in range(asked.first, asked.first + asked.seeds):
            chance = random.Random(seed)
            targets = tuple(chance.choices(TARGETS, k=asked.kills))
            print(f"seed {seed}: {', '.join(targets)}", flush=True)
            found, killed, times = run(Path(name) / str(seed), JOBS, targets, chance)
            check(found, reference, len(JOBS))
            struck += killed
            taken += times
    print(f"{struck.total()} kills {dict(struck)}: nothing lost, nothing doubled, every job done")
    print(f"slowest take-over of a dead server's job: {max(taken, default=0.0):.1f} s of {len(taken)}")


if __name__ == "__main__":
    main()
