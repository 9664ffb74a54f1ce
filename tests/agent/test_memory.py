"""What a search leaves to others, and what those take from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Budget, Problem, ProblemError, Progress, search
from agent.archive import Archive
from agent.memory import Facts, Recalled, StoredNotes, recall, similarity
from agent.memory.exchange import export_memory, import_memory
from agent.stagnation import STAGNATION, heat_of
from agent.store import SearchStore
from agent.trial import Judgement, Proofs
from db import Database, Hypothesis, RuleStatistics
from evaluator.scenario import Scenario
from rooflang.canonical import structure_hash
from rooflang.design import Design
from tests.agent.world import PROBLEM, accept, left

LONG = Budget(structures=48, round_size=12)
NEAR = replace(PROBLEM, scenario=Scenario(4096))
FACTS = Facts("llama-3.1-70b", "h100-sxm", 8, 8192, "served", "achievable", "overlapped")


@pytest.fixture(scope="module")
def experienced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one search."""
    path = tmp_path_factory.mktemp("memory") / "a.sqlite"
    search(PROBLEM, path, budget=LONG, workers=1, verify=accept)
    return path


@pytest.fixture
def database(experienced: Path, tmp_path: Path) -> Any:
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(experienced.read_bytes())
    with Database.open(copy) as opened:
        yield opened


def recalled(database: Database, problem: Problem) -> dict[str, Any]:
    return recall(SearchStore(database, problem))


def test_similarity_goes_by_model_then_family_then_device() -> None:
    worst = {"count": 4096, "context": 1, "kv": "bf16", "setting": "physical"}
    ordered = [
        FACTS,
        replace(FACTS, device="h200-sxm"),
        replace(FACTS, device="mi300x", **worst),  # type: ignore[arg-type]
        replace(FACTS, model="llama-3.1-8b"),
        replace(FACTS, model="llama-3.1-8b", device="mi300x", **worst),  # type: ignore[arg-type]
        replace(FACTS, model="qwen3-8b"),
        replace(FACTS, model="qwen3-8b", device="mi300x"),
    ]
    found = [similarity(FACTS, other) for other in ordered]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)
    assert found[0] == 1.0
    assert all(similarity(b, FACTS) == similarity(FACTS, b) for b in ordered)


