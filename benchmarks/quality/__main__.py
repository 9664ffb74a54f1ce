"""Hypervolume against evaluations: our proposers and their mix, NSGA-II and random search.

Run: python -m benchmarks.quality [MODEL DEVICE COUNT] [--seeds 10] [--evaluations 96] [--methods mix,nsga2]
     [--log quality.db.jsonl] [--small] [--write]

All get the same conventional structures, rules, verifier, evaluator and knowledge of what was tried; an
evaluation is one new structure that is verified and, if it passes, swept. Finished runs are in the log, the
outcomes of structures beside it, so the command goes on where it was stopped. `--small` searches a space that
is tried whole. `--write` puts table and picture into docs. Needs the extra `bench` (Optuna).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent import Problem
from benchmarks.quality.memo import MemoExecutor, remembering
from benchmarks.quality.report import picture, table
from benchmarks.quality.runs import METHODS, SEEDLESS, Log, Run, run, version_of
from benchmarks.quality.small import small_search

PAGE, PICTURE = Path("docs/proposers.md"), Path("docs/quality.svg")


def compare(
    problem: Problem, methods: Sequence[str], seeds: int, evaluations: int, log: Log, executor: MemoExecutor
) -> list[Run]:
    """The runs of every method and seed; those that the log holds are not done again."""
    rules, found = remembering(problem.rules()), []
    for seed in range(seeds):
        for method in methods:
            if seed and method in SEEDLESS:
                continue
            seeded = replace(problem, seed=seed)
            known = log.get(seeded, method, evaluations)
            if known is None:
                known = run(seeded, method, evaluations, rules, executor)
                log.add(known)
                last = known.volumes[-1] - known.start if known.volumes else 0.0
                print(f"  {method}, seed {seed}: hypervolume {last:+.3f}", flush=True)
            found.append(known)
    return found


def replaced(arguments: str, lines: Sequence[str]) -> None:
    """Put a table into the page, after the command that made it, in place of its former one."""
    command = f"$ python -m benchmarks.quality {arguments}\n"
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition(command)
    if not mark:
        raise SystemExit(f"{PAGE} must hold the command with {arguments}, but does not; add it in a block")
    PAGE.write_text(before + mark + "\n".join(lines) + "\n" + rest[rest.index("```") :], encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality")
    parser.add_argument("problem", nargs="*", metavar="MODEL DEVICE COUNT")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=96)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--log", type=Path, default=Path("quality.db.jsonl"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    model, device, count = given.problem or ("llama-3.1-8b", "h100-sxm", "8")
    problem = Problem(model, device, int(count))
    with MemoExecutor(given.log.with_suffix(".sqlite"), version_of("nsga2")) as executor:
        if given.small:
            lines, arguments = small_search(problem, given.seeds, executor), f"--small --seeds {given.seeds}"
        else:
            methods = given.methods.split(",")
            runs = compare(problem, methods, given.seeds, given.evaluations, Log(given.log), executor)
            lines = table(runs)
            arguments = f"{model} {device} {count} --seeds {given.seeds} --evaluations {given.evaluations}"
    print("\n".join(lines))
    if given.write:
        replaced(arguments, lines)
        if not given.small and not given.problem:
            PICTURE.write_text(picture(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
