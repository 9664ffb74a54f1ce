"""All representative models on six devices at four contexts, over all conventional baselines.

Run: python -m benchmarks.compare [--write]

With --write the tables and the picture go to docs/comparison.md and docs/comparison.svg.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from agent.comparison import Asked, Comparison, Ratio, compare, ratios
from agent.comparison.representative import REPRESENTATIVE
from seis.cli.compare_picture import write_picture
from seis.cli.compare_tables import context_name
from seis.cli.units import number

DEVICES = ("b300-sxm", "gb300-nvl72", "b200-sxm", "h200-sxm", "h100-sxm", "mi355x")
CONTEXTS = (8192, 65536, 262144, 1048576)
REFERENCES = ("deepseek-v4-pro", "deepseek-v4-flash")
CACHES = ("deepseek-v4-pro+deepseek-v3.2", "deepseek-v4-pro+qwen3-235b-a22b")
CLAIMED = (("deepseek-v4-pro", "glm-5.3", 65536, 3.5), ("deepseek-v4-flash", "kimi-k3", 1048576, 39.5))
DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    began = time.perf_counter()
    found = compare(Asked(REPRESENTATIVE, DEVICES, CONTEXTS), workers=2)
    wall = time.perf_counter() - began
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(u.ru_utime + u.ru_stime for u in used)
    cases = len(REPRESENTATIVE) * len(DEVICES) * len(CONTEXTS)
    print(
        f"{len(REPRESENTATIVE)} models x {len(DEVICES)} devices x {len(CONTEXTS)} contexts = {cases} cases, "
        f"{found.points:,} points: {wall:.0f} s on {os.cpu_count()} cores, {cpu:.0f} CPU-seconds, "
        f"largest process {max(u.ru_maxrss for u in used) / 1e3:.0f} MB"
    )
    caches = compare(Asked((REFERENCES[0], *CACHES), DEVICES, CONTEXTS), workers=2)
    text = page(found, caches)
    if write:
        (DOCS / "comparison.md").write_text(text, encoding="utf-8")
        write_picture(DOCS / "comparison.svg", found, REFERENCES)
    else:
        print(text)


def page(found: Comparison, caches: Comparison) -> str:
    """The page of documentation."""
    pairs = ratios(found, REFERENCES)
    parts = [
        "# Models compared",
        "Written by `python -m benchmarks.compare --write`; the same tables for any choice of models, "
        "devices and contexts come from `seis compare`. Every figure is the peak decode throughput, "
        "tokens/s/GPU, of the best conventional design on 8, 16, 32 or 64 devices: published rates, "
        "`overlapped` clock, caches as served, and the drafting of the shipped layers where it helps. An "
        "asterisk marks a context beyond the model's published maximum, a dash what fits on no such cluster.",
        "![Peak decode throughput by context](comparison.svg)",
    ]
    for device in DEVICES:
        rows = [
            [model, *(_cell(found, model, device, c) for c in CONTEXTS)]
            for model in dict.fromkeys(r.model for r in found.results)
        ]
        parts += [f"## {device}", _table(["model", *map(context_name, CONTEXTS)], rows)]
    parts += ["## How many times the peak of other models DeepSeek-V4 reaches", _claims(pairs)]
    for reference in REFERENCES:
        parts += [
            f"{reference}, over the six devices:",
            _spans([p for p in pairs if p.reference == reference]),
        ]
    mine = ratios(caches, REFERENCES[:1])
    parts += [
        "## What the compact cache is worth",
        "DeepSeek-V4-Pro with the attention of another model and all else equal (`MODEL+OTHER`, a model that "
        "nobody trained): how many times its peak the real one reaches.",
        _spans(mine),
    ]
    return "\n\n".join(parts) + "\n"


def _claims(pairs: Sequence[Ratio]) -> str:
    rows = []
    for reference, other, context, claimed in CLAIMED:
        times = [p for p in pairs if (p.reference, p.other, p.context) == (reference, other, context)]
        near = min(times, key=lambda p: abs(p.times - claimed))
        here, where = _range([p.times for p in times]), f"{number(near.times)} on {near.device}"
        rows.append([f"{reference} / {other}", context_name(context), f"{claimed:g}", here, where])
    intro = (
        "The published range of 3.5 to 39.5 times is that of two pairs (docs of the public RoofLang). "
        "The same pairs here:"
    )
    return f"{intro}\n\n{_table(['pair', 'context', 'published', 'here, over devices', 'nearest'], rows)}"


def _spans(pairs: Sequence[Ratio]) -> str:
    rows = []
    for other in dict.fromkeys(p.other for p in sorted(pairs, key=lambda p: p.other)):
        rows.append(
            [
                other,
                *(_range([p.times for p in pairs if (p.other, p.context) == (other, c)]) for c in CONTEXTS),
            ]
        )
    return _table(["times the peak of", *map(context_name, CONTEXTS)], rows)


def _range(times: Sequence[float]) -> str:
    if not times:
        return "–"
    low, high = number(min(times)), number(max(times))
    return low if low == high else f"{low} – {high}"


def _cell(found: Comparison, model: str, device: str, context: int) -> str:
    result = found.at(model, device, context)
    if result.peak is None:
        return "–"
    return number(result.peak.tokens_per_second_per_gpu) + ("*" if result.beyond else "")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


if __name__ == "__main__":
    main()
