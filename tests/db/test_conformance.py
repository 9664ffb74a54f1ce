"""What every database must do: designs, certificates, evaluations, baselines, candidates, statistics."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from datetime import timedelta, timezone

import pytest

from db import (
    AmbiguousPrefixError,
    Baseline,
    ConflictError,
    Database,
    InvalidValueError,
    Lineage,
    NotFoundError,
    RuleStatistics,
)
from tests.db.samples import CONDITIONS, TIME, candidate, certificate, design, digest, evaluation, new_search


def test_a_design_comes_back_as_it_was(database: Database) -> None:
    assert database.save_design(design(1))
    stored = database.get_design(digest(1))
    assert stored == design(1)
    assert stored.created_at.utcoffset() == timedelta(0)
    assert database.find_design(digest(1)) == stored
    with pytest.raises(FrozenInstanceError):
        stored.text = "other"  # type: ignore[misc]


def test_saving_again_changes_nothing(database: Database) -> None:
    assert database.save_design(design(1))
    assert not database.save_design(replace(design(1), summary="something else"))
    assert database.list_designs() == (design(1),)


def test_times_of_other_zones_are_stored_in_utc(database: Database) -> None:
    local = TIME.astimezone(timezone(timedelta(hours=9)))
    database.save_design(replace(design(1), created_at=local))
    assert database.get_design(digest(1)).created_at.isoformat() == TIME.isoformat()


def test_designs_are_found_by_prefix_model_and_structure(database: Database) -> None:
    database.save_design(design(1))
    database.save_design(replace(design(2), model="large", created_at=TIME + timedelta(microseconds=1)))
    assert database.get_design(digest(1)[:8].upper()) == design(1)
    assert [found.model for found in database.list_designs()] == ["large", "small"]
    assert len(database.list_designs(limit=1)) == 1
    assert database.list_designs(model="small") == (design(1),)
    assert database.list_designs(structure_hash=design(1).structure_hash) == (design(1),)


def test_an_ambiguous_prefix_names_both(database: Database) -> None:
    first, second = "abcd" + "0" * 60, "abcd" + "f" * 60
    for name in (first, second):
        database.save_design(replace(design(name), design_hash=name))
    with pytest.raises(AmbiguousPrefixError, match=f"abcd begins {first} and {second}; give more digits"):
        database.get_design("abcd")
    assert database.get_design("abcdf").design_hash == second
    assert database.get_design(first).design_hash == first


@pytest.mark.parametrize("prefix", ["", "abc", "not hex", "%%%%"])
def test_a_bad_prefix_is_refused(database: Database, prefix: str) -> None:
    with pytest.raises(InvalidValueError, match="at least 4 hexadecimal digits"):
        database.get_design(prefix)


def test_what_is_not_stored(database: Database) -> None:
    with pytest.raises(NotFoundError, match="none begins with 1234"):
        database.get_design("1234")
    with pytest.raises(NotFoundError):
        database.get_certificate("1234")
    with pytest.raises(NotFoundError):
        database.get_search("1234")
    assert database.find_design(digest(1)) is None
    assert database.find_certificate(digest(1), digest(2), "1") is None
    assert database.get_evaluation(digest(1), CONDITIONS) is None
    assert database.get_baseline("small", 8, CONDITIONS) is None
    assert database.get_proof("key") is None
    assert database.lineage(digest(1)) == ()


def test_lineage_leads_to_the_root_and_ends_at_a_circle(database: Database) -> None:
    for number in range(4):
        database.save_design(design(number))
    steps = [
        Lineage(child_hash=digest(2), parent_hash=digest(1), rule="b", site="ffn", parameters={"tp": [8, 4]}),
        Lineage(child_hash=digest(1), parent_hash=digest(0), rule="a"),
        Lineage(child_hash=digest(0), parent_hash=digest(2), rule="back"),
    ]
    for step in steps:
        assert database.save_lineage(step)
        assert not database.save_lineage(step)
    assert database.lineage(digest(2)) == tuple(steps)
    assert database.children(digest(1)) == (steps[0],)
    assert database.lineage(digest(3)) == ()
    with pytest.raises(ConflictError, match="must be saved before"):
        database.save_lineage(Lineage(child_hash=digest(9), parent_hash=digest(1), rule="a"))


def test_one_certificate_stands_per_pair_and_version(database: Database) -> None:
    first = certificate(1)
    assert database.save_certificate(first) == first.certificate_hash
    again = replace(first, certificate_hash=digest("again"), verdict="refused")
    assert database.save_certificate(again) == first.certificate_hash
    newer = certificate(1, version="2")
    assert database.save_certificate(newer) == newer.certificate_hash
    assert database.get_certificate(first.certificate_hash[:10]) == first
    found = database.find_certificate(first.reference_structure_hash, first.candidate_structure_hash, "2")
    assert found == newer


def test_a_certificate_hash_names_one_pair(database: Database) -> None:
    database.save_certificate(certificate(1))
    other = replace(certificate(2), certificate_hash=certificate(1).certificate_hash)
    with pytest.raises(ConflictError, match="must name one pair"):
        database.save_certificate(other)


def test_a_verdict_is_one_of_two(database: Database) -> None:
    with pytest.raises(ConflictError, match="a status must be a known one"):
        database.save_certificate(replace(certificate(1), verdict="perhaps"))  # type: ignore[arg-type]


def test_evaluations_are_kept_per_condition(database: Database) -> None:
    database.save_design(design(1))
    first = evaluation(1, (1.5, 2.0), (0.1 + 0.2, 1e300))
    assert database.save_evaluation(first)
    assert not database.save_evaluation(replace(first, points=[], seconds=9.0))
    assert database.get_evaluation(digest(1), CONDITIONS) == first
    edited = replace(CONDITIONS, device_hash="edited device")
    assert database.get_evaluation(digest(1), edited) is None
    assert database.save_evaluation(replace(first, conditions=edited))
    with pytest.raises(ConflictError):
        database.save_evaluation(evaluation(2, (1.0, 1.0)))


def test_baselines_and_proofs_are_cached(database: Database) -> None:
    baseline = Baseline(model="small", count=8, conditions=CONDITIONS, points=({"x": 1},), created_at=TIME)
    assert database.save_baseline(baseline)
    assert not database.save_baseline(replace(baseline, points=()))
    assert database.get_baseline("small", 8, CONDITIONS) == baseline
    assert database.get_baseline("small", 16, CONDITIONS) is None
    assert database.put_proof("unit", {"equal": True})
    assert not database.put_proof("unit", {"equal": False})
    assert database.get_proof("unit") == {"equal": True}


def test_the_frontier_takes_accepted_candidates_alone(database: Database) -> None:
    search = new_search(database)
    points = {1: [(1.0, 9.0), (5.0, 5.0)], 2: [(5.0, 5.0), (4.0, 4.0), (9.0, 1.0)], 3: [(99.0, 99.0)]}
    for number, values in points.items():
        database.save_design(design(number))
        database.save_evaluation(evaluation(number, *values))
        database.record_candidate(candidate(search, number, "refused" if number == 3 else "accepted"))
    assert [found.design_hash for found in database.list_evaluations(search.id, CONDITIONS)] == [
        digest(1),
        digest(2),
    ]
    frontier = database.frontier(search.id, CONDITIONS, "x", "y")
    assert [(point.design_hash, point.values["x"]) for point in frontier] == [
        (digest(2), 9.0),
        (digest(1), 5.0),
        (digest(1), 1.0),
    ]
    with pytest.raises(InvalidValueError, match="a number named 'z'"):
        database.frontier(search.id, CONDITIONS, "x", "z")


def test_a_candidate_is_proposed_once_and_judged_once(database: Database) -> None:
    search = new_search(database)
    database.save_design(design(1))
    standing = database.save_certificate(certificate(1))
    assert database.record_candidate(candidate(search, 1))
    assert not database.record_candidate(candidate(search, 1))
    judged = candidate(search, 1, "accepted", certificate_hash=standing, gain=1.07)
    assert database.record_candidate(judged)
    assert not database.record_candidate(candidate(search, 1, "failed", reasons=("timeout",)))
    assert not database.record_candidate(candidate(search, 1))
    assert database.list_candidates(search.id) == (judged,)


def test_candidates_are_listed_counted_and_explained(database: Database) -> None:
    search, other = new_search(database), new_search(database, seed=8)
    with database.transaction() as tx:
        for number in range(6):
            tx.save_design(design(number))
            refused = number % 2 == 0
            tx.record_candidate(
                candidate(
                    search, number, "refused", reasons=("shape", f"only {number}"), detail=f"row {number}"
                )
                if refused
                else candidate(search, number, "accepted", gain=number / 10)
            )
        tx.record_candidate(candidate(other, 0))
    assert [found.sequence_number for found in database.list_candidates(search.id, status="accepted")] == [
        1,
        3,
        5,
    ]
    page = database.list_candidates(search.id, after_sequence=1, limit=2)
    assert [found.sequence_number for found in page] == [2, 3]
    assert [found.gain for found in database.best_candidates(search.id, 2)] == [0.5, 0.3]
    assert database.seen_designs(search.id) == {digest(number) for number in range(6)}
    assert database.count_candidates(search.id) == {"proposed": 0, "accepted": 3, "refused": 3, "failed": 0}
    reasons = database.count_reasons(search.id)
    assert [(found.reason, found.count, found.example.detail) for found in reasons] == [
        ("shape", 3, "row 0"),
        ("only 0", 1, "row 0"),
        ("only 2", 1, "row 2"),
        ("only 4", 1, "row 4"),
    ]


def test_rule_statistics_add_up(database: Database) -> None:
    search = new_search(database)
    database.count_rule("split", "hbm", proposed=3, accepted=2, improved=1, search_id=search.id)
    database.count_rule("split", "hbm", proposed=1)
    database.count_rule("merge", "link", proposed=1, search_id=search.id)
    split = RuleStatistics(rule="split", resource="hbm", proposed=3, accepted=2, improved=1)
    merge = RuleStatistics(rule="merge", resource="link", proposed=1, accepted=0, improved=0)
    assert database.rule_statistics(search.id) == (merge, split)
    assert database.rule_statistics() == (merge, replace(split, proposed=4))
