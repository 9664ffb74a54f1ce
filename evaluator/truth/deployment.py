"""Which devices decode and how they share the work, read from the words of a measurement.

DEP8        data-parallel attention, experts over 8 devices
TEP8        tensor-parallel attention, experts over 8 devices
TP8         everything tensor-parallel
4xDEP8      four such instances
P ... + D ...   prefill and decode on devices of their own; so `decode ..., prefill ...`
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMS = ("dp", "tep", "tp")
"""Data-parallel attention with expert parallelism; tensor-parallel attention with it; tensor parallelism."""

_INSTANCE = re.compile(r"(?:([1-9]\d*)\s*x\s*)?(DEP|TEP|TP|EP|DP)\s*([1-9]\d*)(?:\s+PP\s*([1-9]\d*))?")
_DEVICES = re.compile(r"([1-9]\d*)\s*GPU")
_DECODE = re.compile(r"(?:^|[+;,]\s*)(?:D|decode)\s+(.*?)(?:$|[;,]\s*prefill.*$)")


@dataclass(frozen=True, slots=True)
class Deployment:
    """The decoding devices: `instances` replicas of `size` devices each.

    `form` is None where only their number is known; `isolated` says that prefill runs on devices of its own.
    """

    instances: int
    size: int
    form: str | None = None
    stages: int = 1
    isolated: bool = False

    @property
    def devices(self) -> int:
        return self.instances * self.size


def read_deployment(words: str, devices: int) -> Deployment:
    """The deployment that the words describe, of `devices` in all; what they leave open stays open."""
    decode = _DECODE.search(words)
    isolated = decode is not None or words.startswith(("disagg", "PP prefill"))
    part = decode[1] if decode else words
    given = _DEVICES.search(part) if decode else None
    total = int(given[1]) if given else None
    found = sorted(_INSTANCE.findall(part), key=lambda instance: not instance[0])
    if not found:
        count = total or devices
        return Deployment(1, count, "tp" if count == 1 else None, isolated=isolated)
    copies, kind, width, stages = found[0]
    size, depth = int(width) * int(stages or 1), int(stages or 1)
    form = None if _open(part) else _form(kind, width, part)
    if total is None and (copies or decode is not None or devices <= size):
        return Deployment(int(copies or 1), size, form, depth, isolated)
    total = total or devices
    if total == size or (copies and total == int(copies) * size) or (decode is None and total % size == 0):
        return Deployment(total // size, size, form, depth, isolated)
    # `8GPU EP1 (TP)`: experts are not spread, so all is tensor-parallel, over a known number of devices.
    return Deployment(1, total, "tp" if "(TP)" in part else None, isolated=isolated)


def _open(part: str) -> bool:
    """Whether the words name several deployments at once."""
    return any(word in part for word in ("high conc", "disagg", ".."))


def _form(kind: str, width: str, part: str) -> str | None:
    if kind == "EP":  # `EP144/DP144` and `EP128 TP1` say how attention runs, `EP8` alone does not
        return "dp" if re.search(rf"DP\s*{width}\b|TP\s*1\b", part) else None
    if kind == "TP":
        return "dp" if re.search(r"attention-DP|DP[- ]attention", part) else "tp"
    return "tep" if kind == "TEP" else "dp"
