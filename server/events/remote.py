"""Announcements among servers, over Redis pub/sub.

While Redis cannot be reached nothing is announced; readers look at the database from time to time anyhow.
"""

from __future__ import annotations

import threading

import structlog
from redis import Redis
from redis.exceptions import RedisError

from server.events.local import LocalBus, LocalWaiter

log = structlog.get_logger(__name__)

RETRY_SECONDS = 1.0


class RedisBus:
    """One thread listens for all readers of this process."""

    def __init__(self, url: str, prefix: str) -> None:
        self._local = LocalBus()
        self._channel = f"{prefix}:events"
        self._redis = Redis.from_url(url, socket_timeout=5.0, socket_connect_timeout=2.0)
        self._closed = threading.Event()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="seis-events", daemon=True)
        self._thread.start()

    def announce(self) -> None:
        try:
            self._redis.publish(self._channel, b"1")
        except RedisError:
            self._local.announce()

    def listen(self) -> LocalWaiter:
        self._listening.wait(2.0)
        return self._local.listen()

    def close(self) -> None:
        self._closed.set()
        self._local.close()
        self._thread.join(timeout=2.0)
        self._redis.close()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                with self._redis.pubsub() as channel:  # type: ignore[no-untyped-call]
                    channel.subscribe(self._channel)
                    while not self._closed.is_set():
                        if channel.get_message(timeout=0.25) is None:
                            continue
                        self._listening.set()
                        self._local.announce()
            except RedisError as error:
                log.warning("redis_unreachable", detail=type(error).__name__)
                self._closed.wait(RETRY_SECONDS)
