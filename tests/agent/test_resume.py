"""A search whose process is killed in the middle of a round goes on as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent import Budget, search
from db import Database
from tests.agent.world import PROBLEM, left, refuse_some

ROOT = Path(__file__).parents[2]


def start(path: Path, workers: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "agent" / "runner.py"), str(path), "40", str(workers)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def kill_at(process: subprocess.Popen[str], phase: str, structures: int) -> None:
    """Kill the process once it has done so many structures."""
    if process.stdout is None:
        pytest.fail("the process has no output")
    for line in process.stdout:
        words = line.split()
        if words[0] == phase and int(words[2]) >= structures:
            break
    process.kill()
    process.communicate()


@pytest.mark.parametrize(
    ("phase", "structures", "workers"), [("baseline", 2, 1), ("search", 22, 1), ("search", 30, 2)]
)
def test_a_killed_search_continues(tmp_path: Path, phase: str, structures: int, workers: int) -> None:
    budget = Budget(structures=40, round_size=8)
    process = start(tmp_path / "killed.sqlite", workers)
    kill_at(process, phase, structures)
    assert process.returncode == -9
    with Database.open(tmp_path / "killed.sqlite") as database:
        before = left(database)
        found = search(PROBLEM, database, budget=budget, workers=1, verify=refuse_some)
        after = left(database)
    assert found.stopped == "budget"
    assert len(before["candidates"]) < 40
    assert after["candidates"][: len(before["candidates"])] == before["candidates"]
    with Database.open(tmp_path / "whole.sqlite") as database:
        search(PROBLEM, database, budget=budget, workers=1, verify=refuse_some)
        assert left(database) == after


def test_a_continued_search_takes_no_more_than_is_asked(tmp_path: Path) -> None:
    process = start(tmp_path / "killed.sqlite", 1)
    kill_at(process, "search", 22)
    with Database.open(tmp_path / "killed.sqlite") as database:
        before = len(left(database)["candidates"])
        search(PROBLEM, database, budget=Budget(3, round_size=8), workers=1, verify=refuse_some)
        assert len(left(database)["candidates"]) == before + 3


def test_a_continued_search_goes_as_far_as_it_is_asked_to(tmp_path: Path) -> None:
    """A larger budget than that of the killed run counts, from where that run began."""
    process = start(tmp_path / "killed.sqlite", 1)
    kill_at(process, "search", 22)
    with Database.open(tmp_path / "killed.sqlite") as database:
        search(PROBLEM, database, budget=Budget(43, round_size=8), workers=1, verify=refuse_some)
        assert len(left(database)["candidates"]) == 43


def test_a_living_search_is_not_taken(tmp_path: Path) -> None:
    from db import SearchTakenError

    process = start(tmp_path / "a.sqlite", 1)
    try:
        if process.stdout is None:
            pytest.fail("the process has no output")
        process.stdout.readline()
        with pytest.raises(SearchTakenError):
            search(PROBLEM, tmp_path / "a.sqlite", workers=1, verify=refuse_some)
    finally:
        process.kill()
        process.communicate()
