"""The live bar of a search, on stderr."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from seis.cli.output import WIDTH
from seis.cli.units import count, percent

if TYPE_CHECKING:
    from agent import Progress as Event


class Bar:
    """Takes the events of a search; use it inside its `with` block."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False)
        console.width = min(console.width, WIDTH)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=18, complete_style="blue", finished_style="blue"),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("[dim]{task.fields[news]}[/dim]"),
            console=console,
            transient=True,
            refresh_per_second=8,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=1, news="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, event: Event) -> None:
        from agent.stagnation import STAGNATION

        news = f"{event.seconds:.0f} s, {count(event.points)} points, {event.refused} refused"
        if event.best_gain > 0:
            news += f", best {percent(event.best_gain)}"
        if event.quiet >= STAGNATION:
            news += f", no gain over {event.quiet}"
        self._bar.update(
            self._task,
            description="conventional" if event.phase == "baseline" else "searching",
            completed=event.structures,
            total=max(event.target, event.structures, 1),
            news=news,
        )
