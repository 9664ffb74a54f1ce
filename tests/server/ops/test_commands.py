"""`seis token`, `schedule`, `doctor`, `backup` and `restore` at the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import seis

__all__ = ["seis"]

Seis = Callable[..., Any]
PLAN = (
    "schedule",
    "add",
    "nightly",
    "--model",
    "llama-3.1-8b",
    "--model",
    "gpt-oss-120b",
    "--device",
    "h100-sxm",
)
NIGHT = ("--cron", "0 22 * * *", "--timezone", "Europe/Berlin", "--window", "22:00-06:00")


def test_a_token_from_its_making_to_its_end(seis: Seis) -> None:
    text = seis("token", "create", "laptop", "--scope", "admin").out.strip()
    assert re.fullmatch(r"seis_[0-9a-f]{12}_[\w-]{43}", text)
    (listed,) = seis("token", "list", "--json").document
    assert (listed["name"], listed["scope"], listed["valid"]) == ("laptop", "admin", True)
    assert text.split("_", 2)[-1] not in seis("token", "list").out
    assert seis("token", "revoke", listed["id"]).code == 0
    assert seis("token", "list", "--json").document[0]["valid"] is False
    assert "must exist" in seis("token", "revoke", "0" * 12).err


def test_a_schedule_from_its_making_to_its_end(seis: Seis) -> None:
    (made,) = seis(*PLAN, *NIGHT, "--in-turn", "--json").document
    assert [j["model"] for j in made["jobs"]] == ["llama-3.1-8b", "gpt-oss-120b"]
    assert made["window"] == {"start": "22:00", "end": "06:00"}
    assert "nightly" in seis("schedule", "list").out
    assert "another one" in seis(*PLAN, *NIGHT).err
    fires = seis("schedule", "next", "0 12 * * *", "--timezone", "Europe/Berlin", "--count", "100").out
    assert len(re.findall("clocks go", fires)) in (0, 1)
    assert seis("schedule", "remove", "nightly").code == 0
    assert seis("schedule", "list", "--json").document == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*PLAN, "--cron", "0 0 30 2 *"), "must name times that exist"),
        ((*PLAN, *NIGHT, "--window", "22-6"), "HH:MM"),
        ((*PLAN, *NIGHT, "--timezone", "Mars"), "IANA"),
        ((*PLAN, *NIGHT, "--model", "no-such"), "must be catalogued"),
        ((*PLAN, *NIGHT, "--structures", "0"), "budget"),
        (("schedule", "next", "x"), "5 fields"),
        (("schedule", "remove", "none"), "must exist"),
        (("token", "create", "a\nb"), "visible"),
        (("token", "create", "a", "--days", "-1"), "--days"),
        (("backup", "x.db", "--database", "none.db"), "must exist"),
        (("restore", "none.db"), "there is none"),
    ],
)
def test_unusable_input_is_one_sentence(seis: Seis, arguments: tuple[str, ...], words: str) -> None:
    ran = seis(*arguments)
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_backup_and_back(seis: Seis) -> None:
    seis("token", "create", "kept")
    assert seis("backup", "copy.db", "--json").document["bytes"] > 0
    seis("token", "create", "lost")
    assert "--replace" in seis("restore", "copy.db").err
    assert seis("restore", "copy.db", "--replace").code == 0
    assert [t["name"] for t in seis("token", "list", "--json").document] == ["kept"]


def test_doctor_ends_with_one_where_there_is_a_problem(seis: Seis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEIS_PORT", "0")
    assert seis("doctor", "--json").document["healthy"] is True
    monkeypatch.setenv("SEIS_REQUIRE_TOKENS", "true")
    ran = seis("doctor")
    assert ran.code == 1
    assert "seis token create" in ran.out
