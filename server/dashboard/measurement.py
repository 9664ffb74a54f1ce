"""Pasted measurements: rows of named values from the formats of common benchmarks, and what each value is.

Read are JSON (an object, a list, or one object a line), CSV and TSV with a head, and `name: value` lines as
serving benchmarks print them. A column's meaning is guessed by its name, and can be chosen by the reader.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_ROWS = 200
TARGETS = {
    "": "not used", "model": "model", "device": "device", "count": "devices of the run",
    "throughput": "output tokens/s per device", "total_throughput": "output tokens/s of all devices",
    "per_device_both": "input and output tokens/s per device",
    "both": "input and output tokens/s of all devices", "batch": "sequences in flight",
    "interactivity": "tokens/s per user", "tpot_ms": "ms per output token", "context": "context, tokens",
    "input": "input tokens of a request", "output": "output tokens of a request",
    "all_input": "input tokens of all requests", "all_output": "output tokens of all requests",
    "requests": "requests", "drafted": "drafted tokens", "precision": "weights",
}  # fmt: skip
_NAMES = {
    "model": "model model_name model_id infmax_model_prefix",
    "device": "device hw hardware gpu gpu_type accelerator",
    "count": "count devices gpus num_gpus n_gpus gpu_count total_gpus tp tp_size tensor_parallel_size",
    "throughput": "throughput output_tput_per_gpu output_throughput_per_gpu throughput_per_gpu "
    "tokens_per_second_per_gpu tok_s_gpu tok_per_s_per_gpu output_tok_s_gpu_all output_tok_s_gpu",
    "total_throughput": "output_throughput output_token_throughput output_tokens_per_second output_tput",
    "per_device_both": "tput_per_gpu total_tput_per_gpu total_throughput_per_gpu",
    "both": "total_throughput total_token_throughput total_tokens_per_second",
    "batch": "batch batch_size conc concurrency max_concurrency maximum_request_concurrency",
    "interactivity": "interactivity intvty median_intvty mean_intvty tokens_per_second_per_user "
    "interactivity_tok_s_user tok_s_user",
    "tpot_ms": "tpot tpot_ms mean_tpot mean_tpot_ms median_tpot median_tpot_ms mean_itl mean_itl_ms",
    "context": "context context_tokens",
    "input": "isl input_len input_length random_input_len input_tokens",
    "output": "osl output_len output_length random_output_len output_tokens",
    "all_input": "total_input_tokens total_input", "requests": "completed successful_requests",
    "all_output": "total_output_tokens total_generated_tokens total_output",
    "drafted": "drafted mtp num_speculative_tokens draft_tokens", "precision": "precision",
}  # fmt: skip
ALIASES = {alias: target for target, names in _NAMES.items() for alias in names.split()}
_NUMERIC = frozenset(TARGETS) - {"", "model", "device", "precision", "drafted"}


@dataclass(slots=True)
class Understood:
    """Values of the gap's fields, each column with what it was taken as, and what is to be said of it."""

    values: dict[str, str] = field(default_factory=dict)
    columns: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def rows(text: str) -> list[dict[str, str]]:
    """Named values, a dictionary for each measurement; nested ones are named with dots."""
    found = _json(text)
    if found is None:
        lines = [line for line in text.splitlines() if line.strip()]
        mark = next((m for m in "\t,;" if len(lines) > 1 and m in lines[0] and m in lines[1]), "")
        if mark:
            read = csv.DictReader(io.StringIO("\n".join(lines)), delimiter=mark, restkey="more")
            try:
                found = [dict(r) for r, _ in zip(read, range(MOST_ROWS), strict=False)]
            except csv.Error:  # a cell beyond all measure
                return []
        else:
            parts = (re.split(r"\s*[=:]\s+|\s*[=:]|\t", line.strip(), maxsplit=1) for line in lines)
            found = [{p[0]: p[1] for p in parts if len(p) == 2}]
    return [flat for flat in (_flat(r) for r in found[:MOST_ROWS]) if flat]


