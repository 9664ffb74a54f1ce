"""The error tree of the language.

RoofLangError
├── RoofLangSyntaxError      the text is not RoofLang (line, column, expectation, suggestion)
├── DesignError        the text is RoofLang, but not a well-formed design
└── LoweringError      the design is well-formed, but its placement cannot be realised
"""

from __future__ import annotations


class RoofLangError(ValueError):
    """A user's mistake; the message says what must hold, what it got and what to do."""


class RoofLangSyntaxError(RoofLangError):
    """Text that does not parse. `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int, source_line: str = "") -> None:
        self.line = line
        self.column = column
        self.source_line = source_line
        pointer = f"\n  {source_line}\n  {' ' * (column - 1)}^" if source_line else ""
        super().__init__(f"line {line}, column {column}: {message}{pointer}")


class DesignError(RoofLangError):
    """A design that breaks a rule of the language; `where` names the section and the value."""

    def __init__(self, message: str, where: str = "") -> None:
        self.where = where
        self.message = message
        super().__init__(f"{where}: {message}" if where else message)

    def inside(self, path: str) -> DesignError:
        """The same error, seen from outside the section at `path`."""
        where = f"{path}.{self.where}" if path and self.where else path or self.where
        return type(self)(self.message, where)


class LoweringError(DesignError):
    """A placement that cannot be realised on its meshes."""


def nearest(name: str, known: list[str]) -> str:
    """A suffix such as ` (did you mean 'tp'?)`, or the known names when none is near."""
    import difflib

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f" (did you mean {close[0]!r}?)"
    shown = ", ".join(sorted(known)[:12])
    return f" (known: {shown}{', …' if len(known) > 12 else ''})" if known else ""
