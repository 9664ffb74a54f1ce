"""What runs share: outcomes of structures, and the sites of rules, so that many seeds are affordable.

A structure that another run tried is not tried again, but still counts as an evaluation of this run.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from agent.executor import Failure, attempt
from agent.problem import identity
from agent.trial import Judgement, Laboratory, Outcome, Task
from mutations.rule import Rule, Site
from rooflang.design import Design

Item = TypeVar("Item")
Answer = TypeVar("Answer")

Find: TypeAlias = Callable[[Design], tuple[Site, ...]]

REMEMBERED = 4000
"""Designs whose sites are remembered."""


class MemoExecutor:
    """Runs trials in this process unless their outcome is in a file of `version`; verifies with seed 0."""

    workers = 1

    def __init__(self, path: Path, version: str) -> None:
        self._base = sqlite3.connect(path, isolation_level=None, timeout=60)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("CREATE TABLE IF NOT EXISTS outcomes (name TEXT PRIMARY KEY, outcome TEXT)")
        self._version = version
        self._proofs: dict[str, str] = {}
        self.tried = 0

    def map(
        self,
        function: Callable[[Any, Item], Answer],
        context: object,
        items: Sequence[Item],
        done: Callable[[int], None] | None = None,
    ) -> list[Answer | Failure]:
        """As `agent.executor.Executor`, for trials alone."""
        answers: list[Any] = []
        for position, item in enumerate(items):
            answers.append(self._one(function, context, item))
            if done is not None:
                done(position)
        return answers

    def _one(self, function: Callable[[Any, Any], Any], context: Any, task: Any) -> Outcome | Failure:
        name = self._name(context, task)
        row = self._base.execute("SELECT outcome FROM outcomes WHERE name = ?", (name,)).fetchone()
        if row is not None:
            return _read(json.loads(row[0]))
        problem = replace(context.problem, seed=0)
        answer = attempt(function, replace(context, problem=problem, proofs=self._proofs), task)
        self.tried += 1
        if isinstance(answer, Outcome):
            self._proofs |= answer.proofs
            text = json.dumps(asdict(replace(answer, proofs={})))
            self._base.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", (name, text))
        return answer

    def _name(self, laboratory: Laboratory, task: Task) -> str:
        scenario = replace(laboratory.problem, seed=0).hash
        kind = f"{int(task.same_matrix_work)}{task.conventional}"
        return f"{self._version} {scenario} {identity(task.design)} {kind}"

    def close(self) -> None:
        self._base.close()

    def __enter__(self) -> MemoExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read(stored: dict[str, Any]) -> Outcome:
    judgement = stored.pop("judgement")
    if judgement is not None:
        reasons = tuple((code, text) for code, text in judgement.pop("reasons"))
        judgement = Judgement(reasons=reasons, **judgement)
    for name in ("reasons", "points", "conventional"):
        stored[name] = tuple(stored[name])
    return Outcome(judgement=judgement, **stored)


class _Sites:
    """Sites of rules on equal designs, each found once."""

    def __init__(self) -> None:
        self._designs: dict[int, tuple[Design, dict[str, tuple[Site, ...]]]] = {}
        self._equal: dict[Design, dict[str, tuple[Site, ...]]] = {}

    def find(self, rule: Rule, search: Find, design: Design) -> tuple[Site, ...]:
        held = self._designs.get(id(design))
        if held is None:
            if len(self._designs) > REMEMBERED:
                self._designs.clear()
                self._equal.clear()
            held = self._designs[id(design)] = (design, self._equal.setdefault(design, {}))
        sites, name = held[1], f"{rule.name} {search is rule.find}"
        if name not in sites:
            sites[name] = tuple(dict.fromkeys(search(design)))
        return sites[name]


def remembering(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The same rules, whose sites on a design are found once in this process."""
    memory = _Sites()

    def again(rule: Rule, search: Find) -> Find:
        return partial(memory.find, rule, search)

    return tuple(
        replace(r, find=again(r, r.find), untried=again(r, r.untried) if r.untried else None) for r in rules
    )
