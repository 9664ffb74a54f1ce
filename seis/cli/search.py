"""`seis search`: searches for better designs, keeps everything, and says what it found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.llm import Llm, LlmBaseUrl, LlmModel, MaxCalls, MaxCost, MaxTokens
from seis.cli.options import (
    CONTEXT,
    COUNT,
    DATABASE,
    DEVICE,
    MODEL,
    Clock,
    ClockOption,
    Context,
    Count,
    Database,
    Device,
    Json,
    Kv,
    KvOption,
    Plot,
    Setting,
    SettingOption,
    at_least,
)
from seis.cli.problems import INTERRUPTED

if TYPE_CHECKING:
    import db
    from agent import Problem, SearchResult
    from agent.companion import Companion


def search(
    model: Annotated[str, typer.Argument(help="A model, or its unique beginning.")] = MODEL,
    device: Device = DEVICE,
    count: Count = COUNT,
    other: Annotated[
        list[str] | None,
        typer.Option(
            "--other", help="A further kind of device for other pools, counted by price; repeatable."
        ),
    ] = None,
    context: Context = CONTEXT,
    structures: Annotated[int | None, typer.Option(help="Structures to try in this run.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after the round in which this passes.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that verify and evaluate.")] = 2,
    clock: ClockOption = Clock.overlapped,
    setting: SettingOption = Setting.achievable,
    kv: KvOption = Kv.served,
    llm: Llm = False,
    llm_model: LlmModel = None,
    llm_base_url: LlmBaseUrl = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Try what this YAML or JSON file lists, and nothing else.")
    ] = None,
    proposer: Annotated[
        list[str] | None, typer.Option("--proposer", help="Only this proposer; may be repeated.")
    ] = None,
    plot: Plot = None,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Search for designs that beat the conventional frontier; run again, it goes on from where it ended."""
    from agent import Problem
    from evaluator.scenario import Scenario
    from seis.cli.llm import companion_of, spending
    from seis.cli.pictures import check_picture
    from seis.cli.sources import open_database

    at_least("--count", count, 1)
    at_least("--structures", structures, 1)
    at_least("--seconds", seconds, 0)
    at_least("--seed", seed, 0)
    at_least("--workers", workers, 1)
    check_picture(plot)
    problem = Problem(
        model, device, count, Scenario(context), setting.value, clock.value, seed,
        "bf16" if kv is Kv.bf16 else "served", others=tuple(other or ()),
    )  # fmt: skip
    companion = companion_of(llm, llm_model, llm_base_url, max_tokens, max_cost, max_calls)
    chosen = _chosen(plan, proposer)
    with open_database(database, create=True) as opened:
        result = _run(problem, opened, structures, seconds, workers, json, companion, chosen)
        spent = spending(opened, result.search_id, companion)
        _keep_best(problem, opened, result)
        if json:
            from seis.cli.output import print_json

            print_json(describe(result) | ({"llm": spent} if spent else {}))
        else:
            from seis.cli.search_tables import print_result

            print_result(problem, opened, result, database, spent)
        if plot is not None:
            _draw(plot, opened, result)
    if result.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)


def describe(result: SearchResult) -> dict[str, Any]:
    """The result as `--json` prints it."""
    from seis.cli.baseline import point_json

    best = result.best
    return {
        "baseline_frontier": [point_json(p, p.design) for p in result.baseline_frontier],
        "frontier": [point_json(p, p.design) for p in result.frontier],
        "simultaneous_gain": result.simultaneous_gain,
        "hypervolume_gain": result.hypervolume_gain,
        "gap_to_limit": result.gap_to_limit,
        "gap_to_relaxation": result.gap_to_relaxation,
        "best": None
        if best is None
        else {
            "design": best.design,
            "structure": best.structure,
            "summary": best.summary,
            "certificate": best.certificate,
            "false_accept_bound": best.false_accept_bound,
            "gain": best.gain,
            "simulated_gain": best.simulated.gain,
            "simulated_seconds": {"old": best.simulated.old_seconds, "new": best.simulated.new_seconds},
            "vanishes": best.vanishes,
            "old": point_json(best.old, best.old.design),
            "new": point_json(best.new, best.new.design),
        },
        "structures": result.structures,
        "accepted": result.accepted,
        "refused": result.refused,
        "failed": result.failed,
        "points": result.points,
        "seconds": result.seconds,
        "stopped": result.stopped,
        "quiet_structures": result.quiet,
        "stagnant": result.stagnant,
        "search": result.search_id,
    }


def _run(
    problem: Problem,
    database: db.Database,
    structures: int | None,
    seconds: float | None,
    workers: int,
    quiet: bool,
    companion: Companion | None,
    chosen: dict[str, Any],
) -> SearchResult:
    from agent import Budget
    from agent import search as run

    budget = Budget(seconds=seconds) if structures is None else Budget(structures=structures, seconds=seconds)
    if quiet:
        return run(problem, database, budget=budget, workers=workers, companion=companion, **chosen)
    from seis.cli.progress import Bar

    with Bar() as bar:
        return run(
            problem, database, budget=budget, progress=bar, workers=workers, companion=companion, **chosen
        )


def _chosen(plan: Path | None, names: list[str] | None) -> dict[str, Any]:
    """Who proposes, as `agent.search` takes it. A plan is played alone, whatever memory holds."""
    from seis.cli.problems import UsageError

    if plan is None:
        return {"proposer_names": names} if names else {}
    if names:
        raise UsageError("--plan must be the only proposer, but got --proposer too; leave one of them out")
    from agent.plan import read_plan
    from agent.scripted import scripted

    return {"proposers": [scripted(read_plan(plan))], "memory": False}


def _keep_best(problem: Problem, database: db.Database, result: SearchResult) -> None:
    """Store the best design with its numbers, so that `seis show` and `seis evaluate` find it by hash."""
    from db import Design

    best = result.best
    if best is None:
        return
    stored = database.get_design(best.structure)
    database.save_design(
        Design(
            design_hash=best.design,
            structure_hash=stored.structure_hash,
            text=best.text,
            model=problem.model,
            summary=best.summary,
            rule=stored.rule,
        )
    )


def _draw(path: Path, database: db.Database, result: SearchResult) -> None:
    from seis.cli.frontier import draw
    from seis.cli.stored_search import read

    draw(path, read(database, result.search_id))
