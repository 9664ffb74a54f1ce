"""What `from seis import ...` gives."""

from __future__ import annotations

import subprocess
import sys

import pytest

import seis

NAMES = {
    "Budget", "Problem", "Scenario", "baseline", "device_names", "evaluate", "import_model", "load_device",
    "load_model", "load_system", "model_names", "parse", "parse_file", "print_design", "report", "search",
    "standard_grid", "starting_designs", "sweep", "system_names", "verify",
}  # fmt: skip


def test_names() -> None:
    assert set(seis.__all__) == NAMES
    for name in NAMES:
        found = getattr(seis, name)
        assert found.__doc__, name
    assert set(dir(seis)) >= NAMES
    with pytest.raises(AttributeError, match="no attribute 'wrong'"):
        seis.wrong  # noqa: B018


def test_evaluates_a_model() -> None:
    model, device = seis.load_model("llama-3.1-70b"), seis.load_device("b300")
    start = seis.starting_designs(model)[0]
    found = seis.sweep(start, {"main": device}, 8, seis.Scenario(8192), seis.standard_grid(8))
    assert found.points
    assert seis.parse(seis.print_design(start)) == start


def test_importing_costs_nothing() -> None:
    code = "import sys, seis; print('numpy' in sys.modules, 'typer' in sys.modules)"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
