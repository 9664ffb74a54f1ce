"""What the grammar expects at a place, in words, and what a misspelled word may have meant."""

from __future__ import annotations

import difflib
import re
from typing import Final

from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from rooflang.errors import RoofLangSyntaxError
from rooflang.limits import RESERVED
from rooflang.text.source import Source

_WORDS: Final = {
    "DESIGN": "'design'",
    "PROGRAM": "'program'",
    "SYSTEM": "'system'",
    "PLACEMENT": "'placement'",
    "SCHEDULE": "'schedule'",
    "DIMS": "'dims'",
    "WINDOW": "'window'",
    "EVERY": "'every'",
    "LAST": "'last'",
    "AS": "'as'",
    "OVER": "'over'",
    "ON": "'on'",
    "IN": "'in'",
    "LINKS": "'links'",
    "DRAFT": "'draft'",
    "TIMES": "'x'",
    "POOL": "'pool'",
    "MESH": "'mesh'",
    "PIPELINE": "'pipeline'",
    "MICROBATCHES": "'microbatches'",
    "OVERLAP": "'overlap'",
    "STREAM": "'stream'",
    "PREFETCH": "'prefetch'",
    "CASCADE": "'cascade'",
    "FUSE": "'fuse'",
    "OUTPUT": "'output'",
    "AXIS": "an axis such as tp:8",
    "TARGET": "a section or value followed by ':', 'on' or 'in'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "INT": "a whole number",
    "NUMBER": "a number",
    "STRING": "a string in double quotes",
    "BOOL": "'true' or 'false'",
    "FORMAT": "a storage format",
    "PATH": "the name of a section",
    "DEVICE": "the name of a device",
    "NAME": "a name",
    "FUNCTION": "a function of sizes",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "COLON": "':'",
    "EQUAL": "'='",
    "__ANON_0": "'->'",
    "$END": "the end of the text",
}
_DECLARATIONS: Final = frozenset({"WEIGHT", "STATE", "INPUT", "SECTION", "REPEAT"})
_KEYWORDS: Final = {
    "statement": ("weight", "state", "input", "section", "repeat", "output", "dims"),
    "part": ("design", "program", "system", "placement", "schedule"),
    "placement": ("mesh", "pipeline"),
    "schedule": ("microbatches", "overlap", "stream", "prefetch", "cascade", "fuse"),
    "system": ("pool",),
}
# A list of what may come next gets long where an expression may go on; then only its ends are said.
_MANY: Final = 4
_CONTINUING: Final = frozenset({"'('", "'['", "'='", "':'", "'+'", "'-'", "'*'", "'/'", "'->'"})
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_BEFORE: Final = re.compile(r"([A-Za-z_]\w*)\s*\Z")


def expected_in_words(terminals: set[str]) -> str:
    """`a statement, '+' or '}'`: terminals as a reader would say them."""
    rest = set(terminals)
    words: list[str] = []
    if rest >= _DECLARATIONS:
        words.append("a statement" if "NAME" in rest else "a declaration")
        rest -= {*_DECLARATIONS, "NAME", "OUTPUT", "DIMS"}
    if {"INT", "FUNCTION"} <= rest:
        words.append("a size")
        rest -= {"INT", "FUNCTION", "NAME", "MINUS", "LPAR"}
    words += sorted((_WORDS.get(t, t.lower()) for t in rest), key=lambda w: (w.startswith("'"), w))
    if len(words) > _MANY:
        words = [w for w in words if w not in _CONTINUING] or words
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + " or " + words[-1]


def syntax_problem(error: UnexpectedInput, source: Source) -> RoofLangSyntaxError:
    """The grammar's complaint as one sentence that points into the text."""
    expected: set[str] = set()
    offset = len(source.code.rstrip())
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
        if error.token.type != "$END":
            offset = error.token.start_pos or 0
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
        offset = error.pos_in_stream or 0
    elif isinstance(error, UnexpectedEOF):
        expected = set(error.expected)
    got = _found(source.code, offset)
    message = f"expected {expected_in_words(expected)}, but got {got}{_hint(source.code, offset, expected)}"
    return source.problem(message, min(offset, max(len(source.text) - 1, 0)) if source.text else 0)


def _found(code: str, offset: int) -> str:
    word = _WORD.match(code, offset)
    if word:
        return repr(word[0])
    rest = code[offset : offset + 1]
    if not rest.strip():
        return "the end of the text"
    number = re.compile(r"[0-9][0-9.]*").match(code, offset)
    return repr(number[0] if number else "->" if code.startswith("->", offset) else rest)


def _hint(code: str, offset: int, expected: set[str]) -> str:
    """A suggestion: the word here, or the word just before, may be a misspelled keyword."""
    here = _WORD.match(code, offset)
    word = here[0] if here else ""
    if word in RESERVED:
        return f" ({word!r} is a reserved word)"
    before = _BEFORE.search(code, max(0, offset - 80), offset)
    known = _known(expected)
    for candidate in (word, before[1] if before and {"EQUAL", "COLON"} & expected else ""):
        close = difflib.get_close_matches(candidate, known, n=1, cutoff=0.7) if candidate else []
        if close and close[0] != candidate:
            return f" (did you mean {close[0]!r}?)"
    if "SLASH" in expected and code[offset : offset + 1] in ("(", ":"):
        return " (an assignment may not follow 'dims': declare its operands first)"
    if "TARGET" in expected and here and "MESH" in expected:
        return " (write 'section: dim over axis' or 'section on pool')"
    return ""


def _known(expected: set[str]) -> list[str]:
    known = [w.strip("'") for t, w in _WORDS.items() if t in expected and t.isalpha() and w.startswith("'")]
    for terminals, group in (
        ({*_DECLARATIONS, "EQUAL", "OUTPUT"}, "statement"),
        ({"MESH"}, "placement"),
        ({"FUSE"}, "schedule"),
        ({"POOL"}, "system"),
        ({"SYSTEM", "PLACEMENT", "SCHEDULE"}, "part"),
    ):
        if terminals & expected:
            known += _KEYWORDS[group]
    return [w for w in known if w.isalpha()]
