"""`seis verify CERTIFICATE`: from a file and from the database, standing or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from catalogue.models import load_model
from mutations.start import starting_designs
from rooflang.printer import print_design
from tests.cli.conftest import Seis


def test_a_certificate_is_written_and_replayed(seis: Seis, tmp_path: Path) -> None:
    design = starting_designs(load_model("llama-3.1-8b"))[1]
    (tmp_path / "a.roof").write_text(print_design(design), encoding="utf-8")
    written = seis("verify", "llama-3.1-8b", "a.roof", "--certificate", "c.json", "--json")
    assert written.document["verdict"] == "accepted"
    again = seis("verify", "c.json", "--json")
    assert again.code == 0
    assert again.document["stands"]
    assert "stands" in seis("verify", "c.json").out
    said: dict[str, Any] = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    said["false_accept_bound"] = 0.0
    (tmp_path / "c.json").write_text(json.dumps(said), encoding="utf-8")
    other = seis("verify", "c.json", "--json")
    assert other.code == 1
    assert not other.document["stands"]
    assert "the bound" in other.document["differences"][0]


def test_what_is_no_certificate_is_said(seis: Seis, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("[]", encoding="utf-8")
    for name, text in (("c.json", "JSON object"), ("none.json", "readable"), ("abcd", "no file")):
        found = seis("verify", name, "--json")
        assert found.code == 2
        assert text in found.error["message"]


def test_a_stored_certificate_is_replayed(searched: tuple[str, Any], seis: Seis) -> None:
    import db

    place = searched[0]
    with db.Database.open(place) as database:
        stored = next(c for c in database.list_certificates() if c.verdict == "accepted")
    found = seis("verify", stored.certificate_hash[:16], "--database", place, "--json")
    assert found.code == 0, found.err
    assert found.document["stands"], found.document["differences"]
