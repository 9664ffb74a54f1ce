"""The operating point of a measured service: what ran, on what, how many sequences, and what was measured.

Where a row is silent the reading is favourable to it: the least context, weights as narrow as its precision
allows, as many drafted tokens as engines draft and all of them accepted, any parallelism, no prompt work
where a cache may have spared it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from catalogue.devices import Device
from catalogue.models.caches import Kv
from evaluator.truth.deployment import Deployment, read_deployment
from evaluator.truth.names import device_of, format_of_words, model_of, precision_of
from evaluator.truth.rows import Row, UnplacedError

MOST_DRAFTED = 3
"""Tokens that engines draft per step with a model's own layers, where a row does not say how many."""
LARGEST_DOMAIN = 72
"""Devices of a deployment whose size is not given: those of the largest scale-up domain in use."""
LEAST_CONTEXT = 128
"""Tokens of a context that is not stated."""
SPREAD = 0.9
"""Mean length over the nominal one where lengths are drawn between 0.8 and 1 of it, or how is not said."""


@dataclass(frozen=True, slots=True)
class Point:
    """One measured service.

    `batch` is sequences in decode over all decoding devices, None where not known; `most` at most that many.
    `seconds_per_token` is of one user; `per_device` output tokens per second and device, over the decoding
    devices where `isolated`, else over all. `first_token` is seconds to the first token.
    `drafted` tokens per step may be drafted and `accepted` (at most) tokens per step are emitted.
    """

    id: str
    model: str
    precision: str
    storage: str | None
    kv: Kv
    cache: str | None
    device: Device
    devices: int
    deployment: Deployment
    prompt: float
    output: float
    prompt_known: bool
    batch: float | None
    most: float
    drafted: int
    accepted: float
    drafts_known: bool
    seconds_per_token: float | None
    per_device: float | None
    first_token: float | None
    counted: bool

    @property
    def context(self) -> float:
        """Mean cached tokens per sequence in decode."""
        return max(float(LEAST_CONTEXT), math.floor(self.prompt + self.output / 2))

    @property
    def isolated(self) -> bool:
        return self.deployment.isolated


def serving_point(row: Row, has_drafts: Callable[[str], bool]) -> Point:
    """The operating point of a `serving` row; `has_drafts` says whether a model ships draft layers.

    Raises UnplacedError.
    """
    model, device = _model(row), device_at(row)
    metric = row.text("metric")
    if metric.startswith("SYSTEM") or "DO NOT use" in row.text("notes"):
        raise UnplacedError(
            "the row gives the throughput of a whole system and not the number of its devices"
        )
    spread = 1.0 if "fixed" in row.text("lengths") or "MLPerf" in row.text("lengths") else SPREAD
    prompt, output = row.tokens("input_tokens"), row.tokens("output_tokens")
    kv_length = re.search(r"(?:mean )?KV (?:length )?~?([\d.,]+)(k?)", row.text("lengths"))
    if prompt is None and kv_length:
        prompt = float(kv_length[1].replace(",", "").rstrip(".")) * (1000 if kv_length[2] else 1)
    per_user, per_step = row.number("per_user"), row.number("tpot_ms")
    seconds = _seconds_per_token(per_user, per_step)
    everything, decode = row.number("output_per_device"), row.number("decode_per_device")
    if seconds is None and everything is None and decode is None:
        raise UnplacedError(_nothing_measured(row, metric))
    given = row.number("devices")
    count = int(given) if given else _count(row, seconds, everything)
    deployment = read_deployment(row.text("parallelism"), count)
    isolated = deployment.isolated and decode is not None
    if deployment.isolated and decode is None:
        deployment = Deployment(1, count, None, isolated=False)
    throughput = decode if isolated else everything
    if seconds is None and throughput is None:
        raise UnplacedError("the row gives a decode rate and not which of its devices decode")
    most = row.number("concurrency") or math.inf
    batch = _batch(row, throughput, seconds, deployment if isolated else None, count, most)
    drafted, accepted, known = _drafting(row, has_drafts(model))
    known_prompt = prompt is not None and bool(
        re.search(r"no prefix cache|prefix cache off|random tokens|random, mean", row.text("lengths"))
    )
    weights = row.text("weights")
    return Point(
        row.id, model, precision_of(weights), format_of_words(weights), *_kv(row.text("kv")), device,
        max(count, deployment.devices), deployment, (prompt or 0.0) * spread, (output or 0.0) * spread,
        known_prompt, batch, most, drafted, accepted, known, seconds, throughput,
        _milli(row.number("ttft_ms")) if known_prompt else None, bool(given),
    )  # fmt: skip


