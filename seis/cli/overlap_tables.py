"""What overlaps with what in a simulated step: busy shares, one layer as bars, and what waits for what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seis.cli.output import WIDTH, console, table
from seis.cli.units import seconds, share

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.simulate import Simulated
    from evaluator.simulate.result import Event

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST = 8


def print_overlap(found: Simulated, title: str = "") -> None:
    """80 columns: how long a step is, how busy each engine is, a layer of it, and the critical path."""
    out = console()
    kind = "" if found.periodic else ", on average"
    out.print(f"[bold]{title}Simulated step{kind}: {seconds(found.seconds)}[/bold]")
    rows = [[name, share(part), _bar(part)] for name, part in _busiest(found).items()]
    out.print(table(("engine", "busy", ""), rows, "lrl"))
    out.print()
    out.print(timeline(found), markup=False)
    out.print()
    path = list(found.critical_path().items())
    rows = [[f"{section} on {engine}", seconds(t), share(t / found.seconds)] for (section, engine), t in path]
    out.print(table(("critical path, one task after another", "time", "share"), rows[:MOST], "lrr"))


def describe(found: Simulated) -> dict[str, Any]:
    """The simulation as `--json` prints it."""
    return {
        "step_seconds": found.seconds,
        "periodic": found.periodic,
        "busy": found.busy(),
        "critical_path": [
            {"section": section, "engine": engine, "seconds": t}
            for (section, engine), t in found.critical_path().items()
        ],
    }  # fmt: skip


def write_trace(path: Path, runs: Mapping[str, Simulated]) -> None:
    """Write a trace. Raises UsageError where the file cannot be written."""
    from evaluator.simulate.trace import write
    from seis.cli.problems import UsageError

    try:
        write(path, runs)
    except OSError as error:
        raise UsageError(
            f"--trace must name a file that can be written, but {path}: {error.strerror}"
        ) from None


def _busiest(found: Simulated) -> dict[str, float]:
    return dict(sorted(found.busy().items(), key=lambda b: -b[1])[:MOST])


def _bar(part: float, width: int = 40) -> str:
    return "█" * round(part * width)


def timeline(found: Simulated) -> str:
    """One layer in the middle of a step: a line per engine, a letter per section (small on odd
    micro-batches), a dot where an engine waits."""
    events = sorted(found.events(), key=lambda e: e.start)
    middle = _middle(events)
    begin = min(e.start for e in middle)
    end = max(e.end for e in middle)
    engines = dict.fromkeys(e.part.engine for e in middle)
    shown = [e for e in events if e.part.engine in engines and e.end > begin and e.start < end]
    sections = list(dict.fromkeys(found.section(e.part) for e in shown))
    letters = {name: LETTERS[i % len(LETTERS)] for i, name in enumerate(sections)}
    names = {e: found.engines[e] for e in sorted(engines)}
    left = max(len(n) for n in names.values()) + 1
    width = WIDTH - left
    lines = []
    for engine, name in names.items():
        cells = ["·"] * width
        for event in shown:
            if event.part.engine == engine:
                first = int((max(begin, event.start) - begin) / (end - begin) * width)
                last = max(first + 1, round((min(end, event.end) - begin) / (end - begin) * width))
                letter = letters[found.section(event.part)]
                for i in range(first, min(last, width)):
                    cells[i] = letter.lower() if event.batch % 2 else letter
        lines.append(f"{name:<{left}}{''.join(cells)}")
    legend = "  ".join(f"{letter} {name}" for name, letter in letters.items())
    head = f"a layer of micro-batch 0, {seconds(end - begin)}; small letters: odd micro-batches; · idle"
    return "\n".join((head, *lines, legend))


def _middle(events: list[Event]) -> list[Event]:
    """Events of the first micro-batch in a layer near the middle of its step."""
    mine = [e for e in events if e.batch == 0 and e.start >= 0 and e.part.item >= 0]
    layers = sorted({e.layer for e in mine})
    return [e for e in mine if e.layer == layers[len(layers) // 2]]
