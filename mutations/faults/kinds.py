"""All kinds of fault by name."""

from __future__ import annotations

from mutations.faults import attribute, cache, choice, collective, operand, order, recurrent, storage, whole
from mutations.faults.fault import Fault, WholeFault

FAULTS: tuple[Fault, ...] = (
    *collective.FAULTS,
    *order.FAULTS,
    *operand.FAULTS,
    *attribute.FAULTS,
    *cache.FAULTS,
    *choice.FAULTS,
    *recurrent.FAULTS,
    *storage.FAULTS,
)
WHOLE: tuple[WholeFault, ...] = whole.FAULTS
BY_NAME = {f.name: f for f in FAULTS}
NAMES = frozenset((*BY_NAME, *(f.name for f in WHOLE)))
