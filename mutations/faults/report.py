"""Tables of what was injected: per kind of fault and per rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from mutations.faults.gate import Injected
from mutations.faults.judge import CAUGHT, EQUIVALENT, REAL

_COLUMNS = ("injected", "caught", "static", "executed", "work", "equivalent", "escaped")


def table(title: str, key: Callable[[Injected], str], found: Sequence[Injected]) -> str:
    """One line per key: how many were injected, refused (and by which layer), harmless, or not noticed."""
    names = list(dict.fromkeys(map(key, found)))
    width = max(map(len, (*names, title)), default=0)
    lines = [f"{title:{width}}" + "".join(f"{c:>11}" for c in _COLUMNS)]
    for name in (*names, None):
        mine = [i for i in found if name is None or key(i) == name]
        lines.append(f"{name or 'all':{width}}" + "".join(f"{n:>11}" for n in _counts(mine)))
    return "\n".join(lines)


def _counts(found: Iterable[Injected]) -> tuple[int, ...]:
    outcomes: Counter[str] = Counter()
    layers: Counter[str] = Counter()
    for i in found:
        outcomes[i.judgement.outcome] += 1
        layers[i.judgement.layer] += 1
    every = sum(outcomes.values())
    kinds = (layers["static"], layers["executed"], layers["work"])
    return (every, outcomes[CAUGHT], *kinds, outcomes[EQUIVALENT], outcomes[REAL])
