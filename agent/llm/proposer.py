"""The proposer that asks a language model; without answers its places go to others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.llm.capabilities import MODES
from agent.llm.conversation import Conversation, End, Frame
from agent.llm.laboratory import Trials
from agent.llm.outside import Outside
from agent.llm.prompts import system_prompt, task_prompt
from agent.llm.reply import Json
from agent.llm.tools import Workbench
from agent.proposer import Proposal, Told, View

NAME = "llm"
REMEMBERED = 8
"""Results of its own proposals that a model is shown."""

BRIEF_TOKENS = 32_768
"""A context below this gets the short prompt."""

FINAL = ("wrong_key", "no_such_model", "not_an_endpoint", "budget", "refused")
"""Ends after which this run asks no more."""

FAILURES = 3
"""Rounds in a row that an endpoint may fail, before this run asks no more."""

ANSWERED = ("finished", "turns", "context", "mute")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a proposer works with; `said` hears how every conversation ended.

    `settings` are `Settings.public`: no key comes near a proposer.
    """

    settings: Mapping[str, Any]
    outside: Outside
    trials: Trials
    said: Callable[[End], None]
    first: int = 0


class LanguageModel:
    """A conversation per round. State: the number of the next exchange, the mode, and what was told.

    What ends its asking (a budget, a wrong key, an endpoint that is down) is kept for the run alone, so that
    the next run tries again.
    """

    name = NAME

    def __init__(self, state: Json | None, surroundings: Surroundings) -> None:
        state = state or {}
        self._with = surroundings
        self._number = int(state.get("number", surroundings.first))
        self._mode = str(state.get("mode", ""))
        self._told: list[Json] = list(state.get("told", []))
        self._asked = False
        self._failures = int(state.get("failures", 0))
        self._over = str(state.get("over", ""))

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        if self._asked or self._over or budget < 1 or not len(view.archive):
            return
        self._asked = True
        bench = Workbench(view, self._with.trials, self._with.outside, budget)
        self._converse(view, bench, budget)
        yield from bench.proposals

    def tell(self, told: Sequence[Told]) -> None:
        for item in told:
            self._told.append(
                {
                    "change": item.proposal.rule[:200],
                    "predicted": item.proposal.prediction[:200],
                    "status": item.status,
                    "gain_over_parent": round(item.change, 5),
                    "improved": item.improved,
                }
            )
        self._told = self._told[-REMEMBERED:]
        self._asked = False

    def state(self) -> Json:
        return {
            "number": self._number, "mode": self._mode, "told": list(self._told),
            "failures": self._failures, "over": self._over,
        }  # fmt: skip

    def _converse(self, view: View, bench: Workbench, places: int) -> None:
        outside, settings = self._with.outside, self._with.settings
        outside.record.number = self._number
        mode = self._mode or outside.mode()
        brief = int(settings["context_tokens"]) < BRIEF_TOKENS
        tools = bench.tools()
        if brief:
            tools = tuple(t for t in tools if t.name in ("list_sites", "apply_rule", "submit", "finish"))
        frame = Frame(
            settings["model"], settings["temperature"], settings["max_output_tokens"],
            settings["context_tokens"], settings["turns"], 1200 if brief else 16_000,
        )  # fmt: skip
        prompts = {m: system_prompt(tools, view.rules, m, brief) for m in MODES}
        task = self._task(view, bench, places, brief)
        end = Conversation(outside, frame, tools, prompts, task).run(mode, lambda: bench.finished)
        self._number, self._mode = outside.record.number, end.mode if end.turns else self._mode
        self._failures = 0 if end.reason in ANSWERED else self._failures + 1
        if end.reason in FINAL or self._failures >= FAILURES:
            self._over = end.reason
        self._with.said(end)

    def _task(self, view: View, bench: Workbench, places: int, brief: bool) -> str:
        promising = view.archive.promising()
        report: Any = ""
        if brief:
            shown = view.choices(promising[0].design_hash)[:12]
            name = promising[0].design_hash[:10]
            report = [{"design": name, "rule": r.name, "site": str(s)} for r, s in shown]
        elif promising:
            report = {"report": bench.report(promising[0].design_hash)}
        return task_prompt(
            places=str(places),
            turns=str(self._with.settings["turns"]),
            scenario=bench.scenario(),
            frontier="" if brief else bench.frontier(),
            told=self._told,
            report=report,
        )


def renewed(state: Json | None) -> Json:
    """The state at the beginning of a run, which tries again what ended the asking of the last one."""
    return {**(state or {}), "failures": 0, "over": ""} if state else {}
