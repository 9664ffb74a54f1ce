"""Hostile input gets one clear error, soon and cheaply."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflang.canonical import design_hash
from rooflang.design import Section
from rooflang.errors import DesignError, RoofLangError, RoofLangSyntaxError
from rooflang.json_form import from_json, to_json
from rooflang.limits import MAX_STATEMENTS, MAX_TEXT_BYTES
from rooflang.parser import parse, parse_file
from rooflang.printer import print_design

HEAD = 'design "d" program { dims D=8 S=S input x: bf16[B, D] '
GOOD = HEAD + "y = silu(x) output y }"

HOSTILE = {
    "a million brackets": "(" * 1_000_000,
    "many brackets": HEAD + "y = " + "(" * 400_000,
    "bracket pairs": HEAD + "y = " + "()" * 200_000,
    "deep blocks": HEAD + "section a {" * 20 + "}" * 21,
    "deep calls": HEAD + "y = " + "silu(" * 30 + "x" + ")" * 30 + "}",
    "deep sizes": HEAD.replace("D=8", "D=" + "(" * 40 + "1" + ")" * 40) + "}",
    "a huge number": HEAD.replace("D=8", "D=" + "9" * 300_000) + "}",
    "a number above the limit": HEAD.replace("D=8", "D=1000000000000001") + "}",
    "a product above the limit": HEAD.replace("D=8", "D=" + "*".join(["1000000000000000"] * 100)) + "}",
    "a long size": HEAD.replace("D=8", "D=" + "+".join(["S"] * 100_000)) + "}",
    "a huge exponent": HEAD + "y = scale(x, by=1e999999999999) }",
    "many digits": HEAD + "y = scale(x, by=0." + "1" * 50 + ") }",
    "a long name": HEAD + "a" * 500_000 + " = silu(x) }",
    "many statements": HEAD + "y=silu(x) " * 5_001 + "}",
    "many sums": HEAD + "y = " + "+".join(["x"] * 100_000) + "}",
    "many names": HEAD + "weight " + ",".join(["a"] * 200_000) + ": fp8[D] }",
    "many distinct names": HEAD + "weight " + ",".join(f"a{i}" for i in range(6_000)) + ": fp8[D] }",
    "many dims": HEAD.replace("D=8", " ".join(f"D{i}=8" for i in range(5_000))) + "}",
    "many repeats": HEAD + "".join(f"repeat 1 as a{i} {{}} " for i in range(5_000)) + "}",
    "many operands": HEAD + "y = silu(" + ",".join(["x"] * 50_000) + ") }",
    "many plan lines": GOOD + " placement { " + "x: D over tp " * 20_000 + "}",
    "many commas": HEAD + "," * 400_000,
    "a long line of words": HEAD + "a " * 200_000,
    "a long string": 'design "' + "a" * 400_000 + '" program { }',
    "an open string": 'design "' + "a" * 400_000,
    "a null byte": GOOD.replace("silu", "si\0lu"),
    "a right-to-left override": GOOD + " # \u202e evil",
    "a zero-width space": GOOD.replace("silu", "si\u200blu"),
    "a confusable": GOOD.replace("silu", "s\u0456lu"),
    "a foreign digit": GOOD.replace("D=8", "D=\u0668"),
    "half a surrogate": GOOD.replace('"d"', '"\ud800"'),
    "an escaped half surrogate": GOOD.replace('"d"', '"\\ud800"'),
    "a bad escape": GOOD.replace('"d"', '"\\x41"'),
    "an undefined name late": HEAD + " ".join(f"y{i} = silu(x)" for i in range(4_998)) + " z = silu(q) }",
    "the same name, wrong at last": HEAD + "y = silu(x) " * 4_990 + " y = silu(q) }",
    "only spaces": " \n" * 200_000,
    "only comments": "# \n" * 150_000,
    "nothing": "",
}


@pytest.fixture(autouse=True, scope="module")
def _grammar() -> None:
    parse(GOOD)


def complaint(text: str) -> str:
    """What is said of a text; `line ` for one that is good."""
    try:
        parse(text)
    except RoofLangError as error:
        return str(error)
    return "line "


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused_within_a_second(name: str) -> None:
    start = time.process_time()
    with pytest.raises(RoofLangError) as caught:
        parse(HOSTILE[name])
    assert time.process_time() - start < 1.0
    assert len(str(caught.value)) < 600
    assert "line " in str(caught.value)


@pytest.mark.parametrize(
    "name", ["many brackets", "many sums", "many names", "many statements", "a long line of words"]
)
def test_hostile_texts_cost_little_memory(name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(RoofLangError):
            parse(HOSTILE[name])
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_design_or_an_error(text: str) -> None:
    for candidate in (text, HEAD + text, f"{GOOD} placement {{ {text}"):
        assert complaint(candidate).startswith("line ")


@given(
    st.lists(
        st.sampled_from([*GOOD.split(), "(", ")", "{", "}", ",", "->", "=", ":", "1", "repeat", "over", "on"])
    )
)
@settings(max_examples=300, deadline=None)
def test_any_words_are_a_design_or_an_error(words: list[str]) -> None:
    for candidate in (" ".join(words), HEAD + " ".join(words) + "}"):
        assert complaint(candidate).startswith("line ")


def test_largest_designs_pass_every_form() -> None:
    text = HEAD + " ".join(f"y{i} = silu(x)" for i in range(MAX_STATEMENTS - 1)) + " }"
    design = parse(text)
    assert parse(print_design(design)) == design
    assert from_json(to_json(design)) == design
    assert len(design_hash(design)) == 64


def test_files_must_be_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.roof"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert parse_file(path) == parse(GOOD)
    path.write_bytes(GOOD.encode() + b"\n# \xff")
    with pytest.raises(
        RoofLangSyntaxError, match="line 2, column 3: a text must be UTF-8, but got the byte 0xFF"
    ):
        parse_file(path)
    path.write_bytes(b" " * (MAX_TEXT_BYTES + 1))
    with pytest.raises(RoofLangSyntaxError, match="must have at most"):
        parse_file(path)


def test_json_has_the_same_limits() -> None:
    good = to_json(parse(GOOD))
    deep: dict[str, object] = {"section": "a", "body": []}
    for _ in range(500):
        deep = {"section": "a", "body": [deep]}
    op = good["program"]["body"][1]
    bad: list[dict[str, object]] = [
        {"body": [deep]},
        {"body": [op] * (MAX_STATEMENTS + 1)},
        {"dims": [["D", 10**400]]},
        {"dims": [["D", "(" * 1_000_000]]},
        {"dims": [["D", True]]},
        {"dims": [["over", 1]]},
        {"body": [{"weight": "a" * 100, "dtype": "fp8", "dims": []}]},
        {"body": [{"section": "a", "body": [op] * 3000}, {"section": "b", "body": [op] * 3000}]},
    ]
    for part in bad:
        with pytest.raises(DesignError):
            from_json({**good, "program": {**good["program"], **part}})


def test_printing_has_the_same_limits() -> None:
    design = parse(GOOD)
    body = design.program.body
    for _ in range(20):
        body = (Section("a", body),)
    with pytest.raises(DesignError, match="nested"):
        print_design(replace(design, program=replace(design.program, body=body)))
