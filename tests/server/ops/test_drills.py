"""A sample of the drills: `make gate` runs more of them."""

from __future__ import annotations

import random
from pathlib import Path

from tests.server.ops.drill import run

JOB = {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 2, "budget": {"structures": 6}}


def test_a_killed_server_and_a_killed_job_lose_and_double_nothing(tmp_path: Path) -> None:
    found = run(tmp_path / "drill", (JOB,), ("job", "server"), random.Random(7))
    assert found.states == ("done",)
    assert list(found.ends.values()) == [1]
    for numbers in found.sequences.values():
        assert len(set(numbers)) == len(numbers) >= 6