def e2e_point(row: Row) -> Point:
    """The operating point of an `e2e` row: concurrency is in its id or its source. Raises UnplacedError."""
    model, device = _model(row), device_at(row)
    found = re.search(r"concurrency=(\d+)|_c(\d+)_", f"{row.text('source')} {row.id}")
    prompt, output = (row.tokens(c) for c in ("input_tokens", "output_tokens"))
    if prompt is None or output is None:
        raise UnplacedError("neither the length of the prompts nor that of the answers is a number")
    seconds, first = _milli(row.number("tpot_ms")), _milli(row.number("ttft_ms"))
    if seconds is None and first is None:
        raise UnplacedError("neither a time to first token nor a time per output token is given")
    tp, pp, dp, moe_tp, moe_ep = (
        int(row.number(c) or 1) for c in ("tp", "pp", "attention_dp", "moe_tp", "moe_ep")
    )
    ranks = tp * dp
    if moe_tp == moe_ep > 1 and ranks == moe_tp * moe_ep:
        # TP8 with EP8 runs on 8 ranks; the collection multiplies the two.
        ranks, tp, dp = moe_tp, min(tp, moe_tp), min(dp, moe_tp)
    form: str | None = "dp" if dp > 1 else "tep" if moe_ep > 1 else "tp"
    if tp > 1 and dp > 1:
        form = None
    domain = device.scale_up_domain or 1
    if tp & (tp - 1) or tp > max(domain, 8):
        form = None  # the devices of a whole deployment, prefill included
    deployment = Deployment(1, ranks * pp, form if pp == 1 else None, 1)
    concurrency = float(found[1] or found[2]) if found else None
    batch = None
    if concurrency is not None and seconds is not None:
        decode = output * SPREAD * seconds
        batch = concurrency * decode / (decode + (first or 0.0))
    formats = " ".join(row.text(c) for c in ("precision", "gemm_format", "moe_format"))
    precision = row.text("precision") or formats
    return Point(
        row.id, model, precision_of(precision), format_of_words(formats), "served", None, device, ranks * pp,
        deployment, prompt * SPREAD, output * SPREAD, True, batch, concurrency or math.inf, 0, 1.0, True,
        seconds, None, first, True,
    )  # fmt: skip


def _model(row: Row) -> str:
    model = model_of(row.text("model"))
    if model is None:
        raise UnplacedError(
            f"the layers of {row.text('model')} are not catalogued, so its bytes are not known"
        )
    return model


def device_at(row: Row) -> Device:
    """The device of a row, with the rates that any bound needs. Raises UnplacedError."""
    device = device_of(row.text("device"))
    if device is None:
        raise UnplacedError(f"the limits of {row.text('device')} are not catalogued")
    if device.memory_bytes_per_second is None or not device.flops_per_second:
        raise UnplacedError(f"no published rate of {device.name} says how fast it reads or multiplies")
    return device


def _nothing_measured(row: Row, metric: str) -> str:
    if row.number("reported") is None:
        return "the row gives neither a throughput nor a speed per user"
    return (
        f"the reported figure ({metric}) counts prompt tokens or unnamed devices, and the row does not say "
        "how many, so no output rate follows"
    )


def _seconds_per_token(per_user: float | None, tpot_ms: float | None) -> float | None:
    """Seconds per token of one user: the slower of the two figures where both are given."""
    found = [s for s in (None if per_user is None else 1 / per_user, _milli(tpot_ms)) if s is not None]
    return max(found) if found else None


def _milli(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _count(row: Row, seconds: float | None, per_device: float | None) -> int:
    """Devices of a deployment that does not say: at most what all its requests need in decode (Little)."""
    concurrency = row.number("concurrency")
    if concurrency and seconds and per_device:
        return max(1, math.ceil(concurrency / (per_device * seconds)))
    return LARGEST_DOMAIN


def _batch(
    row: Row,
    throughput: float | None,
    seconds: float | None,
    decode: Deployment | None,
    count: int,
    most: float,
) -> float | None:
    """Sequences in decode over all decoding devices: by Little's law, or as the row says per device."""
    devices = decode.devices if decode is not None else count
    if throughput is not None and seconds is not None:
        return min(most, throughput * devices * seconds)
    each = row.number("batch_per_device")
    if each is not None:
        return min(most, each * devices)
    return most if most == 1 else None


def _drafting(row: Row, has_drafts: bool) -> tuple[int, float, bool]:
    """(tokens drafted, tokens per step at most, whether the row says so). Raises UnplacedError."""
    words = row.text("drafting")
    lowered = words.lower()
    said = re.search(r"accept(?:s|ed)? (\d+(?:\.\d+)?)\b(?!\s*%)", lowered)
    depth = re.search(r"mtp\s*(\d+)", lowered)
    chance = re.search(r"(\d+)\s*% accept", lowered)
    if lowered.startswith(("none", "simulated")) and not chance:
        return 0, 1.0, True
    if said and depth:
        return int(depth[1]), max(1.0, float(said[1])), True
    if depth:
        return int(depth[1]), 1.0 + int(depth[1]), True
    if chance:
        return 1, 1.0 / (1.0 - float(chance[1]) / 100), True
    if "mtp" in lowered or "not stated" in lowered or not lowered:
        if not has_drafts and "mtp" not in lowered:
            return 0, 1.0, False
        return MOST_DRAFTED, 1.0 + MOST_DRAFTED, False
    if lowered in ("as selected",):
        return 0, 1.0, True
    raise UnplacedError(
        f"the row drafts tokens ({words}) and gives neither their number nor how many are accepted, so "
        "tokens per step have no upper bound"
    )


def _kv(words: str) -> tuple[Kv, str | None]:
    """(storage of the cache, a format narrower than engines serve by default)."""
    lowered = words.lower()
    return "bf16" if lowered.startswith("bf16") else "served", "nvfp4" if "fp4" in lowered else None
