"""Settings: read from the environment, refused with a sentence, and never shown with their secrets."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from seis.cli.main import run
from server.settings import Settings, reference
from tests.docs.pages import ROOT

SECRET = "hunter2-hunter2"


def test_the_page_has_every_setting() -> None:
    assert reference() in (ROOT / "docs" / "service.md").read_text(encoding="utf-8")


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEIS_DATABASE", f"postgresql://seis:{SECRET}@db/seis")
    monkeypatch.setenv("SEIS_REDIS_URL", f"redis://:{SECRET}@queue:6379/0")
    found = Settings(_env_file=None)
    assert SECRET in found.database_url
    assert SECRET in found.redis
    for shown in (repr(found), str(found), found.model_dump_json()):
        assert SECRET not in shown
    monkeypatch.setenv("SEIS_REDIS_URL", f"http://:{SECRET}@queue")
    with pytest.raises(ValidationError) as refused:
        Settings(_env_file=None)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("SEIS_PORT", "many", "SEIS_PORT (--port) must be usable"),
        ("SEIS_EXECUTOR", "dramatiq", "SEIS_REDIS_URL must be given"),
        ("SEIS_WORKERS", "0", "SEIS_WORKERS"),
        ("SEIS_REDIS_URL", "http://queue", "must begin with redis://"),
    ],
)
def test_an_unusable_setting_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert run(["serve"]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
