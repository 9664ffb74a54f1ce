"""One suite for every executor, and what the pool of processes adds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from agent import Executor, Failure, InlineExecutor, ProcessExecutor, WorkerError
from server.executors.remote import DramatiqExecutor
from tests.redis_server import redis_server, redis_workers
from tests.server.ops.private import RedisServer


def scaled(context: int, item: int) -> int:
    return context * item


def picky(context: str, item: int) -> int:
    if item == 3:
        raise ValueError(f"{context} {item}")
    print("a candidate may print")
    return item


def deadly(context: None, item: int) -> int:
    if item == 5:
        os._exit(1)
    return item


def deadly_once(context: str, item: int) -> int:
    mark = Path(context)
    if item == 5 and not mark.exists():
        mark.touch()
        os._exit(1)
    return item


def whoami(context: float, item: int) -> int:
    time.sleep(context)
    return os.getpid()


@pytest.fixture(scope="module")
def queue() -> Iterator[tuple[str, str]]:
    """(URL, prefix) of a Redis with two workers that are missed after a second."""
    with redis_server() as url, redis_workers(url, "seis-test"):
        yield url, "seis-test"


def _remote(request: pytest.FixtureRequest, chunk: int) -> Executor:
    url, prefix = request.getfixturevalue("queue")
    return DramatiqExecutor(url, prefix, workers=2, chunk=chunk)


@pytest.fixture(
    params=["inline", "processes", "processes, long chunks", pytest.param("redis", marks=pytest.mark.redis)]
)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    made: Executor = InlineExecutor()
    if request.param == "redis":
        made = _remote(request, 4)
    elif request.param != "inline":
        made = ProcessExecutor(2, chunk=1 if request.param == "processes" else 4)
    with made:
        yield made


@pytest.fixture(params=["processes", pytest.param("redis", marks=pytest.mark.redis)])
def apart(request: pytest.FixtureRequest) -> Callable[[int], Executor]:
    """Makes executors whose workers are processes of their own, by the length of their chunks."""
    if request.param == "redis":
        return lambda chunk: _remote(request, chunk)
    return lambda chunk: ProcessExecutor(2, chunk=chunk)


def test_answers_are_in_order_and_each_is_announced_once(executor: Executor) -> None:
    seen: list[int] = []
    assert executor.map(scaled, 10, range(9), seen.append) == [10 * i for i in range(9)]
    assert sorted(seen) == list(range(9))
    assert executor.map(scaled, 7, [1]) == [7]
    assert executor.map(scaled, 7, []) == []


def test_announcements_come_in_the_caller_s_thread(executor: Executor) -> None:
    threads: set[threading.Thread] = set()
    executor.map(scaled, 1, range(4), lambda _: threads.add(threading.current_thread()))
    assert threads == {threading.current_thread()}


def test_an_item_that_raises_fails_alone(executor: Executor) -> None:
    answers = executor.map(picky, "no", range(6))
    assert answers[3] == Failure("raised", "ValueError: no 3")
    assert [a for i, a in enumerate(answers) if i != 3] == [0, 1, 2, 4, 5]


def test_an_error_of_the_caller_passes_through(executor: Executor) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        executor.map(scaled, 1, range(8), stop)


@pytest.mark.parametrize("chunk", [1, 4])
def test_an_item_that_kills_its_worker_fails_alone(apart: Callable[[int], Executor], chunk: int) -> None:
    with apart(chunk) as pool:
        for _ in range(2 if isinstance(pool, ProcessExecutor) else 1):
            answers = pool.map(deadly, None, range(9))
            assert isinstance(answers[5], Failure)
            assert answers[5].reason == "worker_died"
            assert [a for i, a in enumerate(answers) if i != 5] == [0, 1, 2, 3, 4, 6, 7, 8]


def test_an_item_whose_worker_died_once_is_tried_again(
    apart: Callable[[int], Executor], tmp_path: Path
) -> None:
    with apart(4) as pool:
        assert pool.map(deadly_once, str(tmp_path / "mark"), range(9)) == list(range(9))


def test_work_is_shared_and_workers_stay(apart: Callable[[int], Executor]) -> None:
    with apart(1) as pool:
        pids = set(pool.map(whoami, 0.05, range(6)))
        assert len(pids) == 2
        assert os.getpid() not in pids
        assert set(pool.map(whoami, 0.05, range(6))) == pids


def test_a_closed_pool_refuses(apart: Callable[[int], Executor]) -> None:
    pool = apart(1)
    pool.close()
    with pytest.raises(WorkerError):
        pool.map(scaled, 1, range(3))


def test_closing_from_another_thread_ends_the_wait(apart: Callable[[int], Executor]) -> None:
    pool = apart(1)
    with pool, pytest.raises(WorkerError):
        pool.map(whoami, 0.2, range(20), lambda _: threading.Thread(target=pool.close).start())


@pytest.mark.redis
@pytest.mark.parametrize("keep", [True, False], ids=["with its data", "without"])
def test_a_redis_that_is_killed_loses_no_work(tmp_path: Path, keep: bool) -> None:
    server = RedisServer(tmp_path / "redis")
    killed: list[int] = []

    def kill_once(position: int) -> None:
        if not killed:
            server.kill(keep)
            server.start()
        killed.append(position)

    try:
        with (
            redis_workers(server.url, "seis-killed", 1),
            DramatiqExecutor(server.url, "seis-killed", chunk=1) as pool,
        ):
            assert pool.map(scaled, 3, range(6), kill_once) == [3 * i for i in range(6)]
        assert sorted(killed) == list(range(6))
    finally:
        server.close()


def noted(context: str, item: int) -> int:
    with Path(context).open("a") as file:
        file.write(f"{item}\n")
    time.sleep(1.5)
    return item


@pytest.mark.redis
def test_a_chunk_that_takes_longer_than_the_heartbeat_is_done_once(
    queue: tuple[str, str], tmp_path: Path
) -> None:
    with DramatiqExecutor(*queue, chunk=1) as pool:
        assert pool.map(noted, str(tmp_path / "runs"), range(2)) == [0, 1]
    assert sorted((tmp_path / "runs").read_text().split()) == ["0", "1"]


@pytest.mark.redis
def test_nothing_stays_in_the_queue(queue: tuple[str, str]) -> None:
    url, prefix = queue
    with redis.Redis.from_url(url) as client, DramatiqExecutor(url, prefix, chunk=3) as pool:
        before = set(client.keys("*:map:*"))
        assert pool.map(scaled, 2, range(7)) == [2 * i for i in range(7)]
        assert set(client.keys("*:map:*")) <= before


def test_no_worker_outlives_its_pool() -> None:
    with ProcessExecutor(2, chunk=1) as pool:
        pids = [p for p in pool.map(whoami, 0.0, range(4)) if isinstance(p, int)]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def greedy(context: list[bytes], item: int) -> int:
    context.append(b"x" * 150_000_000)
    return os.getpid()


def test_a_worker_that_holds_too_much_is_replaced() -> None:
    with ProcessExecutor(1, chunk=1) as pool:
        pids = pool.map(greedy, [], range(6))
    assert 1 < len(set(pids)) < 6
