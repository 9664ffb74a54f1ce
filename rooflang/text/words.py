"""Single words of a text: names, numbers, strings and formats, each checked where it stands."""

from __future__ import annotations

import json
from typing import NoReturn

from lark import Token

from rooflang.design import Attribute
from rooflang.dtype import format_names
from rooflang.errors import nearest
from rooflang.form import integer_problem, name_problem, path_problem, string_problem
from rooflang.limits import MAX_DIGITS, MAX_EXPONENT
from rooflang.text.source import Source
from rooflang.text.tree import offset_of


class Words:
    """Reads tokens. Every method raises RoofLangSyntaxError at the token that is not allowed."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def fail(self, message: str, token: Token) -> NoReturn:
        raise self.source.problem(message, offset_of(token))

    def require(self, message: str | None, token: Token) -> None:
        if message is not None:
            self.fail(message, token)

    def name(self, token: Token) -> str:
        name = str(token)
        self.require(name_problem(name), token)
        return name

    def path(self, token: Token) -> str:
        self.require(path_problem(str(token)), token)
        return str(token)

    def format(self, token: Token) -> str:
        name = str(token)
        if not name.startswith("index<") and name not in format_names():
            self.fail(
                f"a storage format must be known, but got {name!r}"
                f"{nearest(name, [*format_names(), 'index<V>'])}",
                token,
            )
        return name

    def integer(self, what: str, token: Token) -> int:
        self.require(integer_problem(what, int(token)), token)
        return int(token)

    def string(self, token: Token) -> str:
        try:
            text = str(json.loads(str(token)))
        except ValueError:
            self.fail('a string must use only the escapes of JSON, such as \\" and \\n', token)
        self.require(string_problem(text), token)
        return text

    def literal(self, token: Token) -> Attribute:
        if token.type == "STRING":
            return self.string(token)
        if token.type == "BOOL":
            return str(token) == "true"
        mantissa, _, exponent = token.lower().partition("e")
        if len(mantissa) > MAX_DIGITS:
            self.fail(f"a number must have at most {MAX_DIGITS} digits, but got {len(mantissa)}", token)
        if exponent and (len(exponent) > 4 or abs(int(exponent)) > MAX_EXPONENT):
            self.fail(f"a number's exponent must be at most {MAX_EXPONENT}", token)
        return float(token) if exponent or "." in mantissa else int(token)
