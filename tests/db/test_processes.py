"""Several processes on one database, and processes that are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from db import Database, upgrade
from tests.db import writer
from tests.db.samples import CONDITIONS, digest, new_search

Process: TypeAlias = "subprocess.Popen[str]"
Start: TypeAlias = Callable[..., Process]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `writer.py` with arguments; what still runs at the end is killed."""
    started: list[Process] = []

    def run(*arguments: str) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", str(ROOT / "tests" / "db" / "writer.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def line(process: Process) -> str:
    """The next line that the process prints; waits for it."""
    if process.stdout is None:
        pytest.fail("the process has no output")
    return process.stdout.readline().strip()


def expect_whole_rounds(database: Database, search_id: str) -> int:
    """Check that everything of every round is there and nothing else; returns how many rounds there are."""
    rounds: int = database.get_search(search_id).cursor.get("next_round", 0)
    expected = [digest(number) for number in range(rounds * writer.ROUND)]
    candidates = database.list_candidates(search_id)
    assert [found.design_hash for found in candidates] == expected
    assert {found.design_hash for found in database.list_designs()} == set(expected)
    assert [found.design_hash for found in database.list_evaluations(search_id, CONDITIONS)] == expected
    for found in candidates:
        assert database.get_certificate(found.certificate_hash or "").verdict == "accepted"
    return rounds


def test_a_writer_killed_between_its_writes_leaves_whole_rounds(url: str, start: Start) -> None:
    with Database.open(url) as database:
        search = new_search(database)
        process = start("halfway", url, search.id)
        assert line(process) == "half"
        process.kill()
        process.wait()
        assert expect_whole_rounds(database, search.id) == 1
        database.resume_search(search.id)
        assert writer.write_round(database, search.id) == 1
        assert expect_whole_rounds(database, search.id) == 2


@pytest.mark.parametrize("rounds", [1, 4, 9])
def test_a_writer_killed_at_any_moment_leaves_whole_rounds(url: str, start: Start, rounds: int) -> None:
    with Database.open(url) as database:
        search = new_search(database)
        process = start("rounds", url, search.id)
        for number in range(rounds):
            assert line(process) == str(number)
        process.kill()
        process.wait()
        database.resume_search(search.id)  # takes the write lock, so what the dead process sent has ended
        left = expect_whole_rounds(database, search.id)
        assert left >= rounds
        assert writer.write_round(database, search.id) == left
        assert expect_whole_rounds(database, search.id) == left + 1


def test_two_processes_save_the_same_designs_in_opposite_orders(url: str, start: Start) -> None:
    with Database.open(url) as database:
        processes = [start("designs", url, "1"), start("designs", url, "-1")]
        go(processes)
        assert [process.wait() for process in processes] == [0, 0]
        assert {found.design_hash for found in database.list_designs()} == {
            digest(n) for n in range(writer.DESIGNS)
        }


def test_four_processes_create_one_database(url: str, start: Start) -> None:
    processes = [start("open", url) for _ in range(4)]
    go(processes)
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    with Database.open(url, create=False) as database:
        assert database.list_designs() == ()


def test_a_process_without_alembic_opens_what_is_up_to_date(url: str) -> None:
    upgrade(url)
    script = (
        "import sys; from db import Database; database = Database.open(sys.argv[1]); "
        "database.list_designs(); database.close(); sys.exit('alembic' in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", script, url], cwd=ROOT, check=False)
    assert finished.returncode == 0


def go(processes: list[Process]) -> None:
    """Let processes that are ready start together."""
    for process in processes:
        assert line(process) == "ready"
    for process in processes:
        if process.stdin is not None:
            process.stdin.write("\n")
            process.stdin.flush()
