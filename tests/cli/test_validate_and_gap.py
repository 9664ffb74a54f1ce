"""`seis validate` and `seis gap`: documents, tables, and what they say of unusable input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catalogue.measured import measured_files

Seis = Callable[..., Any]

RUN = ("gap", "llama-3.1-70b", "--device", "h100-sxm", "--count", "8", "--context", "4096")
HEADER = "gpu,op,backend,version,dtype,shape,measured_us,source_file"


def measured(folder: Path, *lines: str) -> str:
    place = folder / "mine.csv"
    place.write_text("\n".join((HEADER, *lines)) + "\n", encoding="utf-8")
    return str(place)


def test_validate_document(seis: Seis, tmp_path: Path) -> None:
    place = measured(
        tmp_path,
        "h100_sxm,gemm,lib,1,fp8,m=8192 n=10240 k=8192,1160,a file",
        "h100_sxm,gemm,lib,1,fp8,m=8192 n=10240 k=8192,100,too fast",
        "abacus,gemm,lib,1,fp8,m=8192 n=10240 k=8192,100,no such device",
    )
    ran = seis("validate", place, "--json")
    assert ran.code == 1  # a row is above its bound
    found = ran.document
    assert (found["rows"], found["placed"]) == (3, 2)
    assert found["violations"] == ["row 3"]
    assert [n["id"] for n in found["not_placed"]] == ["row 4"]
    assert "abacus" in found["not_placed"][0]["reason"]
    assert found["quartiles"]["operator"]["gemm"]["rows"] == 2
    assert set(found["quartiles"]) == {"model", "operator", "device", "precision"}


def test_rows_that_share_an_id_are_all_there(seis: Seis, tmp_path: Path) -> None:
    header = "id,device,operator,engine,version,format,shape,measured_us,source"
    place = tmp_path / "mine.csv"
    rows = [f"{name},h100_sxm,gemm,lib,1,fp8,m=8192 n=10240 k=8192,{us},f" for name, us in
            (("a", 1160), ("a", 2320), ("b", 580))]  # fmt: skip
    place.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    once, twice = seis("validate", str(place), "--json"), seis("validate", str(place), str(place), "--json")
    achieved = once.document["achieved"]
    assert list(achieved) == ["a (mine.csv, row 2)", "a (mine.csv, row 3)", "b"]
    assert achieved["a (mine.csv, row 2)"]["time"] == pytest.approx(
        2 * achieved["a (mine.csv, row 3)"]["time"]
    )
    assert len(twice.document["achieved"]) == twice.document["placed"] == 6


def test_validate_prints_tables_of_80_columns(seis: Seis) -> None:
    kernels = next(str(f) for f in measured_files() if f.name == "kernels.csv")
    ran = seis("validate", kernels)
    assert ran.code == 0
    assert "41 rows" in ran.out
    assert ", 0 above their bound" in ran.out
    assert "not placed" in ran.out
    assert max(len(line) for line in ran.out.splitlines()) <= 80


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("h100_sxm,gemm,lib,1,fp8,m=1 n=1 k=1,nan,f", "row 2, column measured_us"),
        ("h100_sxm,gemm,lib,1,fp8,m=1 n=1 k=1,-1,f", "row 2, column measured_us"),
        ("h100_sxm,gemm,lib,1,fp8,m=1 n=1 k=1,,f", "row 2, column measured_us must not be empty"),
    ],
)
def test_validate_names_the_cell_that_it_cannot_use(seis: Seis, tmp_path: Path, line: str, said: str) -> None:
    ran = seis("validate", measured(tmp_path, line))
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_validate_without_the_file(seis: Seis) -> None:
    ran = seis("validate", "missing.csv", "--json")
    assert ran.code == 2
    assert ran.error["kind"] == "file"


def test_gap_document(seis: Seis) -> None:
    found = seis(
        *RUN, "--tp", "8", "--precision", "fp8", "--batch", "64", "--throughput", "400", "--json"
    ).document
    fractions = [found[f"fraction_of_{name}"] for name in ("favourable", "limit", "overlapped", "achievable")]
    assert 0 < fractions[0] <= fractions[1] <= fractions[2] <= fractions[3]
    assert found["binding"] == "memory"
    assert not found["above_bound"]
    assert found["check"] == []
    changes = found["changes"]
    assert len(changes) == 3
    assert [c["gain"] for c in changes] == sorted((c["gain"] for c in changes), reverse=True)
    for change in changes:
        base = found["achievable_tokens_per_second_per_gpu"]
        assert change["tokens_per_second_per_gpu"] == pytest.approx(base * (1 + change["gain"]))
        assert change["gain"] > 0


def test_a_change_delivers_what_the_changed_run_is_predicted_to(seis: Seis) -> None:
    run = (*RUN, "--tp", "8", "--precision", "fp8", "--throughput", "400", "--json")
    first = seis(*run, "--batch", "64").document
    doubled = next(c for c in first["changes"] if c["change"] == "batch 128")
    second = seis(*run, "--batch", "128").document
    assert second["achievable_tokens_per_second_per_gpu"] == pytest.approx(
        doubled["tokens_per_second_per_gpu"]
    )


def test_batch_and_interactivity_are_two_ways_to_say_one_thing(seis: Seis) -> None:
    run = (*RUN, "--tp", "8", "--throughput", "400", "--json")
    assert seis(*run, "--batch", "64").document == seis(*run, "--interactivity", "50").document


def test_gap_and_evaluate_predict_one_number_for_one_operating_point(seis: Seis) -> None:
    place = ("deepseek-v4-pro", "--device", "b300", "--count", "8", "--dp", "8", "--batch", "8192", "--json")
    predicted = seis("evaluate", *place).document
    measured = seis("gap", *place, "--throughput", "5000").document
    for unit in ("gpu", "user"):
        name = f"tokens_per_second_per_{unit}"
        assert measured[f"achievable_{name}"] == pytest.approx(predicted[name])
    physical = seis("evaluate", *place, "--setting", "physical", "--clock", "limit").document
    assert measured["limit_tokens_per_second_per_gpu"] == pytest.approx(physical["tokens_per_second_per_gpu"])


def test_gap_finds_a_conventional_mapping_where_none_is_given(seis: Seis) -> None:
    run = (*RUN, "--batch", "64", "--throughput", "300", "--json")
    free, bound = seis(*run).document, seis(*run, "--tp", "8").document
    assert free["mapping"] != ""
    name = "achievable_tokens_per_second_per_gpu"
    assert free[name] >= bound[name]


def test_a_run_above_the_bound_is_told_what_to_check(seis: Seis) -> None:
    run = (*RUN, "--tp", "8", "--batch", "1", "--throughput", "500")
    ran = seis(*run)
    assert ran.code == 0
    assert "above what is possible" in ran.out
    assert "output tokens" in ran.out
    assert "--precision" in ran.out
    assert max(len(line) for line in ran.out.splitlines()) <= 80
    document = seis(*run, "--json").document
    assert document["above_bound"]
    assert document["fraction_of_favourable"] > 1
    assert len(document["check"]) >= 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--throughput", "10"), "--batch or --interactivity must be given; add one"),
        (("--throughput", "10", "--batch", "1", "--interactivity", "5"), "not both"),
        (("--throughput", "nan", "--batch", "1"), "--throughput must be a finite number above 0"),
        (("--throughput", "10", "--batch", "0"), "--batch must be a finite number above 0"),
        (("--throughput", "10", "--interactivity", "1e6"), "check both figures"),
        (("--throughput", "10", "--batch", "1", "--precision", "fp3"), "did you mean 'fp8'"),
        (("--throughput", "10", "--batch", "1", "--isl", "5"), "not both"),
        (("--throughput", "10", "--batch", "1", "--tp", "0"), "--tp must be at least 1"),
        (("--throughput", "10", "--batch", "1e7"), "none does; check"),
    ],
)
def test_gap_says_what_it_cannot_use(seis: Seis, options: tuple[str, ...], said: str) -> None:
    ran = seis(*RUN, *options)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
