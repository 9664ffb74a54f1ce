"""Files of measurements: what is refused, with row and column, and how cells read."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalogue.devices import load_device
from catalogue.measured import measured_files
from evaluator.errors import MeasurementError
from evaluator.truth import rows
from evaluator.truth.operators import operator_seconds
from evaluator.truth.rows import COLUMNS, Row, UnplacedError, read

OPERATOR = "gpu,op,backend,version,dtype,shape,measured_us,source_file"
GEMM = "h100_sxm,gemm,lib,1,bfloat16,m=64 n=8192 k=8192,50.4,a file"


def write(folder: Path, *lines: str) -> Path:
    place = folder / "m.csv"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((), "m.csv must begin with a header"),
        ((OPERATOR,), "m.csv must hold at least one row"),
        (("a,b,c", "1,2,3"), "must have the columns of one kind of measurement"),
        ((OPERATOR.replace(",shape", ""), "x"), "must have the column shape of the kind operator"),
        ((OPERATOR, GEMM, GEMM.replace("50.4", "nan")), "row 3, column measured_us must be a finite number"),
        ((OPERATOR, GEMM.replace("50.4", "-3")), "row 2, column measured_us must be a finite number above 0"),
        ((OPERATOR, GEMM.replace("50.4", "0")), "row 2, column measured_us must be a finite number above 0"),
        ((OPERATOR, GEMM.replace("50.4", "inf")), "row 2, column measured_us must be a finite number"),
        ((OPERATOR, GEMM.replace("50.4", "1e300")), "row 2, column measured_us must be a finite number"),
        ((OPERATOR, GEMM.replace("50.4", "")), "row 2, column measured_us must not be empty"),
        ((OPERATOR, GEMM.replace("50.4", "fast")), "row 2, column measured_us must be a number such as"),
        ((OPERATOR, GEMM, '"' + GEMM), "row 3: a cell must close its quotes"),
        (
            (OPERATOR, GEMM.replace("a file", "x" * 200_000)),
            "row 2: a cell must close its quotes and hold at",
        ),
        ((OPERATOR, GEMM + ",more"), "row 2: a row must have 8 cells as the header, but has 9"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(MeasurementError) as error:
        read(write(tmp_path, *lines))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "m.csv"
    place.write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(MeasurementError, match="CSV file in UTF-8"):
        read(place)


@pytest.mark.parametrize("kind", COLUMNS)
def test_both_spellings_of_a_header_read_alike(tmp_path: Path, kind: str) -> None:
    cells = {"measured_us": "3", "input_tokens": "8", "output_tokens": "9", "tpot_ms": "1"}
    rows = []
    for spelling in (list(COLUMNS[kind]), list(COLUMNS[kind].values())):
        line = ",".join(cells.get(c, "" if c in _NUMERIC else "x") for c in COLUMNS[kind])
        found = read(write(tmp_path, ",".join(spelling), line))
        assert found.kind == kind
        rows.append(found.rows[0].cells)
    assert rows[0] == rows[1]


_NUMERIC = frozenset((
    "devices", "concurrency", "batch_per_device", "reported", "output_per_device", "decode_per_device",
    "per_user", "ttft_ms", "batch_size", "tp", "pp", "attention_dp", "moe_tp", "moe_ep", "tflops",
    "gb_per_s", "latency_us",
))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "number", "tokens"),
    [
        ("8192", 8192, 8192), ("~700", 700, 700), ("20-22", 20, 20), ("", None, None),
        ("3769.27 mean", None, 3769.27), ("mix (mean ~9.4k)", None, 9400), ("QA (mean ~0.8-0.9k)", None, 800),
        ("OpenOrca+GSM8K", None, None), ("not stated", None, None),
    ],
)  # fmt: skip
def test_numbers_in_words(text: str, number: float | None, tokens: float | None) -> None:
    row = Row("r", "serving", 2, {"input_tokens": text})
    assert row.number("input_tokens") == number
    assert row.tokens("input_tokens") == tokens


def test_every_catalogued_row_has_an_identity_of_its_own_and_a_source() -> None:
    files = [read(f) for f in measured_files()]
    rows = [row for file in files for row in file.rows]
    assert {file.kind for file in files} == set(COLUMNS)
    assert len({row.id for row in rows}) == len(rows)
    assert all(row.text("source") for row in rows)
    assert not any(row.id.startswith("row ") for row in rows)


def test_a_file_without_an_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MOST_BYTES", 100)
    with pytest.raises(MeasurementError, match="must hold at most 100 bytes"):
        read(write(tmp_path, OPERATOR, GEMM))


def test_a_format_that_is_not_known_has_no_bound(tmp_path: Path) -> None:
    row = read(write(tmp_path, OPERATOR, GEMM.replace("bfloat16", "foo"))).rows[0]
    with pytest.raises(UnplacedError, match="the format foo of gemm is not known"):
        operator_seconds(row, load_device("h100"))