def test_an_empty_database_gives_nothing(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.sqlite") as a, Database.open(tmp_path / "b.sqlite") as b:
        short = Budget(structures=30, round_size=8)
        search(PROBLEM, a, budget=short, workers=1, verify=accept)
        search(PROBLEM, b, budget=short, workers=1, verify=accept, memory=False)
        assert left(a)["candidates"] == left(b)["candidates"]


def test_a_neighbour_begins_with_what_was_found(database: Database) -> None:
    verified: list[str] = []

    def counted(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
        verified.append(structure_hash(candidate))
        return accept(reference, candidate, seed, proofs)

    expected = recalled(database, NEAR)
    assert expected["borrowed"]
    search(NEAR, database, budget=LONG, workers=1, verify=counted)
    rows = left(database, NEAR)["candidates"]
    played = [row for row in rows if row[4] == "memory"]
    assert [row[2] for row in played] == [item["design"] for item in expected["borrowed"]][: len(played)]
    others = [row[0] for row in rows if row[4] not in ("baseline", "memory")]
    assert max(row[0] for row in played) < min(others), "before anything else is tried"
    structures = {database.get_design(row[2]).structure_hash for row in played}
    assert not structures & set(verified), "certificates are those of the structure, and stand"


def test_the_same_database_gives_the_same_search(experienced: Path, tmp_path: Path) -> None:
    found = []
    for name in ("x", "y"):
        path = tmp_path / name
        path.write_bytes(experienced.read_bytes())
        with Database.open(path) as opened:
            search(NEAR, opened, budget=LONG, workers=1, verify=accept)
            found.append(left(opened, NEAR))
    assert found[0] == found[1]


def test_priors_are_weighted_and_bounded(database: Database) -> None:
    same = Recalled(recalled(database, replace(PROBLEM, seed=9)))
    far = Recalled(recalled(database, Problem("qwen3-8b", "mi300x", 8)))
    stored = [r for r in database.rule_statistics() if r.resource and r.proposed <= 4]
    assert stored
    for row in stored:
        trials, gained = same.prior(row.rule, row.resource)
        assert (trials, gained) == pytest.approx((row.proposed, row.gained), rel=1e-5)
        assert far.prior(row.rule, row.resource)[0] < trials
    assert same.prior("fuse", "no such resource") == (0.0, 0.0)
    assert not far.borrowed, "another family lends no structures"


def test_a_person_can_steer_with_a_hypothesis(database: Database) -> None:
    before = Recalled(recalled(database, NEAR)).prior("fold gain", "vector")
    database.save_hypothesis(
        Hypothesis(statement="try it", rule="fold gain", resource="vector", prediction=0.5)
    )
    after = Recalled(recalled(database, NEAR)).prior("fold gain", "vector")
    assert after == (before[0] + 1, before[1] + 0.5)


def test_hypotheses_are_judged_by_later_searches(database: Database) -> None:
    rows = database.rule_statistics()
    row = max(rows, key=lambda r: r.proposed)
    assert row.proposed >= 3
    wild = Hypothesis(statement="doubles everything", rule=row.rule, prediction=9.0)
    database.save_hypothesis(wild)
    search(replace(PROBLEM, seed=1), database, budget=Budget(80), workers=1, verify=accept)
    found = {h.hypothesis_id: h for h in database.list_hypotheses()}[wild.hypothesis_id]
    if found.trials:
        assert (found.verdict, found.prediction) == ("refuted", 9.0)
    else:
        assert found.verdict == "open"


@pytest.mark.parametrize(
    ("proposed", "gained", "prediction", "verdict"),
    [
        (2, 1.0, 0.1, None),
        (4, 0.4, 0.1, "confirmed"),
        (4, 0.1, 0.1, "refuted"),
        (4, 0.0, None, "refuted"),
        (4, 0.1, None, "confirmed"),
    ],
)
def test_a_verdict_needs_trials(
    proposed: int, gained: float, prediction: float | None, verdict: str | None
) -> None:
    from agent.memory.lessons import judge

    row = RuleStatistics(
        rule="fuse", resource="memory", proposed=proposed, accepted=0, improved=0, gained=gained
    )
    found = judge(Hypothesis(statement="x", rule="fuse", prediction=prediction), [row])
    assert (found.verdict if found else None) == verdict


def test_memory_travels(database: Database, tmp_path: Path) -> None:
    StoredNotes(database).write("prefetch hides the host", ["host"])
    document = json.loads(json.dumps(export_memory(database)))
    with Database.open(tmp_path / "other.sqlite") as other:
        first = import_memory(other, document)
        assert first["experiences"] == 1
        assert first["notes"] == len(database.list_notes())
        assert import_memory(other, document) == {"notes": 0, "hypotheses": 0, "experiences": 0}
        assert recalled(other, NEAR)["priors"] == recalled(database, NEAR)["priors"]
        assert json.loads(json.dumps(export_memory(other))) == document
        with pytest.raises(ProblemError, match="seis memory export"):
            import_memory(other, {"notes": []})
        broken = {**document, "notes": [{"words": 1}]}
        with pytest.raises(ProblemError, match="unknown key 'words'"):
            import_memory(other, broken)


def test_notes_are_found_by_words_and_tags(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.sqlite") as database:
        notes = StoredNotes(database, author="llm", model="llama-3.1-70b")
        plain = notes.write("fusing the MLP helps at batch 1")
        tagged = notes.write("links are slow", ["mlp"])
        assert notes.write("links are slow", ["mlp"]).note_id == tagged.note_id
        assert list(notes.search("MLP")) == [tagged, plain]
        assert notes.search("nothing of it") == []
        assert len(notes.search()) == 2


def test_the_archive_is_the_same_after_a_restart(database: Database) -> None:
    search(NEAR, database, budget=LONG, workers=1, verify=accept)
    store = SearchStore(database, NEAR)
    assert store.find()
    archives = []
    for _ in range(2):
        archive = Archive(store.baseline() or ())
        SearchStore.load(store, archive)
        archives.append(archive)
    a, b = archives
    assert a.members() == b.members()
    assert a.cells == b.cells
    rows = {row[2]: row for row in left(database, NEAR)["candidates"]}
    for member in a.members():
        assert member.gain == rows[member.design_hash][7], "as it was when it was found"


def test_a_search_that_stands_still_varies_more() -> None:
    assert heat_of(0) == heat_of(STAGNATION - 1) == 1.0
    assert heat_of(STAGNATION) == 2.0
    assert heat_of(100 * STAGNATION) == 4.0


def test_standing_still_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.discovery.STAGNATION", 1)
    events: list[Progress] = []
    found = search(
        PROBLEM, tmp_path / "a.sqlite", budget=Budget(40, round_size=4), workers=1, verify=accept,
        progress=events.append,
    )  # fmt: skip
    assert found.quiet == events[-1].quiet
    assert found.stagnant == (found.quiet >= 1)
    assert found.to_json()["stagnant"] == found.stagnant
