"""One suite for every bus: what is announced wakes every reader, in any thread, and none is left waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from server.events import Bus
from server.events.local import LocalBus
from server.events.remote import RedisBus
from tests.redis_server import redis_server

LONG = 20.0


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture(params=["local", pytest.param("redis", marks=pytest.mark.redis)])
def bus(request: pytest.FixtureRequest) -> Iterator[Bus]:
    made: Bus = LocalBus()
    if request.param == "redis":
        made = RedisBus(request.getfixturevalue("redis_url"), "seis-test")
    yield made
    made.close()


def test_every_reader_hears_an_announcement(bus: Bus) -> None:
    async def listen() -> list[bool]:
        ears = [bus.listen() for _ in range(3)]
        waiting = [asyncio.ensure_future(ear.wait(LONG)) for ear in ears]
        await asyncio.sleep(0)
        threading.Thread(target=bus.announce).start()
        return list(await asyncio.gather(*waiting))

    assert asyncio.run(listen()) == [True, True, True]


def test_an_announcement_between_two_waits_is_not_missed(bus: Bus) -> None:
    async def listen() -> bool:
        ear = bus.listen()
        other = bus.listen()
        bus.announce()
        await other.wait(LONG)  # now the announcement has come
        return await ear.wait(LONG)

    assert asyncio.run(listen())


def test_many_announcements_are_one(bus: Bus) -> None:
    async def listen() -> tuple[bool, bool]:
        ear = bus.listen()
        await ear.wait(0.01)
        for _ in range(5):
            bus.announce()
        first = await ear.wait(LONG)
        while await ear.wait(0.3):  # the rest of the five
            pass
        return first, await ear.wait(0.01)

    assert asyncio.run(listen()) == (True, False)


def test_closing_lets_readers_go(bus: Bus) -> None:
    async def listen() -> bool:
        ear = bus.listen()
        waiting = asyncio.ensure_future(ear.wait(LONG))
        await asyncio.sleep(0)
        await asyncio.to_thread(bus.close)
        return await waiting

    assert asyncio.run(listen())


def test_a_closed_ear_hears_nothing_and_nobody_minds(bus: Bus) -> None:
    async def listen() -> bool:
        ear = bus.listen()
        ear.close()
        bus.announce()
        return await ear.wait(0.05)

    assert not asyncio.run(listen())


@pytest.mark.redis
def test_servers_hear_each_other(redis_url: str) -> None:
    one, two = RedisBus(redis_url, "seis-test"), RedisBus(redis_url, "seis-test")

    async def listen() -> bool:
        ear = two.listen()
        one.announce()
        return await ear.wait(LONG)

    try:
        assert asyncio.run(listen())
    finally:
        one.close()
        two.close()


def test_a_bus_without_redis_still_wakes_its_own_readers() -> None:
    lonely = RedisBus("redis://127.0.0.1:1/0", "seis-test")

    async def listen() -> bool:
        ear = lonely.listen()
        lonely.announce()
        return await ear.wait(LONG)

    try:
        assert asyncio.run(listen())
    finally:
        lonely.close()
