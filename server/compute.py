"""Work that a request waits for, in processes of its own, so that the event loop is never held up."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agent import Failure, ProcessExecutor, WorkerError
from server.problems import Refusal, refusal_of


def call(context: None, item: tuple[Callable[[Any], Any], Any]) -> Any:
    """Run one function in a worker; what a user's input causes comes back as a Refusal."""
    function, argument = item
    try:
        return function(argument)
    except Exception as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        return refusal


class Compute:
    """A few processes, each doing one thing at a time; asked too much at once, it says so."""

    def __init__(self, processes: int, seconds: float, waiting: int) -> None:
        self._seconds = seconds
        self._room = threading.Semaphore(processes + waiting)
        self._idle: queue.SimpleQueue[ProcessExecutor] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(processes + waiting, thread_name_prefix="seis-compute")
        self._closed = False
        self._workers: set[ProcessExecutor] = set()
        for _ in range(processes):
            self._idle.put(self._worker())

    async def run(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """`function(argument)` in another process. Raises Refusal: the function's, timed_out, overloaded."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.wait, function, argument)

    def wait(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """The same, from a thread."""
        if self._closed or not self._room.acquire(blocking=False):
            raise Refusal(
                "overloaded", "fewer evaluations must be under way at a time; send the request again later",
                headers={"Retry-After": "2"},
            )  # fmt: skip
        try:
            worker = self._idle.get()
            late = threading.Timer(self._seconds, worker.close)
            late.daemon = True
            late.start()
            try:
                (answer,) = worker.map(call, None, [(function, argument)])
            except WorkerError:
                self._workers.discard(worker)
                worker = self._worker()
                raise self._late() from None
            finally:
                late.cancel()
                self._idle.put(worker)
        finally:
            self._room.release()
        if isinstance(answer, Refusal):
            raise answer
        if isinstance(answer, Failure):
            if answer.reason == "worker_died":
                raise Refusal("fault", "an evaluation must not end its process, but this one did; report it")
            raise RuntimeError(answer.detail)
        return answer

    def close(self) -> None:
        """End the processes, also those at work."""
        self._closed = True
        for worker in tuple(self._workers):
            worker.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _worker(self) -> ProcessExecutor:
        made = ProcessExecutor(1, chunk=1)
        self._workers.add(made)
        if self._closed:  # by another thread, which may not have seen this one
            made.close()
        return made

    def _late(self) -> Refusal:
        return Refusal(
            "timed_out",
            f"an evaluation must take at most {self._seconds:g} s, but this one takes longer; "
            "ask for less, or submit a job",
        )
