"""Notes and hypotheses: named by their content, judged again, forgotten by age."""

from __future__ import annotations

from dataclasses import replace

import pytest

from db import ConflictError, Database, Experience, Hypothesis, Note, NotFoundError
from tests.db.samples import TIME, new_search

NOTE = Note(text="decode is latency bound at batch 1", tags=("latency", "decode"), created_at=TIME)
GUESS = Hypothesis(
    statement="a second stream hides messages",
    rule="second stream",
    resource="scale-up",
    prediction=0.05,
    created_at=TIME,
    updated_at=TIME,
)


def test_a_note_is_saved_once_and_found_by_its_beginning(database: Database) -> None:
    name = database.save_note(NOTE)
    assert database.save_note(replace(NOTE, tags=("decode", "latency", "decode"))) == name
    assert database.list_notes() == (NOTE,)
    assert database.get_note(name[:8]) == NOTE
    other = database.save_note(replace(NOTE, author="search"))
    assert other != name
    assert database.list_notes(author="search") == (replace(NOTE, author="search"),)


def test_an_author_must_be_one_of_three(database: Database) -> None:
    with pytest.raises(ConflictError, match="author"):
        database.save_note(replace(NOTE, author="nobody"))  # type: ignore[arg-type]


def test_a_hypothesis_keeps_its_newest_verdict(database: Database) -> None:
    name = database.save_hypothesis(GUESS)
    judged = replace(GUESS, verdict="refuted", measurement=-0.01, trials=4)
    assert database.save_hypothesis(judged) == name
    assert database.list_hypotheses() == (judged,)
    assert database.get_hypothesis(name[:6]) == judged


def test_what_is_old_is_forgotten(database: Database) -> None:
    database.save_note(NOTE)
    database.save_note(Note(text="new"))
    database.save_hypothesis(GUESS)
    assert database.forget_notes(older_than_seconds=3600, author="llm") == 0
    assert database.forget_notes(older_than_seconds=3600) == 1
    assert [n.text for n in database.list_notes()] == ["new"]
    assert database.forget_hypotheses(older_than_seconds=3600) == 1
    with pytest.raises(NotFoundError):
        database.get_hypothesis(GUESS.hypothesis_id)


def test_gains_of_rules_add_up(database: Database) -> None:
    search = new_search(database)
    for gained in (0.25, 0.5):
        database.count_rule("split", "hbm", proposed=1, gained=gained, search_id=search.id)
    assert [r.gained for r in database.rule_statistics(search.id)] == [0.75]
    assert [r.gained for r in database.rule_statistics()] == [0.75]


def test_an_experience_is_kept_once(database: Database) -> None:
    found = Experience(search_id="elsewhere", problem={"model": "small", "count": 8}, created_at=TIME)
    assert database.save_experience(found)
    assert not database.save_experience(replace(found, problem={}))
    assert database.list_experiences() == (found,)
