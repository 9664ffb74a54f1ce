"""An executor whose workers take chunks from Redis, on any number of machines."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from redis.exceptions import RedisError

from agent.errors import WorkerError
from agent.executor import Failure
from server.executors.broker import (
    DEATHS,
    DIED,
    KEPT_SECONDS,
    LONGEST_MILLISECONDS,
    LOST_SECONDS,
    connect,
    key,
    make_broker,
)

Item = TypeVar("Item")
Answer = TypeVar("Answer")

CHUNK = 2
LOOK_SECONDS = 1


class DramatiqExecutor:
    """Sends chunks and waits for their answers; workers are started apart (`seis worker`)."""

    def __init__(self, url: str, prefix: str, workers: int = 2, chunk: int = CHUNK) -> None:
        if workers < 1 or chunk < 1:
            raise WorkerError(f"workers and chunk must be at least 1, but got {workers} and {chunk}")
        self.workers = workers
        self._prefix = prefix
        self._chunk = chunk
        self._redis: Any = connect(url)
        self._broker = make_broker(url, prefix)
        self._closed = threading.Event()

    def map(
        self,
        function: Callable[[Any, Item], Answer],
        context: object,
        items: Sequence[Item],
        done: Callable[[int], None] | None = None,
    ) -> list[Answer | Failure]:
        if self._closed.is_set():
            raise WorkerError("an executor must be open to be used, but it was closed; make a new one")
        try:
            call = _Call(self._redis, self._broker, self._prefix, pickle.dumps((function, context)), items)
            try:
                for first in range(0, len(items), self._chunk):
                    call.send(range(first, min(first + self._chunk, len(items))))
                self._collect(call, done)
            finally:
                call.forget()
        except RedisError as error:
            raise WorkerError(
                f"Redis must answer, but did not for {LOST_SECONDS:g} s ({type(error).__name__}); "
                "start it, then run the job again"
            ) from None
        return [call.answers[i] for i in range(len(items))]

    def _collect(self, call: _Call, done: Callable[[int], None] | None) -> None:
        while call.chunks:
            if self._closed.is_set():
                raise WorkerError("an executor must stay open while it works, but it was closed")
            for position in call.receive():
                if done is not None:
                    done(position)

    def close(self) -> None:
        self._closed.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._broker.close()
        self._redis.close()


class _Call:
    """One call of `map`: what was sent, and what has come back."""

    def __init__(self, redis: Any, broker: Any, prefix: str, job: bytes, items: Sequence[Any]) -> None:
        self.answers: dict[int, Any] = {}
        self.chunks: dict[str, Sequence[int]] = {}
        self._redis, self._broker, self._prefix, self._items = redis, broker, prefix, items
        self._name = uuid4().hex
        self._sent = 0
        self._kept = time.monotonic()
        self._job = job
        self._server = self._started()
        self._redis.set(self._key("job"), job, ex=KEPT_SECONDS)

    def send(self, positions: Sequence[int]) -> None:
        """Queue the items at these positions as one chunk."""
        name, self._sent = str(self._sent), self._sent + 1
        self.chunks[name] = positions
        content = pickle.dumps([self._items[i] for i in positions])
        self._redis.set(self._key("items", name), content, ex=KEPT_SECONDS)
        actor = self._broker.get_actor("do_chunk")
        self._broker.enqueue(actor.message(self._name, name))

    def receive(self) -> list[int]:
        """Wait a moment; the positions that got their answers."""
        if time.monotonic() - self._kept > KEPT_SECONDS / 4:
            self._kept = time.monotonic()
            for name in (self._key("job"), *(self._key("items", c) for c in self.chunks)):
                self._redis.expire(name, KEPT_SECONDS)
        message = self._redis.blpop([self._key("answers")], timeout=LOOK_SECONDS)
        if message is None:
            if self._started() != self._server:
                self._send_again()
            return []
        chunk, found = pickle.loads(message[1])
        positions = self.chunks.pop(chunk, None)
        if positions is None:  # a chunk that was given to two workers
            return []
        self._redis.delete(self._key("items", chunk), self._key("starts", chunk))
        if found == DIED:
            return self._divide(positions)
        self.answers.update(zip(positions, found, strict=True))
        return list(positions)

    def _started(self) -> str:
        """Which start of Redis this is: one that was restarted may have lost what was sent or answered."""
        return str(self._redis.info("server")["run_id"])

    def _send_again(self) -> None:
        """Send what has no answer yet under new names; answers under the old ones find nobody."""
        self._server = self._started()
        self._redis.set(self._key("job"), self._job, ex=KEPT_SECONDS)
        for name, positions in list(self.chunks.items()):
            del self.chunks[name]
            self._redis.delete(self._key("items", name), self._key("starts", name))
            self.send(positions)

    def _divide(self, positions: Sequence[int]) -> list[int]:
        """A chunk that killed its workers: send its halves, or find its only item guilty."""
        if len(positions) == 1:
            detail = (
                f"every process that tried this candidate, {DEATHS} at most, died or took longer than "
                f"{LONGEST_MILLISECONDS // 1000} s"
            )
            self.answers[positions[0]] = Failure("worker_died", detail)
            return [positions[0]]
        half = len(positions) // 2
        self.send(positions[:half])
        self.send(positions[half:])
        return []

    def forget(self) -> None:
        """Leave nothing in Redis; chunks still queued find nothing to do."""
        names = [self._key("job"), self._key("answers")]
        for chunk in self.chunks:
            names += [self._key("items", chunk), self._key("starts", chunk)]
        try:
            self._redis.delete(*names)
        except RedisError:
            return

    def _key(self, *parts: object) -> str:
        return key(self._prefix, self._name, *parts)
