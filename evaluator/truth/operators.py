"""Measured kernels, operators and collectives against the least time that a device needs for them.

Memory traffic counts less what fits on the chip, for benchmarks run the same operands again and again;
products count at the peak of the narrowest operand; experts are chosen so that the fewest are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from catalogue.devices import Device
from evaluator.evaluate import Evaluation, evaluate
from evaluator.price import Price
from evaluator.scenario import Scenario
from evaluator.truth import singles
from evaluator.truth.favour import favoured
from evaluator.truth.names import format_of_words
from evaluator.truth.rows import Row, UnplacedError
from rooflang.design import Design
from rooflang.dtype import format_of

_SIZE = re.compile(r"([A-Za-z_]+)\s*=\s*([1-9]\d*)")
_SHORT_SIZE = re.compile(r"\b([A-Za-z]+)(?:/group)?\s?([1-9]\d*)\b")
_COLLECTIVES = {
    "all_reduce": "all_reduce", "custom_all_reduce": "all_reduce", "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter", "alltoall": "alltoall", "all_to_all": "alltoall",
}  # fmt: skip
_EXCHANGES = (*_COLLECTIVES, "moe_all2all")  # their formats name a library or a mode


def operator_seconds(row: Row, device: Device) -> float:
    """Least seconds of an `operator` row. Raises UnplacedError."""
    name = row.text("operator").partition("(")[0]
    words = f"{row.text('operator')} {row.text('format')}".lower()
    sizes = {key.lower(): int(value) for key, value in _SIZE.findall(row.text("shape"))}
    written = row.text("format")
    form = format_of_words(written.partition("kv=")[0]) or "bf16"
    if written and not name.startswith(_EXCHANGES) and format_of_words(written) is None:
        raise UnplacedError(
            f"the format {written} of {name} is not known, so neither are its rate and its bytes"
        )
    kv = format_of_words(written.partition("kv=")[2]) or form
    try:
        return _operator(name, sizes, form, kv, device, words)
    except KeyError as missing:
        raise UnplacedError(f"the shape of {name} does not say {missing}, so its work is not known") from None


def _operator(name: str, s: Mapping[str, int], form: str, kv: str, device: Device, words: str) -> float:
    if name in _COLLECTIVES:
        design = singles.collective(_COLLECTIVES[name], s["elements"], s["gpus"])
        return _links(design, device, 1.0)
    match name:
        case "gemm":
            return _compute(singles.gemm(s["m"], s["n"], s["k"], form), device, form)
        case "moe_grouped_gemm":
            tp, ep = s.get("moe_tp", 1), s.get("moe_ep", 1)
            matrices = 2 if "nemotron" in words else 3
            design = singles.experts(s["h"], s["i"], s["e"], s["topk"], form, tp, ep, matrices)
            return _compute(design, device, form, float(s["tokens"]))
        case "attention_decode":
            heads = s["kv_heads"]
            design = singles.attention(
                heads, max(1, s["q_heads"] // heads), s["head_dim"], s["head_dim"], 1, kv
            )
            return _compute(design, device, _narrower(form, kv), float(s["b"]), _seen(s, s["kv_len"]))
        case "attention_prefill_causal":
            heads, length = s["kv_heads"], s["seqlen"]
            design = singles.attention(
                heads, max(1, s["q_heads"] // heads), s["head_dim"], s["head_dim"], length, kv
            )
            return _compute(design, device, _narrower(form, kv), float(s["b"]), _seen(s, length // 2))
        case "mla_decode_core":
            design = singles.latent_attention(s["heads"], 512, 64, kv)
            return _compute(design, device, _narrower(form, kv), float(s["b"]), s["kv_len"])
        case "mla_prefill_core":
            design = singles.attention(s["heads"], 1, 192, 128, s["seqlen"], kv)
            return _compute(design, device, _narrower(form, kv), float(s["b"]), s["seqlen"] // 2)
        case "moe_all2all_dispatch" | "moe_all2all_combine":
            row_format = "fp8" if "deepep" in words else "mxfp4"  # others may send values of 4 bits
            return _exchange(device, s["ep"], s["tokens"], s["h"], s["e"], s["topk"], row_format)
    raise UnplacedError(f"the work of {name} is not described by any design of one operator here")


def _seen(sizes: Mapping[str, int], rows: int) -> int:
    """Rows that a query sees: a window cuts them."""
    window = sizes.get("window") or sizes.get("window_size") or rows
    return max(1, min(rows, window))


def kernel_fraction(row: Row, device: Device) -> float:
    """The largest fraction of a limit that a `kernel` row reaches. Raises UnplacedError."""
    name, shape = row.text("kernel"), row.text("shape")
    sizes = {
        key.lower(): int(value)
        for key, value in re.findall(r"\b([A-Za-z]+)(?:/group)?\s?([1-9]\d*)\b", shape)
    }
    latency = row.number("latency_us")
    if "DeepEP" in name:
        return _deep_ep(row, device, latency)
    form = format_of_words(name) or format_of_words(shape)
    found = []
    if "GEMM" in name and latency is not None and {"m", "n", "k"} <= sizes.keys():
        design = singles.gemm(sizes["m"], sizes["n"], sizes["k"], form or "mxfp4", sizes.get("g", 1))
        found.append(_compute(design, device, form or "mxfp4") / (latency * 1e-6))
    rate = row.number("tflops")
    if rate is not None:
        peak = max(favoured(device, format_of(form or "fp8").rate).flops_per_second.values())
        found.append(rate * 1e12 / peak)
    if not found and row.number("gb_per_s") is not None and device.memory_bytes_per_second:
        found.append((row.number("gb_per_s") or 0.0) * 1e9 / device.memory_bytes_per_second)
    if not found:
        raise UnplacedError("the row gives a latency and no sizes from which work would follow")
    return max(found)


def _deep_ep(row: Row, device: Device, latency: float | None) -> float:
    """Expert exchange: by its latency at the sizes of the source, or by its logical bandwidth.

    A logical byte is sent once to each domain of a token, its own among them, so of h domains (h-1)/h cross.
    """
    name, shape, source = row.text("kernel"), row.text("shape"), row.text("source")
    ranks = re.match(r"EP\s*([1-9]\d*)(?:x([1-9]\d*))?", shape)
    if ranks is None:
        raise UnplacedError(
            "the row gives the time of an exchange and neither its ranks nor its message sizes"
        )
    n = int(ranks[1]) * int(ranks[2] or 1)
    domain = int(ranks[1]) if ranks[2] else min(n, device.scale_up_domain or 8)
    sizes = re.search(r"([1-9]\d*) tok/rank, ([1-9]\d*) hidden, top-([1-9]\d*)", source)
    found = []
    if latency is not None and sizes and "low-latency" in name:
        tokens, hidden, picks = (int(v) for v in sizes.groups())
        form = "bf16" if "combine" in name and "BF16 combine" in source else "fp8"
        seconds = _exchange(device, n, tokens, hidden, max(256, n), picks, form)
        found.append(seconds / (latency * 1e-6))
    rate = row.number("gb_per_s")
    if rate is not None and "low-latency" not in name:
        d = favoured(device, "fp8")
        domains, up, far = n // domain, d.scale_up_bytes_per_second, d.scale_out_bytes_per_second
        limit = (far or 0.0) * domains / (domains - 1) if domains > 1 else (up or 0.0) * n / max(1, n - 1)
        found.append(rate * 1e9 / limit)
    if not found:
        raise UnplacedError("the row gives the time of an exchange without the sizes of its messages")
    return max(found)


def _exchange(
    device: Device, ranks: int, tokens: int, hidden: int, count: int, picks: int, form: str
) -> float:
    """Least seconds of one way of an exchange with `tokens` per rank, experts drawn at random."""
    design = singles.exchange(hidden, count, picks, form, ranks)
    return _links(design, device, float(tokens * ranks), "balanced") / 2


def _narrower(a: str, b: str) -> str:
    return a if format_of(a).bits < format_of(b).bits else b


def _compute(design: Design, device: Device, form: str, batch: float = 1.0, context: int = 1) -> float:
    """Seconds of products, or of memory traffic less what the chip holds, whichever is more."""
    e = _evaluate(design, favoured(device, format_of(form).rate), batch, context, "certain")
    memory = float(e.steps.over_kernels("all", lambda p: p.certain)) - e.rates["main"].onchip_seconds
    return max(0.0, memory, _sum(e, "all", "matrix"))


def _links(design: Design, device: Device, batch: float, routing: str = "certain") -> float:
    e = _evaluate(design, favoured(device, "bf16"), batch, 1, routing)
    return max(_sum(e, "link", "scale-up"), _sum(e, "link", "scale-out"))


def _evaluate(design: Design, device: Device, batch: float, context: int, routing: str) -> Evaluation:
    return evaluate(design, {"main": device}, Scenario(context, routing=routing), batch, setting="physical")


def _sum(e: Evaluation, kind: str, resource: str) -> float:
    def of(price: Price) -> float:
        return float(price.resources.get(resource, 0.0))

    return float(e.steps.over_kernels(kind, of))
