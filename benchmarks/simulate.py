"""The event simulation of a decode step: CPU-seconds, tasks, and how far the closed form is from it.

Run: python -m benchmarks.simulate
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

from benchmarks.evaluate_grid import placed
from catalogue.devices import load_device
from evaluator.evaluate import evaluate
from evaluator.scenario import Scenario
from evaluator.simulate import simulate

ROUNDS = 5


def main() -> None:
    device = {"main": load_device("b300")}
    design = placed()
    for batch in (64.0, 4096.0):
        for m, overlap in ((1, False), (2, False), (2, True), (4, True)):
            schedule = replace(design.schedule, microbatches=m, overlap_links=overlap, streams=("shared",))
            e = evaluate(design.with_(schedule=schedule), device, Scenario(), batch, setting="achievable")
            times = []
            for _ in range(ROUNDS):
                start = time.process_time()
                found = simulate(e)
                times.append(time.process_time() - start)
            tasks = len(found.tasks.parts) * m
            ratio = found.seconds / float(e.seconds("overlapped"))
            print(
                f"DeepSeek-V4-Pro, {batch:>5,.0f} sequences, {m} micro-batches, "
                f"{'links overlap' if overlap else 'one by one   '}  {tasks:>6,} tasks a step  "
                f"{statistics.median(times) * 1e3:5.0f} CPU-ms  simulated / overlapped {ratio:.3f}"
            )


if __name__ == "__main__":
    main()
