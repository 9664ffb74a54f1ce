"""Numbers, times and names as people read them; filters of the templates."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from db import utc_now

PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: Any, digits: int = 3) -> str:
    """Three significant digits, thousands with commas: 0.0123, 4.56, 1,235."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    v = float(value)
    if v == 0:
        return "0"
    size = math.floor(math.log10(abs(v)))
    if size >= digits - 1:
        return f"{v:,.0f}"
    return f"{v:.{min(9, digits - 1 - size)}f}"


def count(value: Any) -> str:
    """A whole number with commas."""
    return "–" if value is None else f"{int(value):,}"


def short(value: Any, unit: str = "") -> str:
    """With an SI prefix: 4.5 PFLOP/s."""
    if value is None:
        return "–"
    v = float(value)
    for factor, prefix in PREFIXES:
        if abs(v) >= factor:
            return f"{number(v / factor)} {prefix}{unit}"
    return f"{number(v)} {unit}".rstrip()


def size(value: Any) -> str:
    """Bytes with a decimal prefix."""
    return short(value, "B")


def percent(value: Any, signed: bool = True) -> str:
    """A share: +12.3 %, with a true minus sign."""
    if value is None or not math.isfinite(float(value)):
        return "–"
    v = float(value) * 100
    if abs(v) < 0.05:
        return "0 %"
    text = f"{abs(v):.0f}" if abs(v) >= 100 else f"{abs(v):.1f}"
    return ("−" if v < 0 else "+" if signed else "") + text + " %"


def seconds(value: Any) -> str:
    """A time as people say it: 12.3 µs, 4.56 ms, 7.8 s, 3 min 20 s, 2 h 5 min."""
    if value is None:
        return "–"
    v = float(value)
    if v == 0:
        return "0 s"
    if v < 1e-3:
        return f"{number(v * 1e6)} µs"
    if v < 1:
        return f"{number(v * 1e3)} ms"
    if v < 60:
        return f"{number(v, 2)} s"
    if v < 3600:
        return f"{int(v // 60)} min {int(v % 60)} s"
    if v < 86_400:
        return f"{int(v // 3600)} h {int(v % 3600 // 60)} min"
    return f"{int(v // 86_400)} d {int(v % 86_400 // 3600)} h"


def moment(value: Any) -> datetime | None:
    """A time from a record or its JSON."""
    if value is None or value == "":
        return None
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def iso(value: Any) -> str:
    """For the attribute `datetime`, in UTC."""
    found = moment(value)
    return "" if found is None else found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp(value: Any) -> str:
    """The minute in UTC; a module turns it into local time where scripts run."""
    found = moment(value)
    return "–" if found is None else found.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def ago(value: Any) -> str:
    """How long before now."""
    found = moment(value)
    if found is None:
        return "–"
    passed = (utc_now() - found).total_seconds()
    if passed < 0:
        return f"in {_rough(-passed)}"
    return "just now" if passed < 5 else f"{_rough(passed)} ago"


def _rough(v: float) -> str:
    for factor, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if v >= factor:
            return f"{int(v // factor)} {unit}"
    return f"{int(v)} s"


def sizes(configuration: Any) -> str:
    """`tp 8, replicas 2`: what is above its least value."""
    if not configuration:
        return ""
    named = {"overlap": "transfers overlap", "microbatches": "micro-batches"}
    parts = []
    for name, value in configuration.items():
        if name == "overlap":
            parts += [named[name]] if value else []
        elif value > (0 if name in ("drafted", "redundant") else 1):
            parts.append(f"{named.get(name, name)} {value:,}")
    return ", ".join(parts) or "one device"


def chosen(text: str) -> str:
    """Sizes as other parts write them, `tp=8 replicas=2`, in the words of `sizes`."""
    pairs = (part.split("=") for part in text.split())
    try:
        return sizes({name: int(value) for name, value in pairs})
    except ValueError:
        return text


def plain(summary: str, model: str = "") -> str:
    """A summary without the model's name before it."""
    return summary.removeprefix(f"{model}: ") if model else summary


FILTERS = {
    "number": number, "count": count, "short": short, "size": size, "percent": percent, "seconds": seconds,
    "iso": iso, "stamp": stamp, "ago": ago, "sizes": sizes, "chosen": chosen, "plain": plain,
}  # fmt: skip
