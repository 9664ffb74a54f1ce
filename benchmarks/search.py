"""A whole search: structures per minute, verification, memory and what it gains.

Run: python -m benchmarks.search [MODEL DEVICE COUNT STRUCTURES WORKERS]
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path

from agent import Budget, Problem, SearchResult, search

DEFAULTS = ("deepseek-v4-pro", "b300-sxm", "64", str(Budget().structures), "2")


class Memory:
    """The largest resident memory of this process and its workers together, sampled while it is entered."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(0.2):
            self.peak_bytes = max(self.peak_bytes, sum(_resident(p) for p in _family()))


def _family() -> list[Path]:
    """This process and its children, as directories of /proc (empty where there is none)."""
    here = Path("/proc/self").resolve() if Path("/proc/self").exists() else None
    if here is None:
        return []
    children = (here / "task" / here.name / "children").read_text().split()
    threads = [t for t in (here / "task").iterdir() if t.name != here.name]
    for thread in threads:
        try:
            children += (thread / "children").read_text().split()
        except OSError:
            continue
    return [here, *(Path("/proc") / c for c in children)]


def _resident(process: Path) -> int:
    try:
        for line in (process / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        return 0
    return 0


def measure(problem: Problem, budget: Budget, workers: int) -> tuple[SearchResult, int, float]:
    """(result, peak bytes, seconds) of a search on an empty database."""
    with tempfile.TemporaryDirectory() as folder, Memory() as memory:
        start = time.monotonic()
        found = search(problem, Path(folder) / "search.sqlite", budget=budget, workers=workers)
        return found, memory.peak_bytes, time.monotonic() - start


def main(model: str, device: str, count: str, structures: str, workers: str) -> None:
    problem = Problem(model, device, int(count))
    found, peak, seconds = measure(problem, Budget(structures=int(structures)), int(workers))
    rate, milliseconds = found.structures / seconds * 60, found.verification_milliseconds or 0.0
    print(
        f"{found.structures} structures in {seconds:.1f} s ({rate:.0f} per minute), {found.points:,} points"
    )
    print(
        f"{found.accepted} accepted, {found.refused} refused, {found.failed} failed, "
        f"{found.duplicates} known ones skipped"
    )
    print(f"verification {milliseconds:.0f} ms median, peak memory {peak / 1e6:,.0f} MB")
    print(f"gain {found.simultaneous_gain:+.1%} on both axes, hypervolume {found.hypervolume_gain:+.2%}")


if __name__ == "__main__":
    main(*(sys.argv[1:] or DEFAULTS))
