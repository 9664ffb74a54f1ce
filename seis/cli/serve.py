"""`seis serve` and `seis worker`: the service, and workers for it on further machines."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from seis.cli.problems import UsageError


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 8000, and 0 for any free one.")] = None,
    database: Annotated[
        str | None, typer.Option(help="A SQLite file or a PostgreSQL URL; seis.db, or SEIS_DATABASE.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes per running job; 2.")] = None,
    first_job: Annotated[
        bool | None, typer.Option("--first-job/--no-first-job", help="Begin an empty database with a search.")
    ] = None,
) -> None:
    """Run the service: REST API, jobs and their workers. Every setting is also a variable SEIS_..."""
    given = {
        "host": host, "port": port, "database": database, "workers": workers, "first_job": first_job,
    }  # fmt: skip
    settings = _settings({k: v for k, v in given.items() if v is not None})
    from server.serve import NotProtectedError
    from server.serve import serve as run

    try:
        run(settings)
    except NotProtectedError as error:
        raise UsageError(str(error)) from None


def worker(
    processes: Annotated[int | None, typer.Option(help="Processes; as SEIS_WORKERS says, or 2.")] = None,
) -> None:
    """Run workers for the executor `dramatiq`: they take work from SEIS_REDIS_URL."""
    settings = _settings({})
    if not settings.redis:
        raise UsageError(
            "SEIS_REDIS_URL must name a Redis for workers, but is not set; set it to redis://..."
        )
    from server.executors.worker import supervise

    supervise(settings.redis, settings.queue_prefix, processes or settings.workers)


def _settings(given: dict[str, Any]) -> Any:
    """The settings, with what was given on the command line; an unusable one is a sentence."""
    from pydantic import ValidationError

    from server.settings import Settings

    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        shown = f"SEIS_{name.upper()} (--{name.replace('_', '-')})" if name else "settings"
        raise UsageError(
            f"{shown} must be usable, but {first['msg'][:1].lower()}{first['msg'][1:]}"
        ) from None
