"""Results of comparisons, kept in the process and, if asked, in a store of strings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from dataclasses import replace
from typing import Protocol

from mutations.verify.verdict import Reason
from rooflang.lowered import Unit, bare

VERSION = "2"  # of the meaning of a stored result
_MOST = 20_000


class Cache(Protocol):
    """A store of strings by key, shared between processes."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str) -> None: ...


class Results:
    """Comparisons by the content of both units and by `context`: the seed, the sizes of dims, the meshes.

    What a unit computes stands for it, wherever it stands and however it is fused.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[Unit, Unit, Hashable], tuple[str, tuple[Reason, ...]]] = {}

    def get(self, a: Unit, b: Unit, context: Hashable, outside: Cache | None) -> tuple[Reason, ...] | None:
        """The reasons found before, under this unit's path, or None."""
        found = self._found.get((bare(a), bare(b), context))
        if found is not None:
            return _moved(found[1], found[0], b.path)
        text = outside.get(_key(a, b, context)) if outside is not None else None
        if text is None:
            return None
        reasons = tuple(Reason(*parts) for parts in json.loads(text))
        self._keep(a, b, context, reasons)
        return reasons

    def put(
        self, a: Unit, b: Unit, context: Hashable, reasons: tuple[Reason, ...], outside: Cache | None
    ) -> None:
        """Remember a comparison."""
        self._keep(a, b, context, reasons)
        if outside is not None:
            outside.put(_key(a, b, context), json.dumps([[r.code, r.where, r.message] for r in reasons]))

    def _keep(self, a: Unit, b: Unit, context: Hashable, reasons: tuple[Reason, ...]) -> None:
        if len(self._found) > _MOST:
            self._found.clear()
        self._found[bare(a), bare(b), context] = (b.path, reasons)


def _moved(reasons: tuple[Reason, ...], old: str, new: str) -> tuple[Reason, ...]:
    if old == new:
        return reasons
    return tuple(
        replace(r, where=new + r.where.removeprefix(old)) if r.where.startswith(old) else r for r in reasons
    )


def _key(a: Unit, b: Unit, context: Hashable) -> str:
    return hashlib.sha256(repr((VERSION, a, b, context)).encode()).hexdigest()
