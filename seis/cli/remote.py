"""Commands with `--server URL`: the same questions, answered by a running service."""

from __future__ import annotations

import json as jsons
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import (
    CONTEXT,
    COUNT,
    DEVICE,
    MODEL,
    Clock,
    ClockOption,
    Context,
    Count,
    Device,
    Json,
    Kv,
    KvOption,
    Setting,
    SettingOption,
)
from seis.cli.problems import REFUSED, UsageError

if TYPE_CHECKING:
    from seis.client import Client, Job

app = typer.Typer(
    name="seis", add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True,
    help="With --server, commands ask a running service.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)  # fmt: skip

RATES = ("tokens_per_second_per_user", "tokens_per_second_per_gpu")

URL = ""
"""The server that is asked; set once, before a command runs."""


def use(url: str) -> None:
    """Ask this server."""
    global URL
    URL = url


def _client() -> Client:
    from seis.client import Client

    return Client(URL)


@app.command()
def models(
    name: Annotated[str | None, typer.Argument(help="One model, or its unique beginning.")] = None,
    json: Json = False,
) -> None:
    """List the service's models, or say what one counts."""
    with _client() as client:
        _show(client.model(name) if name else client.models(), json)


@app.command()
def devices(
    name: Annotated[str | None, typer.Argument(help="One device or system.")] = None, json: Json = False
) -> None:
    """List the service's devices and systems, or every figure of one."""
    with _client() as client:
        _show(client.device(name) if name else client.devices(), json)


@app.command()
def jobs(
    state: Annotated[str | None, typer.Option(help="Those in this state alone.")] = None, json: Json = False
) -> None:
    """List the service's jobs, newest first."""
    with _client() as client:
        found = list(client.jobs(state))
        if json:
            _show([_job(j) for j in found], True)
            return
        from seis.cli.output import console, table

        rows = [(j.id[:12], j.state, j.model, f"{j.count} x {j.device}", _gain(j)) for j in found]
        console().print(table(("job", "state", "model", "devices", "best gain"), rows, "llllr"))


class Action(StrEnum):
    """What can be done to a job."""

    show = "show"
    pause = "pause"
    resume = "resume"
    cancel = "cancel"
    clone = "clone"
    export = "export"


@app.command()
def job(
    name: Annotated[str, typer.Argument(help="A job's identifier, or its beginning.")],
    action: Annotated[
        Action, typer.Argument(help="What to do; `export` prints all of its result as JSON.")
    ] = Action.show,
    json: Json = False,
) -> None:
    """Show, pause, resume, cancel, clone or export a job of the service."""
    with _client() as client:
        known = [j.id for j in client.jobs() if j.id.startswith(name)]
        if len(known) != 1:
            raise UsageError(
                f"a job must be named by its beginning, but {len(known)} begin with {name!r}; list the jobs"
            )
        if action is Action.export:
            _show(client.export(known[0]), True)
            return
        does = {
            Action.show: client.job, Action.pause: client.pause, Action.resume: client.resume,
            Action.cancel: client.cancel, Action.clone: client.clone,
        }  # fmt: skip
        found = does[action](known[0])
        if json:
            _show(_job(found), True)
        else:
            _print_job(found)


@app.command()
def search(
    model: Annotated[str, typer.Argument(help="A model, a config.json, or a .roof file.")] = MODEL,
    device: Device = DEVICE,
    count: Count = COUNT,
    context: Context = CONTEXT,
    structures: Annotated[int, typer.Option(help="Structures to try.")] = 100,
    seconds: Annotated[float | None, typer.Option(help="Stop after the round in which this passes.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    priority: Annotated[int, typer.Option(help="Jobs of a higher one run first.")] = 0,
    clock: ClockOption = Clock.overlapped,
    setting: SettingOption = Setting.achievable,
    kv: KvOption = Kv.served,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Wait for the result.")] = True,
    json: Json = False,
) -> int:
    """Submit a search as a job, and follow it; Ctrl-C stops the following alone."""
    request = {
        **_what(model), "device": device, "count": count, "scenario": {"context_tokens": context},
        "seed": seed, "priority": priority, "clock": clock.value, "setting": setting.value, "kv": kv.value,
    }  # fmt: skip
    with _client() as client:
        job = client.submit(structures=structures, seconds=seconds, **request)
        if follow:
            job = _follow(client, job, json)
        if json:
            _show(_job(job), True)
        else:
            _print_job(job)
    return REFUSED if job.state == "failed" else 0


@app.command()
def frontier(
    search: Annotated[str | None, typer.Argument(help="A search's id or its model; the newest.")] = None,
    json: Json = False,
) -> None:
    """Print the frontier of a search of the service beside the conventional one."""
    with _client() as client:
        found = client.frontier(_search(client, search))
    if json:
        _show(found, True)
        return
    from seis.cli.output import console, table

    rows = [
        (p["design"][:12], *(f"{p[key]:,.1f}" for key in RATES), f"{p['batch']:,}") for p in found["frontier"]
    ]
    out = console()
    out.print(f"[bold]{found['model']} on {found['count']} x {found['device']}[/bold], {found['state']}")
    out.print(table(("structure", "tokens/s/user", "tokens/s/GPU", "sequences"), rows, "lrrr"))
    if found["simultaneous_gain"] is not None:
        out.print(f"Better on both axes by {found['simultaneous_gain']:+.1%}.")


@app.command()
def explain(
    design: Annotated[str | None, typer.Argument(help="A structure's hash; the best one.")] = None,
    search: Annotated[str | None, typer.Option(help="A search's id or its model; the newest.")] = None,
    json: Json = False,
) -> None:
    """Explain a structure that a search of the service has discovered."""
    with _client() as client:
        name = _search(client, search)
        if design is None:
            best = next(iter(client.discoveries(name)), None)
            if best is None:
                raise UsageError(f"search {name[:12]} must have a discovery to explain, but has none yet")
            design = str(best["structure"])
        found = client.explain(name, design)
    if json:
        _show(found, True)
    else:
        from seis.cli.output import console, sentence

        console().print(sentence(found["text"]))


def _what(model: str) -> dict[str, Any]:
    path = Path(model)
    if model.endswith(".roof"):
        return {"text": path.read_text(encoding="utf-8"), "name": path.stem}
    if model.endswith(".json"):
        try:
            content = jsons.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise UsageError(f"{model} must be JSON, but is not; correct it") from None
        return {"config": content, "name": path.parent.name if path.stem == "config" else path.stem}
    return {"model": model}


def _search(client: Client, name: str | None) -> str:
    found = next(iter(client.frontiers(name if name and not _is_id(name) else None)), None)
    if name and _is_id(name):
        return name
    if found is None:
        raise UsageError("a search must have run to be read, but there is none; submit one first")
    return str(found["id"])


def _is_id(name: str) -> bool:
    return len(name) >= 4 and set(name) <= set("0123456789abcdef")


def _follow(client: Client, job: Job, quiet: bool) -> Job:
    from dataclasses import fields

    from agent.progress import Progress
    from seis.cli.progress import Bar

    keys = {f.name for f in fields(Progress)}
    with Bar() as bar:
        for event in client.follow(job.id):
            progress = event.data.get("progress")
            if progress and not quiet:
                bar(Progress(**{k: v for k, v in progress.items() if k in keys}))
    return client.job(job.id)


def _job(job: Job) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(job)


def _gain(job: Job) -> str:
    return f"{job.progress['best_gain']:+.1%}" if job.progress else ""


def _print_job(job: Job) -> None:
    from seis.cli.output import console, facts

    rows = [("job", f"{job.id[:12]}: {job.state}"), ("model", f"{job.model} on {job.count} x {job.device}")]
    if job.problem is not None:
        rows.append(("problem", str(job.problem.get("detail"))))
    if job.result is not None:
        rows.append(("better on both axes", f"{job.result['simultaneous_gain']:+.1%}"))
        rows.append(("structures", f"{job.result['structures']} tried, {job.result['accepted']} accepted"))
        rows.append(("see", f"seis frontier {str(job.search)[:12]}, seis explain"))
    console().print(facts(rows))


def _show(value: Any, json: bool) -> None:
    from seis.cli.output import console, print_json, sentence

    if json or isinstance(value, dict):
        print_json(value)
    else:
        console().print(sentence("\n".join(value)))
