"""`seis doctor`, `seis backup` and `seis restore`: keeping a service in good health."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seis.cli.options import DATABASE, Database, Json
from seis.cli.problems import REFUSED, UsageError

Replace = Annotated[bool, typer.Option("--replace", help="Replace what is there.")]


def doctor(json: Json = False) -> None:
    """Check the set-up of the service, and say what to fix."""
    from dataclasses import asdict

    from seis.cli.serve import _settings
    from server.ops.doctor import examine

    checks = examine(_settings({}))
    bad = any(c.state == "problem" for c in checks)
    if json:
        from seis.cli.output import print_json

        print_json({"healthy": not bad, "checks": [asdict(c) for c in checks]})
    else:
        from seis.cli.output import console, sentence

        out = console()
        colours = {"ok": "green", "warning": "yellow", "problem": "red"}
        for check in checks:
            state = f"[{colours[check.state]}]{check.state:<8}[/{colours[check.state]}]"
            out.print(f"{state} {check.name}: {sentence(check.found)}", soft_wrap=True)
            if check.fix:
                out.print(f"         {sentence(check.fix)}", soft_wrap=True)
    if bad:
        raise typer.Exit(REFUSED)


def backup(
    file: Annotated[Path, typer.Argument(help="Where the copy goes.")],
    database: Database = DATABASE,
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Copy the database into a file, also while the service runs."""
    from server.ops.backup import BackupError
    from server.ops.backup import backup as copy

    try:
        size = copy(database, file, replace)
    except BackupError as error:
        raise UsageError(str(error)) from None
    if json:
        from seis.cli.output import print_json

        print_json({"file": str(file), "bytes": size})
    else:
        typer.echo(f"{file}: {size / 1e6:,.1f} MB")


def restore(
    file: Annotated[Path, typer.Argument(help="A copy made by `seis backup`.")],
    database: Database = DATABASE,
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Put a copy in the place of the database; the service must be stopped."""
    from db import utc_now
    from server.ops.backup import BackupError
    from server.ops.backup import restore as put_back

    try:
        kept = put_back(file, database, utc_now(), replace)
    except BackupError as error:
        raise UsageError(str(error)) from None
    if json:
        from seis.cli.output import print_json

        print_json({"restored": True, "kept": None if kept is None else str(kept)})
    else:
        typer.echo("restored" + (f"; the old database is kept in {kept}" if kept else ""))
