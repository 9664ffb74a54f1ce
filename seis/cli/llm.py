"""What the commands know of a language model: options to settings, and what was spent, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import db
    from agent.llm.companion import LlmCompanion

Llm = Annotated[bool, typer.Option("--llm", help="Also ask a language model, as SEIS_LLM_* say.")]
LlmModel = Annotated[str | None, typer.Option("--llm-model", help="Its name. [env: SEIS_LLM_MODEL]")]
LlmBaseUrl = Annotated[
    str | None, typer.Option("--llm-base-url", help="Its endpoint. [env: SEIS_LLM_BASE_URL]")
]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens that it may use in this search.")]
MaxCost = Annotated[float | None, typer.Option(help="Dollars that it may cost in this search.")]
MaxCalls = Annotated[int | None, typer.Option(help="Calls of it in this search.")]


def companion_of(
    wanted: bool,
    model: str | None,
    base_url: str | None,
    tokens: int | None,
    cost: float | None,
    calls: int | None,
) -> LlmCompanion | None:
    """The language model that options ask for; None without one. Raises LlmError and UsageError."""
    from seis.cli.options import at_least
    from seis.cli.problems import UsageError

    options = {
        "--llm-model": model, "--llm-base-url": base_url, "--max-tokens": tokens, "--max-cost": cost,
        "--max-calls": calls,
    }  # fmt: skip
    if not wanted:
        given = next((name for name, value in options.items() if value is not None), None)
        if given is not None:
            raise UsageError(f"{given} needs --llm, but that was not given; add it")
        return None
    for name, value in (("--max-tokens", tokens), ("--max-cost", cost), ("--max-calls", calls)):
        at_least(name, value, 0)
    from dataclasses import replace

    from agent.llm import Limits, settings_from_environment
    from agent.llm.companion import LlmCompanion

    limits = Limits()
    if tokens is not None:
        limits = replace(limits, tokens=tokens)
    if calls is not None:
        limits = replace(limits, calls=calls)
    limits = replace(limits, cost=cost)
    return LlmCompanion(settings_from_environment(base_url=base_url, model=model, limits=limits))


def spending(database: db.Database, search_id: str, companion: LlmCompanion | None) -> dict[str, Any] | None:
    """The key `llm` of `seis search --json`; nothing where no model was asked."""
    from agent.llm.spending import spending as found

    return None if companion is None else found(database, search_id, companion)


def sentence_of(spent: dict[str, Any]) -> str:
    """The same in a line or two."""
    cost = "at an unknown price" if spent["dollars"] is None else f"for ${spent['dollars']:.4f}"
    tokens = spent["prompt_tokens"] + spent["output_tokens"]
    text = (
        f"{spent['model']}: {spent['calls']} calls, {tokens:,} tokens {cost}; "
        f"{spent['proposed']} structures proposed, {spent['accepted']} accepted"
    )
    return "\n".join([text, *(f"not answered ({k}): {v}" for k, v in spent["unanswered"].items())])
