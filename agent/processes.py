"""A local pool of worker processes that survives the death of any of them.

Each worker is a fresh interpreter (nothing is forked, and the caller's main module is not run again) that
reads chunks from its standard input. When one dies with a chunk, it is started anew and the items of that
chunk go one by one; the item that kills it again is the guilty one. A worker ends when its input does, so
none outlives the search, however that ended.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from agent.errors import WorkerError
from agent.executor import Failure
from agent.wire import receive, send

Item = TypeVar("Item")
Answer = TypeVar("Answer")

CHUNK = 2
"""Items per message: a candidate takes tens to hundreds of milliseconds, a message less than two."""

STARTS = 3
"""A worker that is killed while it starts is no reason to give up; one that never starts is."""

_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Give large arrays back to the system; by default glibc keeps ever more of them.
    "MALLOC_MMAP_THRESHOLD_": "524288",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}


class ProcessExecutor:
    """`workers` processes; they start with the first call."""

    def __init__(self, workers: int = 2, chunk: int = CHUNK) -> None:
        if workers < 1 or chunk < 1:
            raise WorkerError(f"workers and chunk must be at least 1, but got {workers} and {chunk}")
        self.workers = workers
        self._chunk = chunk
        self._idle = [_Worker() for _ in range(workers)]

    def map(
        self,
        function: Callable[[Any, Item], Answer],
        context: object,
        items: Sequence[Item],
        done: Callable[[int], None] | None = None,
    ) -> list[Answer | Failure]:
        chunks: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
        for first in range(0, len(items), self._chunk):
            chunks.put(list(range(first, min(first + self._chunk, len(items)))))
        ready: queue.SimpleQueue[tuple[int, Any] | BaseException] = queue.SimpleQueue()
        job = pickle.dumps((function, context))
        threads = [
            threading.Thread(target=_serve, args=(w, job, items, chunks, ready), daemon=True)
            for w in self._idle[: max(1, len(items))]
        ]
        for thread in threads:
            thread.start()
        answers: dict[int, Any] = {}
        try:
            while len(answers) < len(items):
                found = ready.get()
                if isinstance(found, BaseException):
                    raise found
                answers[found[0]] = found[1]
                if done is not None:
                    done(found[0])
        except BaseException:
            self.close()  # whoever waits for an answer is released
            raise
        finally:
            for thread in threads:
                thread.join()
        return [answers[i] for i in range(len(items))]

    def close(self) -> None:
        for worker in self._idle:
            worker.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Worker:
    """One process, started when it is needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._job = b""
        self._stopped = False

    def ask(self, job: bytes, items: list[Any]) -> list[Any] | None:
        """Answers to items; None if the process died over them."""
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise WorkerError("a worker process must have pipes, but it has none")
        try:
            if job is not self._job:
                send(process.stdin, ("job", job))
                self._job = job
            send(process.stdin, ("items", items))
            answers: list[Any]
            answers, tired = receive(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            self._end()
            return None
        if tired:
            self._end()  # the next question starts a fresh one
        return answers

    def _started(self) -> subprocess.Popen[bytes]:
        for _ in range(STARTS):
            if self._stopped:
                raise WorkerError("an executor must be open to be used, but it was closed; make a new one")
            if (process := self._process) is not None or (process := self._start()) is not None:
                return process
        raise WorkerError(
            "a worker must be able to start, but it ended at once; see its message, or use 1 worker"
        )

    def _start(self) -> subprocess.Popen[bytes] | None:
        """A new process, if it came up and nobody stopped the worker meanwhile."""
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", "agent.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, **_ENVIRONMENT},
            start_new_session=True,  # Ctrl-C in the terminal is for the search alone
        )
        try:
            receive(process.stdout)
        except (EOFError, OSError, ValueError):
            self._end()
            return None
        if self._stopped:  # after the process was made: whoever stopped the worker may not have seen it
            self._end()
            return None
        return process

    def stop(self) -> None:
        self._stopped = True
        self._end()

    def _end(self) -> None:
        process, self._process, self._job = self._process, None, b""
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def _serve(
    worker: _Worker,
    job: bytes,
    items: Sequence[Any],
    chunks: queue.SimpleQueue[list[int]],
    ready: queue.SimpleQueue[tuple[int, Any] | BaseException],
) -> None:
    """Take chunks until there are none left."""
    try:
        while True:
            try:
                positions = chunks.get_nowait()
            except queue.Empty:
                return
            answers = worker.ask(job, [items[i] for i in positions])
            if answers is None:
                answers = [_alone(worker, job, items[i]) for i in positions]
            for pair in zip(positions, answers, strict=True):
                ready.put(pair)
    except BaseException as error:
        ready.put(error)


def _alone(worker: _Worker, job: bytes, item: Any) -> Any:
    """The answer to one item of a chunk over which the worker died."""
    answers = worker.ask(job, [item])
    if answers is None:
        return Failure("worker_died", "the process that tried this candidate died twice over it")
    return answers[0]
