"""A PostgreSQL and a Redis of a drill's own, on free ports, which can be killed and begun again."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import redis

from tests.redis_server import free_port

PATIENCE = 60.0


def unprivileged() -> dict[str, Any]:
    """Options of a process that must not belong to root: a user that has no rights, where we are root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise RuntimeError(
        "a drill by root needs the user `postgres` or `nobody` for PostgreSQL, but has neither"
    )


def program(name: str) -> str:
    """The path of a program of PostgreSQL, which distributions keep out of the way."""
    places = [str(p) for p in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    if found is None:
        raise RuntimeError(f"the drill needs {name} of PostgreSQL, but it is not installed")
    return found


@dataclass
class PostgreSQL:
    """One server; its data lie in a folder that belongs to the user who runs it."""

    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="seis-postgres-"))
        user = unprivileged()
        if user:
            os.chown(self.folder, user["user"], user["group"])
        subprocess.run(
            [program("initdb"), "-D", str(self.folder), "-U", "postgres", "-A", "trust", "-E", "UTF8"],
            check=True, stdout=subprocess.DEVNULL, cwd="/", **user,
        )  # fmt: skip
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Begin, after a crash too, and return when it answers."""
        self.process = subprocess.Popen(
            [program("postgres"), "-D", str(self.folder), "-p", str(self.port), "-k", "", "-h", "127.0.0.1"],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/", **unprivileged(),
        )  # fmt: skip
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:  # children of the killed one are still there
                time.sleep(0.2)
                self.start()
                return
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError(f"PostgreSQL must answer within {PATIENCE:g} s, but did not")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # end without waiting for its clients
            self.process.wait(PATIENCE)
        shutil.rmtree(self.folder)


@dataclass
class RedisServer:
    """One server; what it holds is on disk, so that a kill loses at most a second of it."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Begin with what is on disk, and return when it answers."""
        found = shutil.which("redis-server")
        if found is None:
            raise RuntimeError("the drill needs redis-server, but it is not installed")
        self.process = subprocess.Popen(
            [found, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
             "--dir", str(self.folder)],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        end = time.monotonic() + PATIENCE
        with redis.Redis.from_url(self.url) as client:
            while time.monotonic() < end:
                try:
                    client.ping()
                except (redis.ConnectionError, redis.TimeoutError):
                    time.sleep(0.05)
                else:
                    return
        raise RuntimeError(f"Redis must answer within {PATIENCE:g} s, but did not")

    def kill(self, keep: bool) -> None:
        """Kill it; without `keep` what it held is lost."""
        self.process.kill()
        self.process.wait()
        if not keep:
            shutil.rmtree(self.folder)
            self.folder.mkdir()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
