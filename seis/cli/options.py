"""Options that several commands share, so that they read alike everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Clock(StrEnum):
    """How much of a step overlaps."""

    limit = "limit"
    overlapped = "overlapped"
    serial = "serial"


class Phase(StrEnum):
    """What a step does."""

    decode = "decode"
    prefill = "prefill"


class Setting(StrEnum):
    """Published peaks, or what today's kernels reach of them."""

    physical = "physical"
    achievable = "achievable"


class Kv(StrEnum):
    """Storage of the caches."""

    served = "served"
    bf16 = "bf16"


MODEL = "deepseek-v4-pro"
DEVICE = "b300"
COUNT = 64
CONTEXT = 8192

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Device = Annotated[
    str, typer.Option(help="A device's name, its unique beginning, or a path to your own .yaml.")
]
Count = Annotated[int, typer.Option(help="Devices of the cluster.")]
Context = Annotated[int, typer.Option(help="Cached tokens per sequence.")]
ClockOption = Annotated[
    Clock,
    typer.Option(
        "--clock", help="What overlaps: all that dependencies allow, the schedule as written, nothing."
    ),
]
SettingOption = Annotated[
    Setting, typer.Option("--setting", help="Published peaks, or what kernels reach of them.")
]
KvOption = Annotated[Kv, typer.Option("--kv", help="Storage of the caches.")]
Database = Annotated[
    str,
    typer.Option(
        "--database", envvar="SEIS_DATABASE", show_envvar=True, help="A SQLite file or a PostgreSQL URL."
    ),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Also write the frontier as an .svg picture.")]

Simulate = Annotated[bool, typer.Option("--simulate", help="Also simulate the step event by event.")]
Trace = Annotated[
    Path | None, typer.Option("--trace", help="Write the simulated step as a trace that Perfetto opens.")
]

DATABASE = "seis.db"


def at_least(name: str, value: float | None, low: int, unit: str = "") -> None:
    """Raises UsageError for a number below its least value."""
    from seis.cli.problems import UsageError

    if value is not None and not value >= low:  # not a number is no number either
        raise UsageError(f"{name} must be at least {low}{unit}, but got {value}")


LARGEST = 10**9
DEVICES = 10**6
DRAFTED = 16


def between(name: str, value: float | None, low: int, high: int = LARGEST) -> None:
    """Raises UsageError for a number outside its range; without upper ends no command would answer soon."""
    from seis.cli.problems import UsageError

    at_least(name, value, low)
    if value is not None and value > high:
        raise UsageError(f"{name} must be at most {high:,}, but got {shown(value)}; lower it")


def shown(value: float) -> str:
    """A number that may be of any length."""
    text = str(value)
    return text if len(text) <= 20 else f"a number of {len(text)} digits"
