"""Runs commands in this process, in an empty directory, and keeps what they print."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seis.cli.main import run


@dataclass(frozen=True)
class Ran:
    """Exit status and both streams of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout; nothing may be on stderr."""
        assert self.code in (0, 1), self.err
        assert self.err == ""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The one JSON object on stderr; nothing may be on stdout."""
        assert self.out == ""
        found: dict[str, Any] = json.loads(self.err)
        assert list(found) == ["error"]
        content: dict[str, Any] = found["error"]
        return content


Seis = Callable[..., Ran]


def command(*arguments: str) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return Ran(code, out.getvalue(), err.getvalue())


@pytest.fixture
def seis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seis:
    """Runs a command in an empty directory without settings of the machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEIS_DATABASE", raising=False)
    monkeypatch.delenv("SEIS_TRACEBACK", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return command


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Ran]:
    """The database of a small search, and what the search printed."""
    place = str(tmp_path_factory.mktemp("search") / "seis.db")
    ran = command("search", "llama-3.1-70b", "--count", "8", "--structures", "40", "--workers", "1",
                  "--database", place, "--json")  # fmt: skip
    return place, ran
