"""`seis schedule`: searches that begin by themselves, at night for example."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from seis.cli.options import COUNT, DATABASE, Count, Database, Device, Json

app = typer.Typer(help="Plan searches that begin by themselves.", no_args_is_help=True)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Its own name.")],
    cron: Annotated[str, typer.Option(help="Minute hour day month weekday, such as '0 22 * * MON-FRI'.")],
    model: Annotated[list[str], typer.Option(help="A model; may be given more than once.")],
    timezone: Annotated[str, typer.Option(help="An IANA time zone.")] = "UTC",
    window: Annotated[
        str | None, typer.Option(metavar="HH:MM-HH:MM", help="Pause outside of these local hours.")
    ] = None,
    in_turn: Annotated[bool, typer.Option("--in-turn", help="One model per run, not all of them.")] = False,
    device: Device = "b300-sxm",
    count: Count = COUNT,
    structures: Annotated[int, typer.Option(help="Structures per model and run.")] = 1000,
    seconds: Annotated[float | None, typer.Option(help="Time of a run, shared by its models.")] = None,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Plan searches of one or several models."""
    asked: dict[str, Any] = {
        "name": name, "cron": cron, "timezone": timezone, "models": model,
        "turn": "one" if in_turn else "all", "budget": {"seconds": seconds},
        "job": {"device": device, "count": count, "budget": {"structures": structures}},
    }  # fmt: skip
    if window is not None:
        start, _, end = window.partition("-")
        asked["window"] = {"start": start.strip(), "end": end.strip()}
    made = _made(asked)
    import db

    with db.Database.open(database) as opened:
        opened.create_schedule(made)
    _show([made], json)


@app.command("list")
def list_(database: Database = DATABASE, json: Json = False) -> None:
    """List schedules with their next fire."""
    import db

    with db.Database.open(database) as opened:
        _show(opened.list_schedules(), json)


@app.command("next")
def next_(
    cron: Annotated[str, typer.Argument(help="Minute hour day month weekday.")],
    timezone: Annotated[str, typer.Option(help="An IANA time zone.")] = "UTC",
    count: Annotated[int, typer.Option(min=1, max=100, help="How many.")] = 5,
    json: Json = False,
) -> None:
    """Show when an expression fires, with days of changed clocks marked."""
    from db import utc_now
    from seis.cli.problems import UsageError
    from server.schedules.request import next_fires
    from server.schedules.timetable import TimetableError

    try:
        fires = next_fires(cron, timezone, utc_now(), count)
    except TimetableError as error:
        raise UsageError(str(error)) from None
    if json:
        from seis.cli.output import print_json

        print_json(fires)
        return
    for fire in fires:
        shift = fire["clock_change_seconds"]
        said = f"  clocks go {'forward' if shift > 0 else 'back'} by {abs(shift) // 60} min" if shift else ""
        typer.echo(f"{fire['at']:%a %Y-%m-%d %H:%M} UTC  {fire['local']}{said}")


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="The schedule's name.")], database: Database = DATABASE
) -> None:
    """Forget a schedule, its runs and reports; what its searches found stays."""
    import db
    from seis.cli.problems import UsageError

    with db.Database.open(database) as opened:
        found = [s for s in opened.list_schedules() if s.name == name]
        if not found:
            raise UsageError(f"a schedule must exist to be removed, but there is none {name!r}; list them")
        if any(r.schedule_id == found[0].id for r in opened.active_runs()):
            raise UsageError(f"a schedule must have no run under way, but {name!r} has one; cancel it first")
        opened.remove_schedule(found[0].id)
    typer.echo(f"{name}: removed")


def _made(asked: dict[str, Any]) -> Any:
    """A checked schedule; what cannot be is one sentence."""
    from pydantic import ValidationError

    from db import utc_now
    from seis.cli.problems import UsageError
    from server.jobs.submit import check_catalogued
    from server.problems import Refusal
    from server.schedules.request import ScheduleIn, make

    try:
        return make(ScheduleIn.model_validate(asked), utc_now(), check_catalogued)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{where}: {said}" if where else said) from None
    except Refusal as error:
        raise UsageError(error.detail) from None


def _show(schedules: Any, json: bool) -> None:
    from db import utc_now
    from server.schedules.routes import shown

    found = [shown(s, utc_now()) for s in schedules]
    if json:
        from seis.cli.output import print_json

        print_json(found)
        return
    from seis.cli.output import console, table

    rows = []
    for s in found:
        at = s["next_fires"][0]["local"][:16].replace("T", " ") if s["next_fires"] else "disabled"
        rows.append([s["name"], s["cron"], s["timezone"], at, str(len(s["jobs"]))])
    console().print(table(("name", "cron", "time zone", "next", "jobs"), rows, "llllr"))
