"""How much a search says about another one: a number from 0 to 1.

The model weighs most, then its family, then the device: any search of the same model counts for more than
one of another model of its family, whatever the rest, and that for more than one of another family.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import db

SAME_FAMILY, OTHER_MODEL = 0.3, 0.1
SAME_DEVICE_FAMILY, OTHER_DEVICE = 0.8, 0.6
UNLIKE = 0.9
"""What remains for each of count, context, caches and ranking where they are as unlike as can be."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What of a problem is compared."""

    model: str
    device: str
    count: int
    context: int
    kv: str
    setting: str
    clock: str

    @classmethod
    def of(cls, search: db.Search) -> Facts:
        """Those of a stored search."""
        return cls.from_json(
            {name: getattr(search, name) for name in ("model", "device", "count", "setting", "clock")}
            | {name: search.scenario.get(name) for name in ("context", "kv") if name in search.scenario}
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Facts:
        """Those of plain JSON; what it lacks is as in a new problem."""
        return cls(
            str(values.get("model", "")), str(values.get("device", "")), int(values.get("count", 1)),
            int(values.get("context", 1)), str(values.get("kv", "served")),
            str(values.get("setting", "achievable")), str(values.get("clock", "overlapped")),
        )  # fmt: skip


def similarity(a: Facts, b: Facts) -> float:
    """1 for equal problems, 0.03 at least."""
    kin = SAME_FAMILY if family(a.model) == family(b.model) else OTHER_MODEL
    found = 1.0 if a.model == b.model else kin
    if a.device != b.device:
        near = _device_family(a.device) == _device_family(b.device) != ""
        found *= SAME_DEVICE_FAMILY if near else OTHER_DEVICE
    found *= _near(a.count, b.count) * _near(a.context, b.context)
    found *= 1.0 if a.kv == b.kv else UNLIKE
    return found * (1.0 if (a.setting, a.clock) == (b.setting, b.clock) else UNLIKE)


def family(model: str) -> str:
    """The letters that a model's name begins with, which publishers share among their models."""
    return re.match(r"[a-zA-Z]*", model)[0].lower()  # type: ignore[index]


def _near(a: int, b: int) -> float:
    """1 for equal numbers, less by the ratio."""
    low, high = sorted((max(a, 1), max(b, 1)))
    return UNLIKE + (1.0 - UNLIKE) * low / high


@lru_cache(maxsize=64)
def _device_family(name: str) -> str:
    from catalogue.devices import load_device
    from catalogue.errors import CatalogueError

    try:
        return load_device(name).family
    except CatalogueError:
        return ""
