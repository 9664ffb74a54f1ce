"""Prompts: files of this package, by version; rules document themselves in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Final

from agent.llm.toolkit import Tool
from mutations.rule import Rule

VERSION: Final = "v1"
"""Of the files in `prompts`; a change of their text is a new folder."""


@cache
def _file(name: str) -> str:
    return files("agent.llm").joinpath("prompts", VERSION, name).read_text(encoding="utf-8")


def system_prompt(tools: Sequence[Tool], rules: Sequence[Rule], mode: str, brief: bool) -> str:
    """Who the model is and how it acts; `brief`, for models of few tokens, does without rules."""
    shown = "\n".join(
        f"- {t.name}({', '.join(t.parameters)})" + ("" if brief else f": {t.does}") for t in tools
    )
    actions = "actions_tools.md" if mode == "tools" else "actions_json.md"
    return _filled(
        "brief.md" if brief else "system.md",
        actions=_filled(actions, tools=shown),
        rules="" if brief else "Rules:\n" + "\n".join(_rule(r) for r in rules if r.exact),
    )


def task_prompt(**facts: Any) -> str:
    """What is to be done in this round; facts that are not text are written as JSON."""
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in facts.items()}
    return _filled("task.md", **texts)


def _rule(rule: Rule) -> str:
    d = rule.documentation
    return (
        f"- {rule.name} ({rule.family}): {d.rewrites}. Helps: {d.helps}. Costs: {d.costs}. "
        f"Relieves: {', '.join(sorted(rule.relieves))}."
    )


def _filled(name: str, **texts: str) -> str:
    return Template(_file(name)).substitute(texts).strip()
