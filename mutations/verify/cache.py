"""Results of comparisons, kept in the process and, if asked, in a store of strings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from typing import Protocol

from mutations.verify.verdict import Reason
from rooflang.lowered import Unit

VERSION = "1"  # of the meaning of a stored result


class Cache(Protocol):
    """A store of strings by key, shared between processes."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str) -> None: ...


class Results:
    """Comparisons by the identity of both units (lowering keeps one object per unit) and by `context`:
    the seed, the sizes of dims, the meshes."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int, Hashable], tuple[Unit, Unit, tuple[Reason, ...]]] = {}

    def get(self, a: Unit, b: Unit, context: Hashable, outside: Cache | None) -> tuple[Reason, ...] | None:
        found = self._found.get((id(a), id(b), context))
        if found is not None:
            return found[2]
        text = outside.get(_key(a, b, context)) if outside is not None else None
        if text is None:
            return None
        reasons = tuple(Reason(*parts) for parts in json.loads(text))
        self._keep(a, b, context, reasons)
        return reasons

    def put(
        self, a: Unit, b: Unit, context: Hashable, reasons: tuple[Reason, ...], outside: Cache | None
    ) -> None:
        self._keep(a, b, context, reasons)
        if outside is not None:
            outside.put(_key(a, b, context), json.dumps([[r.code, r.where, r.message] for r in reasons]))

    def _keep(self, a: Unit, b: Unit, context: Hashable, reasons: tuple[Reason, ...]) -> None:
        if len(self._found) > 20000:
            self._found.clear()
        self._found[id(a), id(b), context] = (a, b, reasons)


def _key(a: Unit, b: Unit, context: Hashable) -> str:
    return hashlib.sha256(repr((VERSION, a, b, context)).encode()).hexdigest()
