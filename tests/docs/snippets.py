"""Runs the fenced blocks of a page in order, in one folder and one Python namespace per page.

    ```sh               run by bash; must exit with 0, or with n where the fence says `exit=n`
    ```python           run in this process
    ```text             after one of the two: what it prints, to the letter; a line `...` stands for any lines
    ```roof             a complete design: it must parse, and lower
    ```LANGUAGE file=f  written to the file f for the blocks after it (and, as `roof`, parsed as well)
    ```console          shown for illustration, never run

A block of `make` lines is not run: its targets must exist. `python -m tests.docs.snippets` writes what the
blocks print today into the pages, except where `...` stands.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT, Block, blocks, pages

SECONDS = 300
_ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Printed:
    """What a block printed, and the block that says what it should."""

    block: Block
    output: str
    expected: Block | None
    problem: str = ""

    @property
    def differs(self) -> bool:
        return self.expected is not None and not alike(self.output, self.expected.text)


@dataclass(slots=True)
class Runner:
    """One page's folder and namespace."""

    folder: Path
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__docs__"})

    def run(self, found: list[Block]) -> Iterator[Printed]:
        """Run the blocks of a page in order; a block that fails ends it."""
        for position, block in enumerate(found):
            after = found[position + 1] if position + 1 < len(found) else None
            expected = after if after is not None and after.kind == "text" and after.follows else None
            output, problem = self._run(block)
            yield Printed(block, output, expected, problem)
            if problem:
                return

    def _run(self, block: Block) -> tuple[str, str]:
        if name := block.option("file"):
            (self.folder / name).write_text(block.text, encoding="utf-8")
        match block.kind:
            case "sh":
                return self._shell(block)
            case "python":
                return self._python(block)
            case "roof":
                return "", _lowered(block.text)
            case "text" | "console":
                return "", ""
            case _ if name:
                return "", ""
        return "", f"a block must be sh, python, text, roof or console, or have file=, but is {block.kind!r}"

    def _shell(self, block: Block) -> tuple[str, str]:
        targets = [line.split()[1:2] for line in block.text.splitlines() if line.startswith("make ")]
        if len(targets) == len(block.text.splitlines()):
            return "", _made([name for target in targets for name in target])
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.text], cwd=self.folder, env=_environment(self.folder),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        wanted = int(block.option("exit", "0"))
        if done.returncode != wanted:
            return done.stdout, f"must exit with {wanted}, but exited with {done.returncode}:\n{done.stdout}"
        return done.stdout, ""

    def _python(self, block: Block) -> tuple[str, str]:
        printed = io.StringIO()
        before = Path.cwd()
        try:
            os.chdir(self.folder)
            with contextlib.redirect_stdout(printed):
                exec(compile(block.text, f"<line {block.first}>", "exec"), self.namespace)
        except Exception:
            return printed.getvalue(), traceback.format_exc()
        finally:
            os.chdir(before)
        return printed.getvalue(), ""


def _environment(folder: Path) -> dict[str, str]:
    """The surroundings of a shell block: `seis` is this repository's, at 80 columns, without colours."""
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    seis = tools / "seis"
    start = "from seis.cli.main import main; main()"
    seis.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{start}' \"$@\"\n")
    seis.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SEIS_", "PYTEST_"))}
    return {
        **kept,
        "PATH": f"{tools}{os.pathsep}{kept.get('PATH', '')}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


def _lowered(text: str) -> str:
    from rooflang.errors import RoofLangError
    from rooflang.lower import lower
    from rooflang.parser import parse

    try:
        lower(parse(text))
    except RoofLangError as error:
        return str(error)
    return ""


def _made(targets: list[str]) -> str:
    known = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    missing = [t for t in targets if t not in known]
    return f"the Makefile has no target {missing[0]!r}" if missing else ""


def alike(output: str, expected: str) -> bool:
    """Whether an output is as expected; blanks at the ends of lines do not count."""
    parts = [[]]  # type: list[list[str]]
    for line in expected.splitlines():
        if line.strip() == _ELLIPSIS:
            parts.append([])
        else:
            parts[-1].append(re.escape(line.rstrip()) + r"\n")
    pattern = r"(?:.*\n)*?".join("".join(part) for part in parts)
    shown = "".join(line.rstrip() + "\n" for line in output.splitlines())
    return re.fullmatch(pattern, shown) is not None


def rewrite(page: Path) -> bool:
    """Write what a page's blocks print into it; True if it changed. Raises RuntimeError if one fails."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        for printed in reversed(list(Runner(Path(folder)).run(blocks(text)))):
            if printed.problem:
                raise RuntimeError(f"{page.name}, line {printed.block.first}: {printed.problem}")
            wanted = printed.expected
            if wanted is not None and printed.differs and _ELLIPSIS not in wanted.text.split():
                shown = [f"{line.rstrip()}\n" for line in printed.output.splitlines()]
                lines[wanted.first - 1 : wanted.last] = shown
    page.write_text("".join(lines), encoding="utf-8")
    return "".join(lines) != text


if __name__ == "__main__":
    for one in pages():
        if rewrite(one):
            print(f"{one.relative_to(ROOT)} rewritten")
