"""`seis token`: who may use a service that others can reach."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from seis.cli.options import DATABASE, Database, Json

app = typer.Typer(help="Make, list and revoke tokens of the service.", no_args_is_help=True)


class Scope(StrEnum):
    """What a token allows; each holds those before it."""

    read = "read"
    submit = "submit"
    admin = "admin"


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Whose it is, or what for.")],
    scope: Annotated[Scope, typer.Option(help="What it allows.")] = Scope.submit,
    days: Annotated[float, typer.Option(help="After which it ends; 0 for never.")] = 90.0,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Make a token and print it; it is not shown again."""
    import db
    from seis.cli.problems import UsageError
    from server.access.tokens import create_token

    if not name.strip() or not name.isprintable() or len(name) > 100:
        raise UsageError("a name must be 1 to 100 visible characters on one line; choose another")
    if not 0 <= days <= 3650:
        raise UsageError(f"--days must be from 0 to 3650, but got {days:g}")
    with db.Database.open(database) as opened:
        token, text = create_token(opened, name.strip(), scope.value, db.utc_now(), days or None)
    if json:
        from seis.cli.output import print_json

        print_json({"id": token.id, "scope": token.scope, "expires_at": token.expires_at, "token": text})
    else:
        typer.echo(text)


@app.command("list")
def list_(database: Database = DATABASE, json: Json = False) -> None:
    """List tokens; their text is not kept."""
    import db
    from server.access.tokens import is_live

    now = db.utc_now()
    with db.Database.open(database) as opened:
        found = [
            {"id": t.id, "name": t.name, "scope": t.scope, "valid": is_live(t, now),
             "expires_at": t.expires_at, "used_at": t.used_at}
            for t in opened.list_tokens()
        ]  # fmt: skip
    if json:
        from seis.cli.output import print_json

        print_json(found)
        return
    from seis.cli.output import console, table

    rows = [
        [str(t["name"]), str(t["id"]), str(t["scope"]), "valid" if t["valid"] else "ended",
         f"{t['expires_at']:%Y-%m-%d}" if t["expires_at"] else "never"]
        for t in found
    ]  # fmt: skip
    console().print(table(("name", "id", "scope", "state", "ends"), rows, "lllll"))


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="The id that `seis token list` shows.")],
    database: Database = DATABASE,
) -> None:
    """End a token and its sessions at once."""
    import db

    with db.Database.open(database) as opened:
        ended = opened.revoke_token(token)
    typer.echo(f"{ended.name}: ended")
