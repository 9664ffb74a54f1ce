"""Verification of DeepSeek-V4-Pro candidates: CPU-milliseconds each, as they come in a search, and memory.

Candidates are the sites of every rule on two conventional structures; reference runs and earlier results
are kept, as they are in a worker. Run: python -m benchmarks.verify
"""

from __future__ import annotations

import resource
import statistics
import time

from catalogue.models import load_model
from mutations.registry import rules
from mutations.start import starting_designs
from mutations.verify import verify


def main() -> None:
    reference = load_model("deepseek-v4-pro")
    starts = starting_designs(reference)
    times: list[float] = []
    refused = 0
    for start in (starts[0], starts[2]):
        verify(reference, start)
        for rule in rules():
            for where in rule.sites(start):
                candidate = rule.apply(start, where)
                began = time.process_time()
                verdict = verify(reference, candidate)
                times.append((time.process_time() - began) * 1e3)
                refused += verdict.verdict != "accepted"
    times.sort()
    print(
        f"{len(times)} candidates, {refused} refused: median {statistics.median(times):.0f}, "
        f"mean {statistics.mean(times):.0f}, p90 {times[int(len(times) * 0.9)]:.0f}, "
        f"most {times[-1]:,.0f} CPU-milliseconds; at most "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB resident"
    )


if __name__ == "__main__":
    main()
