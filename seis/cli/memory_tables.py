"""What is remembered, for people: 80 columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seis.cli.output import WIDTH, console, sentence, short, table
from seis.cli.units import percent


def print_memory(found: Mapping[str, Any]) -> None:
    """Notes, hypotheses and rules, each if there are any; or what was removed or taken in."""
    out = console()
    for what in ("removed", "new"):
        if what in found:
            out.print(f"{what}: " + ", ".join(f"{n} {kind}" for kind, n in found[what].items()))
            return
    if not any(found.values()):
        out.print("Nothing is remembered of this yet; searches fill memory, and so does seis memory add.")
        return
    if len(found["notes"]) == 1 and not found["rules"]:
        _print_note(found["notes"][0])
    elif found["notes"]:
        rows = [[" ".join(n["text"].split()), n["author"], n["id"][:8]] for n in found["notes"]]
        out.print(table(["note", "author", "id"], rows, "lll"))
    if found["hypotheses"]:
        out.print()
        rows = [
            [h["statement"], h["verdict"], _gain(h["prediction"]), _gain(h["measurement"]),
             str(h["trials"]), h["id"][:8]]
            for h in found["hypotheses"]
        ]  # fmt: skip
        out.print(table(["hypothesis", "verdict", "predicted", "measured", "trials", "id"], rows, "llrrrl"))
    if found["rules"]:
        out.print()
        rows = [
            [r["rule"], r["resource"] or "-", str(r["proposed"]), str(r["accepted"]), str(r["improved"]),
             _gain(r["mean_gain"])]
            for r in found["rules"]
        ]  # fmt: skip
        out.print(
            table(["rule", "where binds", "tried", "accepted", "improved", "mean gain"], rows, "llrrrr")
        )


def _print_note(note: Mapping[str, Any]) -> None:
    out = console()
    about = " ".join(filter(None, [note["author"], note["model"], *note["tags"]]))
    out.print(f"[bold]{note['id'][:16]}[/bold]  {sentence(short(about, WIDTH - 18))}")
    out.print(sentence(note["text"]))


def _gain(value: float | None) -> str:
    return "-" if value is None else percent(value)
