"""The conventional baseline of DeepSeek-V4-Pro on B300 over 8 to 256 GPUs and four contexts.

Run: python -m benchmarks.baseline
"""

from __future__ import annotations

import resource
import time

from catalogue.devices import load_device
from catalogue.models import load_model
from evaluator.baseline import baselines
from evaluator.scenario import Scenario
from mutations.start import starting_designs

COUNTS = (8, 16, 32, 64, 128, 256)
CONTEXTS = (8192, 65536, 262144, 1048576)


def main() -> None:
    start = time.process_time()
    structures = starting_designs(load_model("deepseek-v4-pro"))
    device = load_device("b300")
    points = 0
    for context in CONTEXTS:
        found = baselines(structures, device, COUNTS, Scenario(context))
        points += max(b.evaluated for b in found.values())
        for count, result in found.items():
            most = max((p.tokens_per_second_per_gpu for p in result.points), default=0.0)
            fast = max((p.tokens_per_second_per_user for p in result.points), default=0.0)
            print(
                f"context {context:>8,}  {count:>3} GPUs  "
                f"peak {most:>9,.0f} tokens/s/GPU  {fast:>6,.0f} tokens/s/user"
            )
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{points:,} points in {seconds:.1f} CPU-seconds, peak memory {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
