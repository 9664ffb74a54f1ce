"""The service under load: `python -m benchmarks.load [reads] [listeners] [start] [workers]`; needs `wrk`.

Reads: wrk asks a server that holds 100,000 designs at a steady rate, on connections that pause between
requests at random, so that the rate does not depend on the answers. Everything runs on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from benchmarks.stored import fill
from db import Database

PROGRAM = "import sys; from seis.cli.main import main; sys.argv[0] = 'seis'; main()"
CONNECTIONS = 64
GIVEN_SETTINGS = {"SEIS_FIRST_JOB": "false", "SEIS_LOG_LEVEL": "error", "SEIS_REQUESTS_PER_MINUTE": "1000000",
                  "SEIS_STREAMS": "2000", "SEIS_CONNECTIONS": "2000"}  # fmt: skip


@contextmanager
def serving(place: Path | str, **settings: str) -> Iterator[tuple[str, subprocess.Popen[str], float]]:
    """A server of our own: its URL, its process, and the seconds until its first answer."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SEIS_")}
    environment |= {**GIVEN_SETTINGS, "SEIS_DATABASE": str(place), "PYTHONPATH": os.pathsep.join(sys.path)}
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", "--port", "0"], env={**environment, **settings},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for line in process.stderr or ():
            if "SEIS serves at " in line:
                url = line.partition("SEIS serves at ")[2].split()[0]
                httpx.get(url + "/api/v1/health/live", timeout=30).raise_for_status()
                yield url, process, time.monotonic() - began
                return
        raise RuntimeError(f"a server must start, but ended with {process.wait()}")
    finally:
        process.terminate()
        process.wait(30)
        if process.stderr is not None:
            process.stderr.close()


def paths(url: str, searches: list[str], names: list[str]) -> list[str]:
    """What is asked for, each as often as its share."""
    chance = random.Random(1)
    found: list[str] = []

    def deep(path: str, pages: int) -> None:
        cursor = None
        for _ in range(pages):
            query = "&" if "?" in path else "?"
            page = httpx.get(
                f"{url}/api/v1{path}" + (f"{query}cursor={cursor}" if cursor else ""), timeout=60
            )
            found.append(str(page.url).removeprefix(url))
            cursor = page.raise_for_status().json()["next_cursor"]

    deep("/designs", 10)
    deep("/designs?model=model-7", 10)
    deep("/discoveries?min_gain=0.05", 10)
    deep("/frontiers", 4)
    found += [f"/api/v1/discoveries?search={s}" for s in chance.choices(searches, k=4)]
    found += [f"/api/v1/designs/{n}" for n in chance.choices(names, k=30)]
    found += [f"/api/v1/evaluations?design={n}" for n in chance.choices(names, k=10)]
    found += [f"/api/v1/lineage/{n}" for n in chance.choices(names, k=10)]
    found += ["/api/v1/jobs", "/api/v1/models", "/api/v1/rules", "/api/v1/health/ready"] * 3
    return found


def reads(designs: int, rate: float, seconds: int, windows: int) -> None:
    """Latencies at a steady rate, in several windows."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise SystemExit("the benchmark of reads needs wrk, but there is none; install it")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "seis.db"
        began = time.monotonic()
        searches, names = fill(place, designs)
        took, size = time.monotonic() - began, place.stat().st_size / 1e6
        print(f"stored {designs} designs in {took:.0f} s, {size:.0f} MB", flush=True)
        with serving(place) as (url, process, _):
            asked = paths(url, searches, names)
            for path in asked:  # each once, so that a wrong path does not pass as a quick one
                httpx.get(url + path, timeout=60).raise_for_status()
            (Path(folder) / "paths").write_text("\n".join(asked))
            environment = {**os.environ, "PATHS": str(Path(folder) / "paths")}
            environment["DELAY"] = str(1000 * CONNECTIONS / rate)
            script = str(Path(__file__).with_suffix(".lua"))
            for _ in range(windows):
                used = cpu(process.pid)
                said = subprocess.run(
                    [wrk, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, url],
                    env=environment, capture_output=True, text=True, check=True,
                ).stdout  # fmt: skip
                (line,) = (x for x in said.splitlines() if x.startswith("RESULT"))
                requests, micros, errors, *waits = map(float, line.split()[1:])
                p50, p95, p99, most = (w / 1e3 for w in waits)
                each = (cpu(process.pid) - used) / requests * 1e3
                print(
                    f"{requests / micros * 1e6:.0f} requests/s for {micros / 1e6:.0f} s: p50 {p50:.1f} ms, "
                    f"p95 {p95:.1f}, p99 {p99:.1f}, most {most:.1f}; {errors:.0f} errors; "
                    f"{each:.1f} ms CPU each; {load()}",
                    flush=True,
                )


def load() -> str:
    """How busy the machine is, with everything else that runs on it."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def listeners(number: int) -> None:
    """So many open streams of events, and the time until each has heard of a job."""

    async def listen(url: str) -> None:
        heard: list[float] = []
        ready = asyncio.Semaphore(0)
        host, port = url.removeprefix("http://").split(":")
        told = asyncio.get_running_loop().create_future()

        async def one() -> None:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            ready.release()
            await reader.readuntil(b"job.queued")
            heard.append(time.monotonic())
            if len(heard) == number:
                told.set_result(None)
            await told
            writer.close()

        tasks = [asyncio.create_task(one()) for _ in range(number)]
        for _ in range(number):
            await ready.acquire()
        async with httpx.AsyncClient() as client:
            began = time.monotonic()
            answer = await client.post(url + "/api/v1/jobs", json={"model": "llama-3.1-8b"}, timeout=60)
            answer.raise_for_status()
            seconds = time.monotonic() - began
        await asyncio.wait_for(told, 120)
        waits = sorted(h - began for h in heard)
        print(
            f"{number} listeners: the request took {seconds * 1e3:.0f} ms; the first heard after "
            f"{waits[0] * 1e3:.0f} ms, the last after {waits[-1] * 1e3:.0f} ms; {load()}"
        )
        await asyncio.gather(*tasks)

    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder) / "seis.db", SEIS_COORDINATOR="false") as (url, process, _),
    ):
        asyncio.run(listen(url))
        print(f"memory of the server with them: {memory(process.pid):.0f} MB")


