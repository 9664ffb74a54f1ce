"""The queue of chunks in Redis: what the search and the workers agree on.

A message names a chunk; what is to be done lies beside it in Redis and is pickled, so Redis must be reachable
by machines that are trusted alone. A worker that dies is noticed by its heartbeat, and its chunks are given
to others.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import AgeLimit, Callbacks, Pipelines, Retries, ShutdownNotifications, TimeLimit
from dramatiq.middleware.time_limit import TimeLimitExceeded
from redis import Redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from agent.executor import attempt

HEARTBEAT_MILLISECONDS = 15_000
"""Silence after which a worker is taken to be dead; the default of a minute is long for a search."""
DEATHS = 3
"""Workers that a chunk may kill before it is halved."""
KEPT_SECONDS = 3600
"""How long what a dead search left lies in Redis."""
LONGEST_MILLISECONDS = 600_000
"""Time that a worker may take over a chunk."""
LOST_SECONDS = 60.0
"""How long Redis may be away."""
RETRY_SECONDS = 0.5
QUEUE = "chunks"
DIED = b"died"


def key(prefix: str, search: str, *parts: object) -> str:
    """The name of something that belongs to one call of `map`."""
    return ":".join((prefix, "map", search, *map(str, parts)))


def connect(url: str) -> Redis:
    """A client that waits for a Redis which is away."""
    retry = Retry(ConstantBackoff(RETRY_SECONDS), round(LOST_SECONDS / RETRY_SECONDS))
    return Redis.from_url(url, retry=retry)


def make_broker(url: str, prefix: str, heartbeat_milliseconds: int = HEARTBEAT_MILLISECONDS) -> RedisBroker:
    """A broker with the one actor that does chunks."""
    middleware = [
        AgeLimit(), TimeLimit(time_limit=LONGEST_MILLISECONDS), ShutdownNotifications(), Callbacks(),
        Pipelines(), Retries(max_retries=0),
    ]  # fmt: skip
    broker: RedisBroker = RedisBroker(  # type: ignore[no-untyped-call]
        client=connect(url), namespace=f"{prefix}:dramatiq", heartbeat_timeout=heartbeat_milliseconds,
        dead_message_ttl=60_000, middleware=middleware,
        # Look for dead workers often: an idle queue has few looks of its own.
        maintenance_chance=100_000,
    )  # fmt: skip
    broker.declare_queue(QUEUE)
    store = connect(url)

    def do_chunk(search: str, chunk: str) -> None:
        _do(store, prefix, search, chunk)

    broker.declare_actor(
        dramatiq.Actor(
            do_chunk, broker=broker, actor_name="do_chunk", queue_name=QUEUE, priority=0, options={}
        )
    )
    return broker


def _do(store: Any, prefix: str, search: str, chunk: str) -> None:
    job = store.get(key(prefix, search, "job"))
    items = store.get(key(prefix, search, "items", chunk))
    if job is None or items is None:
        return  # nobody waits for it any more
    answers = key(prefix, search, "answers")
    starts = store.incr(key(prefix, search, "starts", chunk))
    store.expire(key(prefix, search, "starts", chunk), KEPT_SECONDS)
    if starts > DEATHS:
        store.rpush(answers, pickle.dumps((chunk, DIED)))
    else:
        function, context = _job(job)
        try:
            found: Any = [attempt(function, context, item) for item in pickle.loads(items)]
        except TimeLimitExceeded:  # it would not end: as if its worker had died
            found = DIED
        store.rpush(answers, pickle.dumps((chunk, found)))
    store.expire(answers, KEPT_SECONDS)
    if not store.exists(key(prefix, search, "job")):
        store.delete(answers)  # whoever waited has gone meanwhile


@lru_cache(maxsize=2)
def _job(content: bytes) -> Any:
    return pickle.loads(content)
