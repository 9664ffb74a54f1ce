"""CSV files of measurements: the kind is told by the header, and every cell that must be a number is one.

Four kinds, each in our own columns and in those of the collections that the catalogued rows come from:

    serving    a service: throughput per device, interactivity, latencies
    e2e        a service in full: time to first token and time per output token of one configuration
    kernel     a kernel as its authors report it: TFLOP/s, GB/s or latency at a shape
    operator   an operator or collective in a benchmark: microseconds at a shape
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from os import PathLike
from pathlib import Path

from evaluator.errors import MeasurementError

MOST_BYTES = 64_000_000

# kind: {our column: the collection's column}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "serving": {
        "id": "id", "model": "model", "weights": "weights", "kv": "kv", "device": "hardware",
        "devices": "num_gpus", "engine": "framework", "parallelism": "parallelism",
        "input_tokens": "isl", "output_tokens": "osl", "lengths": "context_note",
        "concurrency": "concurrency", "batch_per_device": "decode_batch_per_gpu",
        "drafting": "spec_decode", "metric": "metric_kind", "reported": "reported_tok_s_gpu",
        "output_per_device": "output_tok_s_gpu_all",
        "decode_per_device": "decode_output_tok_s_decode_gpu", "per_user": "interactivity_tok_s_user",
        "tpot_ms": "tpot_ms", "ttft_ms": "ttft_ms", "quality": "quality", "source": "source",
        "notes": "notes",
    },
    "e2e": {
        "id": "id", "model": "model_path", "device": "system", "engine": "backend",
        "precision": "precision", "input_tokens": "isl", "output_tokens": "osl",
        "gemm_format": "gemm_quant_mode", "moe_format": "moe_quant_mode", "batch_size": "batch_size",
        "tp": "tp_size", "pp": "pp_size", "attention_dp": "attention_dp_size", "moe_tp": "moe_tp_size",
        "moe_ep": "moe_ep_size", "ttft_ms": "silicon_ttft_ms", "tpot_ms": "silicon_tpot_ms",
        "source": "silicon_data_source",
    },
    "kernel": {
        "kernel": "kernel", "device": "hardware", "shape": "shape", "tflops": "tflops",
        "gb_per_s": "gb_s", "latency_us": "latency_us", "source": "source",
    },
    "operator": {
        "device": "gpu", "operator": "op", "engine": "backend", "version": "version", "format": "dtype",
        "shape": "shape", "measured_us": "measured_us", "source": "source_file",
    },
}  # fmt: skip

# Cells that hold a number where they hold anything; `~700` and `20-22` are numbers too.
_NUMBERS = frozenset((
    "devices", "concurrency", "batch_per_device", "reported", "output_per_device", "decode_per_device",
    "per_user", "tpot_ms", "ttft_ms", "batch_size", "tp", "pp", "attention_dp", "moe_tp", "moe_ep", "tflops",
    "gb_per_s", "latency_us", "measured_us",
))  # fmt: skip
# Of these, what can be counted.
_COUNTS = frozenset(("devices", "batch_size", "tp", "pp", "attention_dp", "moe_tp", "moe_ep"))
# Cells that hold a number or words such as `mean ~9.4k`.
_LENGTHS = frozenset(("input_tokens", "output_tokens"))
_MOST = 1_000_000
_LARGEST = 1e15  # above every figure that can be meant
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "serving": ("id", "model", "device"),
    "e2e": ("id", "model", "device", "input_tokens", "output_tokens"),
    "kernel": ("kernel", "device"),
    "operator": ("device", "operator", "shape", "measured_us"),
}
_PLAIN = re.compile(r"~?\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:\s*[-–]\s*~?(\d+(?:\.\d+)?))?\s*")
_MEAN = re.compile(
    r"mean\s*~?\s*(\d[\d.]*)(?:\s*-\s*\d[\d.]*)?\s*(k?)|(\d[\d.]*)\s*(k?)\s*mean", re.IGNORECASE
)


class UnplacedError(Exception):
    """A row from which no operating point or no work follows; the message says why to the row's author."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: its cells by our column names; `line` is its line in the file."""

    id: str
    kind: str
    line: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        return self.cells.get(column, "")

    def number(self, column: str) -> float | None:
        """The least number that the cell allows (`20-22` gives 20), or None where it is empty."""
        found = _PLAIN.fullmatch(self.text(column))
        return None if found is None else float(found[1])

    def tokens(self, column: str) -> float | None:
        """A length in tokens: a number, or the mean that words give (`mean ~9.4k`); None where neither."""
        plain = self.number(column)
        if plain is not None:
            return plain
        found = _MEAN.search(self.text(column))
        if found is None:
            return None
        value, thousands = (found[1], found[2]) if found[1] else (found[3], found[4])
        return float(value.rstrip(".")) * (1000 if thousands else 1)


