"""What `seis compare` was asked, and its progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from seis.cli.options import LARGEST, between
from seis.cli.problems import UsageError

_NUMBER = re.compile(r"([0-9]{1,9})([kKM]?)\Z")
_FACTOR = {"": 1, "k": 1024, "K": 1024, "M": 1024 * 1024}


def whole_numbers(option: str, text: str, most: int = LARGEST) -> tuple[int, ...]:
    """`8k,64k,1M` as 8192, 65536, 1048576. Raises UsageError for anything else."""
    found = []
    for part in text.split(","):
        match = _NUMBER.match(part.strip())
        if match is None or int(match[1]) < 1:
            raise UsageError(
                f"{option} must be whole numbers above 0 separated by commas, such as 8k,64k or 8192, "
                f"but got {part.strip()!r}"
            )
        number = int(match[1]) * _FACTOR[match[2]]
        between(option, number, 1, most)
        found.append(number)
    return tuple(dict.fromkeys(found))


def chosen_models(asked: Sequence[str] | None) -> tuple[str, ...]:
    """The models by their full names, each once; a representative choice where none is named."""
    from agent.comparison.representative import REPRESENTATIVE
    from catalogue.models.facts import full_name

    return tuple(dict.fromkeys(full_name(name) for name in asked)) if asked else REPRESENTATIVE


def check_output(path: Path | None) -> None:
    """Refuses what cannot be written, before any work is done."""
    from agent.comparison import FORMATS

    if path is None:
        return
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"--output must name a file that ends in {', '.join(FORMATS)}, but got {path}")
    if not path.parent.is_dir():
        raise UsageError(f"--output must name a file in an existing folder, but there is no {path.parent}")


@contextmanager
def progress(models: int) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr while models are compared; nothing where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("comparing"), BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("models"),
        TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    task = bar.add_task("", total=models)
    with bar:
        yield lambda ready, _: bar.update(task, completed=ready)