def understand(row: Mapping[str, str], chosen: Mapping[str, str]) -> Understood:
    """What a measurement says; `chosen` are targets by column in place of guesses."""
    found = Understood()
    raw: dict[str, str] = {}
    for name, value in row.items():
        target = chosen.get(name, guess(name))
        if target in _NUMERIC and _number(value) is None:
            target = ""
        found.columns.append({"name": name, "value": value, "target": target})
        if target:
            raw.setdefault(target, value)
    n = {k: v for k, v in ((k, _number(raw[k])) for k in raw if k in _NUMERIC) if v}
    requests = n.get("requests")
    if requests:
        for one, every in (("input", "all_input"), ("output", "all_output")):
            if every in n:
                n.setdefault(one, n[every] / requests)
    _throughput(n, found)
    if "tpot_ms" in n:
        n.setdefault("interactivity", 1e3 / n["tpot_ms"])
    if "input" in n and "output" in n:
        n.setdefault("context", round(n["input"] + n["output"] / 2))
    for name in ("count", "throughput", "batch", "interactivity", "context"):
        if name in n:
            found.values[name] = f"{n[name]:.6g}" if n[name] % 1 else f"{n[name]:.0f}"
    if "model" in raw:
        found.values["model"] = raw["model"].rpartition("/")[2].lower()
    if "device" in raw:
        found.values["device"] = raw["device"].lower().removeprefix("nvidia ").replace(" ", "-")
    if "precision" in raw:
        found.values["precision"] = raw["precision"].lower()
    if "drafted" in raw:
        off = raw["drafted"].lower() in ("", "0", "off", "none", "false", "no")
        found.values["drafted"] = "0" if off else raw["drafted"] if raw["drafted"].isdigit() else "1"
    return found


def guess(name: str) -> str:
    """What a column is by its name; empty where that says nothing."""
    plain = re.sub(r"\([^)]*\)", "", name.rpartition(".")[2].lower()).replace("/", "_per_")
    return ALIASES.get(re.sub(r"[^a-z0-9]+", "_", plain).strip("_"), "")


def _throughput(n: dict[str, float], found: Understood) -> None:
    """Output tokens/s per device, from whichever figure is there."""
    per = n.get("throughput")
    if per is None and "total_throughput" in n and "count" in n:
        per = n["total_throughput"] / n["count"]
        found.notes.append(f"Output tokens/s are divided by {n['count']:g} devices.")
    both = n.get("per_device_both")
    if both is None and "both" in n and "count" in n:
        both = n["both"] / n["count"]
    if per is None and both is not None and "input" in n and "output" in n:
        per = both * n["output"] / (n["input"] + n["output"])
        found.notes.append("Of a throughput that counts input too, the share of output tokens is taken.")
    if per is not None:
        n["throughput"] = per
    elif both is not None or "both" in n or "total_throughput" in n:
        found.notes.append(
            "A throughput was given, but not what makes it output tokens/s per device: the number of "
            "devices, or input and output tokens of a request. Choose columns for them, or use the fields."
        )


def _json(text: str) -> list[Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            found = [json.loads(line) for line in lines[:MOST_ROWS]] if lines[0].lstrip()[:1] == "{" else None
        except (ValueError, IndexError, RecursionError):
            return None
    if isinstance(found, dict):
        for inner in found.values():
            if isinstance(inner, list) and inner and all(isinstance(i, dict) for i in inner):
                return inner
        return [found]
    return found if isinstance(found, list) and found else None


def _flat(row: Any, before: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in row.items() if isinstance(row, dict) else ():
        if isinstance(value, dict) and not before:
            found |= _flat(value, f"{name}.")
        elif isinstance(value, str | int | float) and str(value).strip():
            found[f"{before}{name}".strip().strip('"')[:80]] = str(value).strip().strip('"')[:200]
    return dict(list(found.items())[:80])


def _number(value: str) -> float | None:
    try:
        found = float(value.replace(",", ""))
    except ValueError:
        return None
    return found if 0 < found < 1e15 else None
