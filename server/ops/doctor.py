"""Looks at everything that a server needs, and says what to do about what it lacks."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from db import HEAD, Database, DatabaseError, current_revision, utc_now
from db.places import parse_place
from server.access.addresses import AddressError, public_address, read_url
from server.access.tokens import is_live
from server.settings import Settings

State = Literal["ok", "warning", "problem"]

GIGABYTE = 1e9
LEAST_BYTES = 0.2 * GIGABYTE
WORKER_BYTES = 0.7 * GIGABYTE


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, what was found, and what to do, if anything."""

    name: str
    state: State
    found: str
    fix: str = ""


def examine(settings: Settings) -> list[Check]:
    """Every check; one that itself fails is a problem of its own."""
    found: list[Check] = []
    for look in (
        _python, _time_zones, _database, _disk, _memory, _executor, _port, _access, _files, _webhook, _tools,
    ):  # fmt: skip
        found += _looked(look, settings)
    return found


def _looked(look: Callable[[Settings], Iterator[Check]], settings: Settings) -> list[Check]:
    try:
        return list(look(settings))
    except Exception as error:
        name = look.__name__.strip("_").replace("_", " ")
        return [Check(name, "problem", f"could not be looked at: {type(error).__name__}", "report this")]


def _python(settings: Settings) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", "ok", version)


def _time_zones(settings: Settings) -> Iterator[Check]:
    try:
        ZoneInfo("Europe/Berlin")
    except Exception:
        yield Check(
            "time zones", "problem", "the time zone database is missing", "install the package tzdata"
        )
        return
    yield Check("time zones", "ok", "known")


def _database(settings: Settings) -> Iterator[Check]:
    place = parse_place(settings.database_url)
    if place.file is not None and not place.file.exists():
        folder = place.file.parent
        if folder.is_dir() and not os.access(folder, os.W_OK):
            yield Check(
                "database", "problem", f"{folder} is read-only", "change its permissions or SEIS_DATABASE"
            )
            return
        yield Check("database", "ok", f"{place} will be made at the first start")
        return
    try:
        revision = current_revision(settings.database_url)
        if revision != HEAD:
            yield Check("database", "warning", f"{place} has revision {revision}, this version {HEAD}",
                        "make a backup; the next start brings it up to date")  # fmt: skip
            return
        with Database.open(settings.database_url, create=False) as database, database.transaction():
            pass  # the write lock was free, and the place can be written
    except DatabaseError as error:
        said, _, fix = str(error).rpartition("; ")
        yield Check("database", "problem", said or str(error), fix)
        return
    yield Check("database", "ok", f"{place}, revision {revision}")


def _disk(settings: Settings) -> Iterator[Check]:
    place = parse_place(settings.database_url)
    folder = place.file.parent if place.file is not None else Path(".")
    free = shutil.disk_usage(folder if folder.is_dir() else Path(".")).free
    said = f"{free / GIGABYTE:.1f} GB free"
    if free < LEAST_BYTES:
        yield Check("disk", "problem", said, "free space or move the database (SEIS_DATABASE)")
    elif free < 10 * LEAST_BYTES:
        yield Check("disk", "warning", said, "free space soon; a long search writes about a gigabyte")
    else:
        yield Check("disk", "ok", said)


def _memory(settings: Settings) -> Iterator[Check]:
    if settings.executor != "processes" or not settings.coordinator:
        return
    processes = settings.workers * settings.concurrent_jobs + settings.compute_processes
    cores = os.cpu_count() or 1
    if processes > 2 * cores:
        yield Check("processors", "warning", f"{processes} processes on {cores} cores", "lower SEIS_WORKERS")
    else:
        yield Check("processors", "ok", f"{processes} processes on {cores} cores")
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return
    said = f"{free / GIGABYTE:.1f} GB available for {processes} processes"
    if free < processes * WORKER_BYTES:
        yield Check("memory", "warning", said, "lower SEIS_WORKERS, or end other programs")
    else:
        yield Check("memory", "ok", said)


def _executor(settings: Settings) -> Iterator[Check]:
    if not settings.redis:
        return
    from redis import Redis
    from redis.exceptions import RedisError

    client = Redis.from_url(settings.redis, socket_timeout=3, socket_connect_timeout=3)
    try:
        client.ping()
    except RedisError as error:
        yield Check("redis", "problem", f"does not answer ({type(error).__name__})",
                    "start it, or correct SEIS_REDIS_URL")  # fmt: skip
        return
    finally:
        client.close()
    yield Check("redis", "ok", "answers")


def _port(settings: Settings) -> Iterator[Check]:
    if not settings.port:
        return
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            said = f"{settings.host}:{settings.port} cannot be taken ({error.strerror})"
            yield Check("port", "warning", said,
                        "nothing, if that is SEIS itself; else choose another SEIS_PORT")  # fmt: skip
            return
    yield Check("port", "ok", f"{settings.host}:{settings.port} is free")


def _access(settings: Settings) -> Iterator[Check]:
    if not settings.protected:
        if settings.loopback:
            yield Check("access", "ok", "this machine alone, without tokens")
        else:
            yield Check("access", "warning", f"{settings.host} is served without tokens",
                        "unset SEIS_UNPROTECTED unless a gateway asks for them")  # fmt: skip
        return
    try:
        with Database.open(settings.database_url, create=False) as database:
            live = [t for t in database.list_tokens() if is_live(t, utc_now())]
    except DatabaseError:
        live = []
    if not live:
        yield Check("access", "problem", "tokens are needed, and there is no valid one",
                    "make one with `seis token create NAME --scope admin`")  # fmt: skip
    elif not any(t.scope == "admin" for t in live):
        yield Check("access", "warning", "no valid token has the scope admin",
                    "make one with `seis token create NAME --scope admin`")  # fmt: skip
    else:
        yield Check("access", "ok", f"{len(live)} valid tokens")
    if not settings.loopback and not settings.https:
        yield Check("https", "warning", "tokens travel in the clear unless a gateway encrypts",
                    "put a gateway with HTTPS in front, and set SEIS_HTTPS=true")  # fmt: skip


def _files(settings: Settings) -> Iterator[Check]:
    place = parse_place(settings.database_url)
    for path in (place.file, Path(".env")):
        if path is not None and path.exists() and path.stat().st_mode & 0o007:
            yield Check(
                "permissions", "warning", f"others on this machine can read {path}", f"chmod o-rwx {path}"
            )


def _webhook(settings: Settings) -> Iterator[Check]:
    if settings.webhook_url is None:
        return
    try:
        public_address(read_url(settings.webhook_url.get_secret_value()))
    except AddressError as error:
        said, _, fix = str(error).rpartition("; ")
        yield Check("webhook", "problem", said, fix)
        return
    yield Check("webhook", "ok", "leads to a public address")


def _tools(settings: Settings) -> Iterator[Check]:
    if parse_place(settings.database_url).file is not None:
        return
    for name in ("pg_dump", "pg_restore"):
        if shutil.which(name) is None:
            yield Check("backup", "warning", f"{name} is not installed",
                        "install PostgreSQL's client programs of the server's version")  # fmt: skip
