"""A sample of the kills of `make gate`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_search_survives_kills_at_random_moments() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.agent.kills", "0", "10"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"] >= 10