@dataclass(frozen=True, slots=True)
class Measurements:
    """The rows of one file, all of one kind; `name` is the file's."""

    kind: str
    rows: tuple[Row, ...]
    name: str = ""


def read(path: str | PathLike[str] | Traversable) -> Measurements:
    """The measurements of a CSV file. Raises MeasurementError, naming row and column, or OSError."""
    place = path if isinstance(path, Traversable) else Path(path)
    name = place.name
    try:
        lines = csv.reader(io.StringIO(_text(place, name)), strict=True)
        header = [c.strip() for c in next(lines, [])]
        kind, names = _kind(header, name)
        rows = []
        for cells in lines:
            if not any(c.strip() for c in cells):
                continue
            if len(cells) != len(header):
                raise MeasurementError(
                    f"{name}, row {lines.line_num}: a row must have {len(header)} cells as the header, "
                    f"but has {len(cells)}; quote cells that hold commas"
                )
            given = dict(zip(header, (c.strip() for c in cells), strict=True))
            rows.append(_row(kind, names, given, lines.line_num, name))
    except UnicodeDecodeError as error:
        raise MeasurementError(
            f"{name} must be a CSV file in UTF-8, but byte {error.start} is not; save it as UTF-8"
        ) from error
    except csv.Error as error:
        raise MeasurementError(
            f"{name}, row {lines.line_num}: a cell must close its quotes and hold at most "
            f"{csv.field_size_limit():,} characters, but one does not; mend the row"
        ) from error
    if not rows:
        raise MeasurementError(f"{name} must hold at least one row below its header, but holds none")
    return Measurements(kind, tuple(rows), name)


def _text(place: Path | Traversable, name: str) -> str:
    with place.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise MeasurementError(
            f"{name} must hold at most {MOST_BYTES:,} bytes, but holds more; split it or name a CSV file"
        )
    return data.decode("utf-8-sig")


def _kind(header: list[str], name: str) -> tuple[str, Mapping[str, str]]:
    """(kind, {our column: the file's column}) of a header."""
    if not any(header):
        raise MeasurementError(f"{name} must begin with a header of column names, but is empty")
    forms = [
        (kind, {ours: (ours if own else theirs) for ours, theirs in columns.items()})
        for kind, columns in COLUMNS.items()
        for own in (False, True)
    ]
    kind, names = max(forms, key=lambda form: len(set(form[1].values()) & set(header)) / len(form[1]))
    missing = [column for column in names.values() if column not in header]
    if len(missing) > len(names) / 2:
        raise MeasurementError(
            f"{name} must have the columns of one kind of measurement ({', '.join(COLUMNS)}), but its "
            f"header is {', '.join(header[:6])}{', …' if len(header) > 6 else ''}"
        )
    if missing:
        raise MeasurementError(
            f"{name} must have the column{'s' if len(missing) > 1 else ''} {', '.join(missing)} of the kind "
            f"{kind}, but its header does not; add them, empty where nothing is known"
        )
    return kind, names


def _row(kind: str, names: Mapping[str, str], given: Mapping[str, str], line: int, name: str) -> Row:
    cells = {ours: given[theirs] for ours, theirs in names.items()}
    for ours, text in cells.items():
        where = f"{name}, row {line}, column {names[ours]}"
        if not text:
            if ours in _NEEDED[kind]:
                raise MeasurementError(f"{where} must not be empty; fill it in or remove the row")
        elif ours in _NUMBERS or ours in _LENGTHS:
            _check(text, where, words=ours in _LENGTHS and kind != "e2e", whole=ours in _COUNTS)
    return Row(given.get("id") or f"row {line}", kind, line, cells)


def _check(text: str, where: str, *, words: bool, whole: bool) -> None:
    try:
        value = float(text)
    except ValueError:
        if words or _PLAIN.fullmatch(text):
            return
        raise MeasurementError(f"{where} must be a number such as 64 or 20-22, but is {text!r}") from None
    if not 0 < value < _LARGEST:
        raise MeasurementError(
            f"{where} must be a finite number above 0, but is {text}; leave it empty where it is unknown"
        )
    if whole and not (value == int(value) <= _MOST):
        raise MeasurementError(f"{where} must be a whole number up to {_MOST:,}, but is {text}; correct it")
