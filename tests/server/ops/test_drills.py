"""A sample of the drills: `make gate` runs more of them."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from tests.server.ops import cluster
from tests.server.ops.drill import run

JOB = {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 2, "budget": {"structures": 6}}


def test_a_killed_server_and_a_killed_job_lose_and_double_nothing(tmp_path: Path) -> None:
    found = run(tmp_path / "drill", (JOB,), ("job", "server"), random.Random(7))
    assert found.states == ("done",)
    assert list(found.ends.values()) == [1]
    for numbers in found.sequences.values():
        assert len(set(numbers)) == len(numbers) >= 6


@pytest.mark.postgres
@pytest.mark.redis
def test_two_servers_survive_postgresql_and_a_redis_that_forgets() -> None:
    with tempfile.TemporaryDirectory() as folder:
        targets = ("connection", "empty redis", "postgres")
        found, killed, _ = cluster.run(Path(folder), (JOB,), targets, random.Random(1))
    assert killed.total() > 0
    assert found.states == ("done",)
    assert list(found.ends.values()) == [1]
    for numbers in found.sequences.values():
        assert len(set(numbers)) == len(numbers) >= 6
