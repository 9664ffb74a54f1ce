"""`seis memory`, and who proposes in `seis search`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Ran, Seis


def test_what_a_search_taught_is_listed(seis: Seis, searched: tuple[str, Ran]) -> None:
    place, _ = searched
    found = seis("memory", "--database", place, "--json").document
    assert found["rules"]
    assert all(r["proposed"] >= r["accepted"] >= 0 for r in found["rules"])
    text = seis("memory", "--database", place).out
    assert max(map(len, text.splitlines())) <= 80
    assert found["rules"][0]["rule"] in text


def test_a_note_is_added_found_moved_and_forgotten(seis: Seis) -> None:
    (note,) = seis("memory", "add", "links", "are", "slow", "--tag", "night", "--json").document["notes"]
    stated = seis("memory", "add", "fusing helps", "--rule", "fuse", "--prediction", "0.1", "--json")
    (guess,) = stated.document["hypotheses"]
    assert (note["text"], note["author"], note["tags"]) == ("links are slow", "person", ["night"])
    assert (guess["rule"], guess["verdict"], guess["prediction"]) == ("fuse", "open", 0.1)
    assert seis("memory", "search", "NIGHT", "--json").document["notes"] == [note]
    assert seis("memory", "show", guess["id"][:8], "--json").document["hypotheses"] == [guess]
    assert seis("memory", "export", "kept.json").code == 0
    removed = seis("memory", "prune", "--days", "0", "--json").document
    assert removed == {"removed": {"notes": 1, "hypotheses": 1}}
    assert "Nothing is remembered" in seis("memory").out
    new = seis("memory", "import", "kept.json", "--json").document
    assert new == {"new": {"notes": 1, "hypotheses": 1, "experiences": 0}}
    assert seis("memory", "--json").document["notes"] == [note]


def test_what_memory_cannot_do_is_one_sentence(seis: Seis, tmp_path: Path) -> None:
    seis("memory", "add", "something")
    (tmp_path / "bad.json").write_text("[1]")
    for arguments, words in (
        (("add",), "a note must have words"),
        (("add", "x", "--resource", "memory"), "--rule"),
        (("add", "x", "--rule", "fuse", "--resource", "luck"), "--resource must be one of"),
        (("add", "x", "--rule", "fusee"), "fusee"),
        (("prune",), "must be told what"),
        (("import", "none.json"), "must be given a JSON file"),
        (("import", "bad.json"), "seis memory export"),
        (("show", "ffffffff"), "ffffffff"),
    ):
        ran = seis("memory", *arguments)
        assert ran.code == 2, arguments
        assert words in ran.err
        assert ran.err.count("\n") == 1


def test_who_proposes_is_asked_for(seis: Seis, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("- rule: fusee\n")
    assert "did you mean 'fuse'" in seis("search", "llama-3.1-8b", "--plan", "plan.yaml").err
    assert "must be one of" in seis("search", "llama-3.1-8b", "--proposer", "nobody").err
    both = seis("search", "llama-3.1-8b", "--plan", "plan.yaml", "--proposer", "exhaustive")
    assert "leave one of them out" in both.err
    assert both.code == 2
