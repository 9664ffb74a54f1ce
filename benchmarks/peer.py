"""DeepSeek-V4 decode peaks under the simplifications of another public evaluator, and what each is worth.

That evaluator publishes peaks for 64 GB300 with experts and sequences over all devices. It prices kernel by
kernel and hides transfers behind arithmetic, as here; it leaves out hyper-connections, compressor and indexer
projections, cache appends and top-k, multiplies BF16 or FP8 by FP4 at the FP4 peak, and reads the whole
embedding table every step. Starting from our own serial clock the simplifications are applied one by one.

Run: python -m benchmarks.peer
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from catalogue.devices import Device, load_device
from catalogue.models import load_model
from evaluator.evaluate import evaluate
from evaluator.report import Row, rows
from evaluator.scenario import Scenario
from mutations.start import starting_designs
from rooflang.design import Design

DEVICES = 64


@dataclass(frozen=True)
class Peak:
    """A published peak: tokens per second and device, at the largest power of two of sequences that fits."""

    model: str
    context: int
    published: float


PEAKS = (
    Peak("deepseek-v4-pro", 8192, 43_621),
    Peak("deepseek-v4-pro", 65_536, 33_730),
    Peak("deepseek-v4-pro", 262_144, 13_359),
    Peak("deepseek-v4-pro", 1_048_576, 3_830),
    Peak("deepseek-v4-flash", 8192, 128_487),
    Peak("deepseek-v4-flash", 65_536, 90_989),
    Peak("deepseek-v4-flash", 262_144, 41_024),
    Peak("deepseek-v4-flash", 1_048_576, 12_149),
)

# Results of the kernels that the other evaluator does not have, by part of the model.
_HYPER = ("scaled", "pre_", "post_", "comb_", "kept", "spread", "mixed")
_COMPRESSED = ("c_", "i_kv", "i_gate", "i_raw", "i_score", "i_pooled", "i_row", "i_q", "i_w", "kv_n", "win+")


def structure(model: str) -> Design:
    """Data-parallel attention and expert parallelism over the same devices."""
    designs = starting_designs(load_model(model))
    return next(d for d in designs if d.name == f"{model}: DP attention + EP")


def kernels(design: Design, device: Device, context: int, batch: float) -> tuple[tuple[Row, ...], bool]:
    """The kernels of one step, and whether caches that grow with the context fit beside the weights."""
    e = evaluate(
        design, {"main": device}, Scenario(context, routing="balanced"), batch,
        axes={"dp": float(DEVICES), "tp": 1.0}, microbatches=1.0, setting="physical",
    )  # fmt: skip
    m = e.memory["main"]
    return rows(e), float(m.weights) + float(m.kv) <= device.memory_bytes


def largest(design: Design, device: Device, context: int) -> float:
    """The largest power of two of sequences per device that fits, over all devices."""
    each = 1.0
    while kernels(design, device, context, 2 * each * DEVICES)[1]:
        each *= 2
    return each * DEVICES


def seconds(table: tuple[Row, ...], keep: Callable[[Row], bool]) -> float:
    return sum(row.seconds for row in table if keep(row))


def _is(row: Row, prefixes: tuple[str, ...]) -> bool:
    return row.engine == "compute" and row.name.startswith(prefixes)


def simplified(peak: Peak, device: Device) -> tuple[float, list[tuple[str, float]]]:
    """(sequences, [(what is left in, seconds of a step)]) from our serial clock to theirs, step by step."""
    design = structure(peak.model)
    batch = largest(design, device, peak.context)
    ours, _ = kernels(design, device, peak.context, batch)
    fp4 = device.flops_per_second["fp4"]
    wide, _ = kernels(
        design,
        replace(device, flops_per_second={**device.flops_per_second, "fp8": fp4, "bf16": fp4}),
        peak.context,
        batch,
    )
    sizes = design.program.sizes
    table = int(sizes["V"].constant or 0) * int(sizes["D"].constant or 0) * 2
    total = seconds(ours, lambda row: True)
    steps = [("ours, nothing overlaps", total)]
    worth = (
        ("transfers hidden", -seconds(ours, lambda row: row.engine == "link")),
        ("no hyper-connections", -seconds(ours, lambda row: _is(row, _HYPER))),
        ("no compressor, indexer, appends", -seconds(ours, lambda row: _is(row, _COMPRESSED))),
        ("no top-k", -seconds(ours, lambda row: _is(row, ("picks",)))),
        (
            "experts at the FP4 peak",
            seconds(wide, lambda row: row.section.endswith("experts") and row.engine == "compute")
            - seconds(ours, lambda row: row.section.endswith("experts") and row.engine == "compute"),
        ),
        ("whole embedding table read", table / (device.memory_bytes_per_second or 1.0)),
    )
    for what, change in worth:
        total += change
        steps.append((what, total))
    return batch, steps


def main() -> None:
    device = load_device("gb300")
    for model in dict.fromkeys(peak.model for peak in PEAKS):
        peaks = [peak for peak in PEAKS if peak.model == model]
        found = [simplified(peak, device) for peak in peaks]
        _line(f"{model}, {DEVICES} x {device.name}, context", [f"{p.context:,}" for p in peaks])
        _line("sequences", [f"{batch:,.0f}" for batch, _ in found])
        for number, (what, _) in enumerate(found[0][1]):
            before = [steps[number - 1][1] if number else 0.0 for _, steps in found]
            change = [steps[number][1] - b for (_, steps), b in zip(found, before, strict=True)]
            sign = "+" if number else ""
            _line(f"{what}, ms", [f"{1e3 * c:{sign}.2f}" for c in change])
        reached = [batch / DEVICES / steps[-1][1] for batch, steps in found]
        _line("so simplified, tokens/s/GPU", [f"{r:,.0f}" for r in reached])
        _line("published there", [f"{p.published:,.0f}" for p in peaks])
        _line("ratio", [f"{r / p.published:.2f}" for r, p in zip(reached, peaks, strict=True)])
        print()


def _line(name: str, cells: list[str]) -> None:
    print(f"{name:48}" + "".join(f"{cell:>12}" for cell in cells))


if __name__ == "__main__":
    main()
