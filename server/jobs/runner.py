"""The process that runs one job: `python -m server.jobs.runner`, started by a coordinator.

The first line of its standard input says what to do; the end of the input means that the coordinator is
gone, and ends it. It writes JSON lines: progress, and at last a result or a problem. SIGTERM ends it at
once; the search then continues from its last round.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from datetime import datetime
from types import FrameType
from typing import IO, Any

from agent import Budget, Executor, Problem, Progress, search
from agent.executor import executor_for
from agent.store import SearchStore
from catalogue.devices import load_device
from db import Database, Design, SearchTakenError
from db.repositories.searches import STALE_AFTER_SECONDS
from server.jobs.language import Language, keyless
from server.jobs.request import Stored
from server.jobs.result import describe
from server.problems import document, refusal_of

TAKEN_SECONDS = 2 * STALE_AFTER_SECONDS
"""How long to wait for a search whose former process died: longer than its heartbeat counts."""


def main() -> None:
    """Run the job of the first input line."""
    order = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    say = _Voice(answers)
    try:
        say(result=run(order, say))
    except Exception as error:
        refusal = refusal_of(error)
        if refusal is None:
            import traceback

            traceback.print_exc()
            detail = f"a job must end without a fault of SEIS, but {type(error).__name__}; report it"
            say(problem=document("fault", detail))
        else:
            say(problem=refusal.document())


class _Voice:
    """Writes one JSON line after another."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __call__(self, **message: Any) -> None:
        self._stream.write(json.dumps(message) + "\n")
        self._stream.flush()


def run(order: dict[str, Any], say: Any) -> dict[str, Any]:
    """Search as the stored request says; returns the result as it is stored."""
    stored = Stored.model_validate(order["request"])
    problem = stored.problem()
    told: dict[str, Any] = {}

    def tell(**progress: Any) -> None:
        told.update(progress)
        say(progress=told | {"llm": language.state()}, search=store.search_id or None)

    since = datetime.fromisoformat(order["started_at"])
    language = Language(stored.request, order["llm"], since, lambda: tell() if told else None)
    budget = _budget(stored, float(order["spent_seconds"]))
    with Database.open(order["database"]) as database:
        store = SearchStore(database, problem)

        def listen(progress: Progress) -> None:
            if not store.search_id:
                store.find()
            tell(**progress_json(progress))

        options = {"proposer_names": keyless(stored.request.proposers), "companion": language.companion}
        with _executor(order) as executor:
            result = _search(problem, database, budget, listen, executor, options)
        spent = language.spent(database, result.search_id)
        if result.best is not None:
            _keep(database, problem, result.best)
    return describe(stored, result, load_device(problem.device)) | {"llm": spent}


def _search(
    problem: Problem,
    database: Database,
    budget: Budget,
    listen: Any,
    executor: Executor,
    options: dict[str, Any],
) -> Any:
    """The search; one that a dead process still seems to run is taken over when its heartbeat is old."""
    until = time.monotonic() + TAKEN_SECONDS
    while True:
        try:
            return search(problem, database, budget=budget, progress=listen, executor=executor, **options)
        except SearchTakenError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def _budget(stored: Stored, spent: float) -> Budget:
    request = stored.request
    if request.kind == "baseline":
        return Budget(structures=0)
    seconds = request.budget.seconds
    return Budget(request.budget.structures, None if seconds is None else max(0.0, seconds - spent))


def _executor(order: dict[str, Any]) -> Executor:
    if order["executor"] == "dramatiq":
        from server.executors.remote import DramatiqExecutor

        return DramatiqExecutor(order["redis"], order["queue_prefix"], workers=order["workers"])
    return executor_for(1 if order["executor"] == "inline" else order["workers"])


def _keep(database: Database, problem: Problem, best: Any) -> None:
    """Store the best design with its numbers, so that it can be read by its hash."""
    kept = database.get_design(best.structure)
    database.save_design(
        Design(
            design_hash=best.design, structure_hash=kept.structure_hash, text=best.text, model=problem.model,
            summary=best.summary, rule=kept.rule,
        )
    )  # fmt: skip


def progress_json(p: Progress) -> dict[str, Any]:
    """Progress with an estimate of the time that is left; null before anything can be said."""
    left = p.target - p.structures
    pace = p.structures / p.seconds if p.seconds > 0 else 0.0
    return {
        "phase": p.phase, "round": p.round, "structures": p.structures, "target": p.target,
        "accepted": p.accepted, "refused": p.refused, "failed": p.failed, "points": p.points,
        "best_gain": p.best_gain, "seconds": p.seconds,
        "remaining_seconds": max(0.0, left / pace) if pace > 0 and p.target > 0 else None,
    }  # fmt: skip


def _end_with(coordinator: int) -> None:
    while os.read(coordinator, 4096):  # not the buffered stream, which the end of the interpreter locks
        pass
    os._exit(3)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
