"""The program `seis`: its commands, and what happens when one fails.

Command files import only typer at their top, so that the program starts at once; each imports what it
needs when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from seis.cli import (
    baseline,
    compare,
    devices,
    evaluate,
    explain,
    frontier,
    gap,
    importing,
    memory,
    models,
    operations,
    replay,
    schedules,
    search,
    serve,
    service,
    show,
    tokens,
    validate,
    verify,
)
from seis.cli.problems import FAULT, INTERRUPTED, UNUSABLE, is_users, report

LOCAL = ("serve", "worker", "doctor", "backup", "restore", "token", "schedule")
"""Commands that are about this machine, whatever server is named."""

app = typer.Typer(
    name="seis",
    help="Searches for better ways to run large language models, and says how fast a design can be.",
    epilog="`seis search` alone searches designs for DeepSeek-V4-Pro on 64 B300.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
for _name, _command in (
    ("models", models.models),
    ("devices", devices.devices),
    ("import", importing.import_),
    ("show", show.show),
    ("evaluate", evaluate.evaluate),
    ("baseline", baseline.baseline),
    ("compare", compare.compare),
    ("service", service.service),
    ("verify", verify.verify),
    ("validate", validate.validate),
    ("gap", gap.gap),
    ("search", search.search),
    ("replay", replay.replay),
    ("frontier", frontier.frontier),
    ("explain", explain.explain),
    ("memory", memory.memory),
    ("serve", serve.serve),
    ("worker", serve.worker),
    ("doctor", operations.doctor),
    ("backup", operations.backup),
    ("restore", operations.restore),
):
    app.command(_name)(_command)
app.add_typer(tokens.app, name="token")
app.add_typer(schedules.app, name="schedule")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"seis {version('seis')}")
        raise typer.Exit


@app.callback()
def _seis(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Searches for better ways to run large language models, and says how fast a design can be."""


def main() -> None:
    """Run the command of `sys.argv` and exit with its code."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run(arguments: list[str]) -> object:
    """Run a command here or, with --server before or after its name, let a service answer it."""
    url = os.environ.get("SEIS_SERVER", "")
    for i, text in enumerate(arguments):
        if text == "--server" and i + 1 < len(arguments):
            url, arguments = arguments[i + 1], [*arguments[:i], *arguments[i + 2 :]]
            break
        if text.startswith("--server="):
            url, arguments = text.partition("=")[2], [*arguments[:i], *arguments[i + 1 :]]
            break
    if not url or not arguments or arguments[0] in LOCAL:
        return app(args=arguments, prog_name="seis", standalone_mode=False)
    from seis.cli import remote

    remote.use(url)
    return remote.app(args=arguments, prog_name="seis", standalone_mode=False)


def run(arguments: Sequence[str]) -> int:
    """Run one command; every error is one sentence on stderr, under `--json` one JSON object."""
    as_json = "--json" in arguments
    try:
        code = _run(list(arguments) or ["--help"])
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if os.environ.get("SEIS_TRACEBACK"):
            raise
        report(error, as_json)
        return UNUSABLE if is_users(error) else FAULT
    if code == INTERRUPTED:
        report(KeyboardInterrupt(), as_json)
    return code if isinstance(code, int) else 0
