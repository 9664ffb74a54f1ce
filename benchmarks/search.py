"""A whole search: CPU-seconds per structure, by phase, structures per minute, memory and what it gains.

A first search runs in worker processes, as users run it, and gives totals over all of them. A second one runs
in one process, whose stack is sampled by its CPU time, and tells where that goes.

Run: python -m benchmarks.search [MODEL DEVICE COUNT STRUCTURES WORKERS]
"""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from agent import Budget, Problem, Progress, SearchResult, search

DEFAULTS = ("deepseek-v4-pro", "b300-sxm", "64", str(Budget().structures), "2")

SAMPLE_SECONDS = 0.004
PHASES = {
    ("judge", "verify_design"): "verify",
    ("program", "lower"): "lower",
    ("plan", "plan"): "compile",
    ("sweep", "sweep_schedules"): "sweep",
    ("trial", "_evaluate"): "check and explain points",
    ("trial", "try_candidate"): "hash and print",
    ("rounds", "gather"): "propose",
    ("store", "write_round"): "store",
    ("loop", "_judge"): "archive",
    ("discovery", "conclude"): "conclude",
}
"""Phases by (file, function). The innermost one on the stack counts, but what a proposer asks for is its."""


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


class Split:
    """CPU time of this process by phase, while it is entered: samples of its stack."""

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()

    def __enter__(self) -> Split:
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _sample(self, number: int, frame: FrameType | None) -> None:
        found: list[str] = []
        first_round = False
        while frame is not None:
            code = frame.f_code
            phase = PHASES.get((Path(code.co_filename).stem, code.co_name))
            if phase is not None:
                found.append(phase)
            first_round = first_round or code.co_name == "_first"
            frame = frame.f_back
        phase = "propose" if "propose" in found else found[0] if found else "other"
        self.samples[f"baseline: {phase}" if first_round else phase] += 1


def cpu_seconds() -> float:
    """Of this process and of all workers that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, kinds))


def measure(problem: Problem, budget: Budget, workers: int) -> tuple[SearchResult, list[str]]:
    """The result of a search on an empty database, and what it took in words."""
    marks: dict[str, float] = {}
    start, cpu = time.monotonic(), cpu_seconds()

    def heard(event: Progress) -> None:
        name = "first structure" if event.structures else "first word"
        marks.setdefault("baseline" if event.phase == "search" else name, time.monotonic() - start)

    with tempfile.TemporaryDirectory() as folder, Memory() as memory:
        found = search(
            problem, Path(folder) / "search.sqlite", budget=budget, workers=workers, progress=heard
        )
        seconds, spent = time.monotonic() - start, cpu_seconds() - cpu
    rate = found.structures / seconds * 60
    early = ", ".join(f"{name} after {at:.1f} s" for name, at in marks.items())
    return found, [
        f"{found.structures} structures in {seconds:.1f} s ({rate:.0f} per minute), {found.points:,} points",
        f"{spent / found.structures:.3f} CPU-seconds per structure over all processes: two free processors "
        f"do {120 * found.structures / spent:.0f} per minute",
        early,
        f"peak memory {memory.peak_bytes / 1e6:,.0f} MB over all processes",
    ]


def main(model: str, device: str, count: str, structures: str, workers: str) -> None:
    problem, budget = Problem(model, device, int(count)), Budget(structures=int(structures))
    found, lines = measure(problem, budget, int(workers))
    print("\n".join(lines))
    print(
        f"{found.accepted} accepted, {found.refused} refused, {found.failed} failed, "
        f"{found.duplicates} known ones skipped"
    )
    print(f"verification {found.verification_milliseconds or 0.0:.0f} CPU-ms median")
    print(f"gain {found.simultaneous_gain:+.1%} on both axes, hypervolume {found.hypervolume_gain:+.2%}")
    began = time.process_time()
    with Split() as split, tempfile.TemporaryDirectory() as folder:
        alone = search(problem, Path(folder) / "search.sqlite", budget=budget, workers=1)
    each = (time.process_time() - began) / alone.structures
    print(f"in one process {each:.3f} CPU-seconds per structure, of which")
    for phase, samples in split.samples.most_common():
        print(f"  {phase:36} {each * 1e3 * samples / split.samples.total():7.1f} ms")


if __name__ == "__main__":
    main(*(sys.argv[1:] or DEFAULTS))
