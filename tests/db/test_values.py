"""Values come back unchanged or are refused, the same on every database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db import Database, InvalidValueError
from tests.db.samples import candidate, certificate, design, digest, evaluation, new_search

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
THROUGH_ONE_DATABASE = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@THROUGH_ONE_DATABASE
@given(text=TEXT)
def test_text_comes_back(database: Database, text: str) -> None:
    stored = replace(design(text), text=text)
    database.save_design(stored)
    assert database.get_design(stored.design_hash) == stored


@THROUGH_ONE_DATABASE
@given(body=st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_json_comes_back(database: Database, body: dict[str, Any]) -> None:
    key = digest(sorted(body.items(), key=repr))
    database.put_proof(key, body)
    found = database.get_proof(key)
    assert repr(found) == repr(body), "the order of keys and the kinds of numbers included"


SAVES: dict[str, tuple[str, Callable[[Database], object]]] = {
    "NUL": ("without NUL", lambda database: database.save_design(replace(design(1), text="a\0b"))),
    "surrogate": ("valid Unicode", lambda database: database.save_design(replace(design(1), model="\ud800"))),
    "not text": ("a string", lambda database: database.save_design(replace(design(1), model=7))),  # type: ignore[arg-type]
    "short hash": (
        "64 lower-case",
        lambda database: database.save_design(replace(design(1), design_hash="ab")),
    ),
    "upper hash": (
        "64 lower-case",
        lambda database: database.save_design(replace(design(1), structure_hash="A" * 64)),
    ),
    "naive time": (
        "a time zone",
        lambda database: database.save_design(replace(design(1), created_at=datetime(2025, 1, 1))),
    ),
    "NaN in JSON": (
        "finite numbers",
        lambda database: database.save_certificate(replace(certificate(1), body={"x": float("nan")})),
    ),
    "object in JSON": (
        "plain JSON",
        lambda database: database.save_certificate(replace(certificate(1), body={"x": {1, 2}})),
    ),
    "infinite seconds": (
        "must be finite",
        lambda database: database.save_evaluation(replace(evaluation(1), seconds=float("inf"))),
    ),
    "fraction": (
        "a whole number",
        lambda database: database.count_rule("rule", "hbm", proposed=0.5),  # type: ignore[arg-type]
    ),
    "large seed": ("of 64 bits", lambda database: new_search(database, seed=2**63)),
    "NaN gain": (
        "must be finite",
        lambda database: database.record_candidate(candidate(new_search(database), 1, gain=float("nan"))),
    ),
}


@pytest.mark.parametrize("name", SAVES)
def test_what_cannot_come_back_is_refused(database: Database, name: str) -> None:
    message, save = SAVES[name]
    with pytest.raises(InvalidValueError, match=message) as caught:
        save(database)
    assert "\n" not in str(caught.value)
    assert database.list_designs() == ()


def test_the_largest_seed_fits(database: Database) -> None:
    assert database.get_search(new_search(database, seed=2**63 - 1).id).seed == 2**63 - 1
