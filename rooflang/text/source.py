"""A text being read: its limits, its comments, and messages that point into it."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import Final

from rooflang.errors import RoofLangSyntaxError
from rooflang.limits import (
    MAX_DIGITS,
    MAX_INTEGER,
    MAX_ITEMS,
    MAX_NAME,
    MAX_NESTING,
    MAX_STRING,
    MAX_TEXT_BYTES,
    MAX_TOKENS,
)

# Control, bidirectional and invisible characters, and halves of surrogate pairs.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff\ud800-\udfff]"
)
_LEXEME: Final = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<comment>\#[^\n]*)|(?P<word>[A-Za-z0-9_.]+)'
    r"|(?P<open>[({\[])|(?P<close>[)}\]])|(?P<mark>[=:,+*/<>-])|(?P<other>[^ \t\r\n])"
)
_SHOWN: Final = 100  # characters of a source line that a message shows


class Source:
    """The text with comments blanked (`code`, same offsets). Raises RoofLangSyntaxError beyond the limits."""

    __slots__ = ("_starts", "code", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None
        if len(text) > MAX_TEXT_BYTES:
            raise RoofLangSyntaxError(
                f"a text must have at most {MAX_TEXT_BYTES} bytes, but got {len(text)} characters", 1, 1
            )
        unseen = _UNSEEN.search(text)
        if unseen:
            name = unicodedata.name(unseen[0], "control character")
            raise self.problem(
                f"a text must hold no invisible characters, but got U+{ord(unseen[0]):04X} ({name})",
                unseen.start(),
            )
        size = len(text.encode())
        if size > MAX_TEXT_BYTES:
            raise RoofLangSyntaxError(
                f"a text must have at most {MAX_TEXT_BYTES} bytes, but got {size}", 1, 1
            )
        self.code = self._scan()

    def _scan(self) -> str:
        text, count = self.text, 0
        commas: list[int] = []  # of each open bracket
        pieces: list[str] = []
        kept = 0
        for match in _LEXEME.finditer(text):
            kind = match.lastgroup
            count += 1
            if kind == "word":
                self._check_word(match[0], match.start())
            elif kind == "open":
                commas.append(0 if match[0] != "{" else -MAX_TOKENS)
                if len(commas) > MAX_NESTING:
                    raise self.problem(
                        f"brackets must be nested at most {MAX_NESTING} deep; name the inner parts",
                        match.start(),
                    )
            elif kind == "close":
                if commas:
                    commas.pop()
            elif kind == "mark":
                if commas and match[0] == ",":
                    commas[-1] += 1
                    if commas[-1] >= MAX_ITEMS:
                        raise self.problem(f"brackets must hold at most {MAX_ITEMS} items", match.start())
            elif kind == "comment":
                count -= 1
                pieces += (text[kept : match.start()], " " * len(match[0]))
                kept = match.end()
            elif kind == "string":
                if len(match[0]) - 2 > 2 * MAX_STRING:
                    raise self.problem(f"a string must have at most {MAX_STRING} characters", match.start())
            elif kind == "other":
                raise self._stray(match[0], match.start())
            if count > MAX_TOKENS:
                raise self.problem(f"a text must have at most {MAX_TOKENS} words and marks", match.start())
        return "".join((*pieces, text[kept:]))

    def _check_word(self, word: str, offset: int) -> None:
        if word[0].isdigit():
            if word.isdigit() and (len(word) > MAX_DIGITS or int(word) > MAX_INTEGER):
                raise self.problem(
                    f"a whole number must be at most {MAX_INTEGER:.0e}, but got one of {len(word)} digits",
                    offset,
                )
            if len(word) > MAX_NAME:
                raise self.problem(
                    f"a number must have at most {MAX_DIGITS} digits, but got {len(word)}", offset
                )
        elif len(word) > MAX_NAME and any(len(part) > MAX_NAME for part in word.split(".")):
            raise self.problem(
                f"a name must have at most {MAX_NAME} characters, but got one of {len(word)}", offset
            )

    def _stray(self, character: str, offset: int) -> RoofLangSyntaxError:
        if character == '"':
            return self.problem("a string must end with a double quote on its own line", offset)
        if ord(character) > 127:
            name = unicodedata.name(character, "unnamed")
            return self.problem(
                f"names and marks must be ASCII, but got {character!r} (U+{ord(character):04X} {name}); "
                "other letters may stand in strings and comments",
                offset,
            )
        return self.problem(f"the language has no mark {character!r}", offset)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, from 1."""
        if self._starts is None:
            self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, tabs shown as single spaces."""
        start = self._start(number)
        end = self.text.find("\n", start)
        return _UNSEEN.sub(
            "?", self.text[start : len(self.text) if end < 0 else end].replace("\t", " ").rstrip()
        )

    def _start(self, number: int) -> int:
        return self._starts[number - 1] if self._starts else 0

    def pointer(self, offset: int) -> str:
        """The line at an offset with a caret under it; a long line is cut to what is near."""
        number, column = self.position(offset)
        line = self.line(number)
        if not line:
            return ""
        if len(line) > _SHOWN:
            start = max(0, min(column - 1 - _SHOWN // 2, len(line) - _SHOWN))
            head = "…" if start else ""
            tail = "…" if start + _SHOWN < len(line) else ""
            line, column = f"{head}{line[start : start + _SHOWN]}{tail}", column - start + len(head)
        return f"\n  {line}\n  {' ' * (column - 1)}^"

    def problem(self, message: str, offset: int) -> RoofLangSyntaxError:
        """A RoofLangSyntaxError that points at an offset."""
        number, column = self.position(offset)
        found = RoofLangSyntaxError(message + self.pointer(offset), number, column)
        found.source_line = self.line(number)
        return found