def memory(root: int) -> float:
    """MB of a process and all its descendants, what they share counted once."""
    said = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(p): int(q) for p, q in (line.split() for line in said.splitlines())}
    level = every = {root}
    while level:
        level = {p for p, q in parents.items() if q in level} - every
        every = every | level
    total = 0
    for pid in every:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def start() -> None:
    """Time from the command to the first answer, and what the idle server holds."""
    for how in ("new database", "same database"):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "seis.db"
            if how != "new database":
                Database.open(place).close()
            with serving(place) as (_, process, seconds):
                used = cpu(process.pid)
                time.sleep(5.0)
                idle = (cpu(process.pid) - used) / 5.0
                print(
                    f"start to first answer, {how}: {seconds:.1f} s, of them {used:.1f} s CPU; memory when "
                    f"idle {memory(process.pid):.0f} MB, CPU when idle {idle:.1%}; {load()}"
                )


def cpu(pid: int) -> float:
    """CPU-seconds of a process."""
    values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def workers(structures: int) -> None:
    """One job with 1, 2 and 4 workers behind Redis, in wall and CPU time."""
    from tests.redis_server import redis_server

    one = None
    for number in (1, 2, 4):
        with tempfile.TemporaryDirectory() as folder, redis_server() as redis:
            settings = {"SEIS_EXECUTOR": "dramatiq", "SEIS_REDIS_URL": redis, "SEIS_WORKERS": str(number)}
            environment = {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)}
            supervisor = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, "worker", "--processes", str(number)], env=environment
            )
            try:
                with serving(Path(folder) / "seis.db", **settings) as (url, _, _):
                    began = os.times()
                    body = {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 8,
                            "budget": {"structures": structures}}  # fmt: skip
                    job = httpx.post(url + "/api/v1/jobs", json=body, timeout=60).raise_for_status().json()
                    while job["state"] in ("queued", "running"):
                        time.sleep(0.1)
                        job = httpx.get(f"{url}/api/v1/jobs/{job['id']}", timeout=60).json()
                    wall = os.times().elapsed - began.elapsed
                    if job["state"] != "done":
                        raise SystemExit(f"a job must be done, but is {job['state']}: {job['problem']}")
            finally:
                supervisor.terminate()
                supervisor.wait(30)
        ended = os.times()
        used = ended.children_user + ended.children_system - began.children_user - began.children_system
        one = one or (wall, used)
        print(
            f"{number} workers: {wall:.1f} s wall (efficiency {one[0] / wall / number:.0%}), {used:.1f} "
            "CPU-seconds "
            f"(efficiency {one[1] / used:.0%}); {load()}",
            flush=True,
        )


def main() -> None:
    """What is asked for, or all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["start", "reads", "listeners", "workers"])
    parser.add_argument("--designs", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=200.0, help="requests a second")
    parser.add_argument("--seconds", type=int, default=20, help="length of a window")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--structures", type=int, default=60)
    asked = parser.parse_args()
    for what in asked.what:
        if what == "reads":
            reads(asked.designs, asked.rate, asked.seconds, asked.windows)
        elif what == "listeners":
            listeners(asked.streams)
        elif what == "start":
            start()
        elif what == "workers":
            workers(asked.structures)
        else:
            parser.error(f"must be start, reads, listeners or workers, but got {what}")


if __name__ == "__main__":
    main()
