"""From text to design.

The text is data: nothing in it is run, and what it may cost is bounded by `limits`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from rooflang.design import Design
from rooflang.errors import DesignError, RoofLangSyntaxError
from rooflang.form import check_form
from rooflang.limits import MAX_TEXT_BYTES
from rooflang.size import Size
from rooflang.text.expectations import syntax_problem
from rooflang.text.locate import located
from rooflang.text.reader import Reader
from rooflang.text.sizes import SizeReader
from rooflang.text.source import Source
from rooflang.typing import type_program


def parse(text: str) -> Design:
    """The design that a text describes.

    Raises RoofLangSyntaxError with line and column when the text is not RoofLang, and LocatedDesignError (a
    DesignError with line and column) when it is, but not a well-typed program.
    """
    source = Source(text)
    reader = Reader(source)
    design = reader.design(_tree(source, "start"))
    try:
        check_form(design)
        type_program(design.program)
    except DesignError as error:
        raise located(error, design.program, reader.positions) from None
    return design


def parse_file(path: str | Path) -> Design:
    """The design in a `.roof` file. Raises RoofLangSyntaxError, LocatedDesignError or OSError."""
    with Path(path).open("rb") as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise RoofLangSyntaxError(
            f"a text must have at most {MAX_TEXT_BYTES} bytes, but the file has more", 1, 1
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise RoofLangSyntaxError(
            f"a text must be UTF-8, but got the byte 0x{data[error.start]:02X}", line, column
        ) from None
    return parse(text)


def parse_size(text: str) -> Size:
    """The size that a text such as `floor(S, 4)` describes. Raises RoofLangSyntaxError."""
    source = Source(text)
    return SizeReader(source).read(_tree(source, "size"), 0)


@cache
def _grammar() -> Lark:
    """Built on first use and kept: building takes longer than parsing a design."""
    text = files("rooflang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, start=["start", "size"], parser="lalr", lexer="contextual", maybe_placeholders=False)


def _tree(source: Source, start: str) -> Tree[Token]:
    try:
        return _grammar().parse(source.code, start=start)
    except UnexpectedInput as error:
        raise syntax_problem(error, source) from None
