"""Where each statement of a program stands in its text."""

from __future__ import annotations

from rooflang.design import Statement
from rooflang.limits import MAX_STATEMENTS
from rooflang.text.source import Source


class Positions:
    """Offsets of statements (by identity) and of outputs (by name). Bounds the number of statements."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.outputs: dict[str, int] = {}
        self._offsets: dict[int, int] = {}

    def keep(self, statement: Statement, offset: int) -> Statement:
        """Remember a statement's offset and return it. Raises RoofLangSyntaxError at one too many."""
        self._offsets[id(statement)] = offset
        if len(self._offsets) > MAX_STATEMENTS:
            raise self.source.problem(f"a program must have at most {MAX_STATEMENTS} statements", offset)
        return statement

    def of(self, statement: Statement) -> int:
        return self._offsets.get(id(statement), 0)

    def after(self, offset: int) -> int:
        """Where the next statement starts, or the end of the text."""
        return min((o for o in self._offsets.values() if o > offset), default=len(self.source.code))
