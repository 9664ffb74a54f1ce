"""A search in a process of its own, run as a script by the tests: runner.py PATH STRUCTURES WORKERS.

Prints a line for every event, so that a test can choose its moment.
"""

from __future__ import annotations

import sys

from agent import Budget, Progress, search
from tests.agent.world import PROBLEM, refuse_some


def say(event: Progress) -> None:
    print(event.phase, event.round, event.structures, flush=True)


def main(path: str, structures: str, workers: str) -> None:
    budget = Budget(structures=int(structures), round_size=8)
    result = search(PROBLEM, path, budget=budget, workers=int(workers), progress=say, verify=refuse_some)
    print("stopped", result.stopped, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
