"""Measured facts with their sources: services, kernels and operators, one CSV file per kind."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable


def measured_files() -> tuple[Traversable, ...]:
    """The catalogued files of measurements, by name."""
    entries = files("catalogue.measured").iterdir()
    return tuple(sorted((e for e in entries if e.name.endswith(".csv")), key=lambda e: e.name))
