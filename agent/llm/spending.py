"""What a language model cost a search, and what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from agent.llm.proposer import NAME
from agent.llm.reply import Json

if TYPE_CHECKING:
    import db
    from agent.llm.companion import LlmCompanion


def spending(
    database: db.Database, search_id: str, companion: LlmCompanion, since: datetime | None = None
) -> Json:
    """Calls, tokens, dollars (null without a price) and seconds of a search, `since` a time if given.

    Structures proposed and accepted are those of the whole search; `unanswered` says why this run was not.
    """
    spent = database.model_spending(search_id=search_id, since=since)
    proposed = [c for c in database.list_candidates(search_id) if c.proposer == NAME]
    return {
        "model": companion.public()["model"],
        "base_url": companion.public()["base_url"],
        "calls": spent.calls,
        "prompt_tokens": spent.prompt_tokens,
        "output_tokens": spent.output_tokens,
        "reasoning_tokens": spent.reasoning_tokens,
        "dollars": None if spent.unpriced_calls else spent.cost,
        "seconds": spent.seconds,
        "proposed": len(proposed),
        "accepted": sum(c.status == "accepted" for c in proposed),
        "unanswered": companion.ends,
    }
