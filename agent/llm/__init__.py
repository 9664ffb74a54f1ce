"""A proposer that asks a language model at any OpenAI-compatible endpoint.

What a model says is data: it becomes a design only through the parser, and a discovery only through the
verifier and the evaluator. Budgets are checked before each call, every exchange is recorded, and a search can
be done again from its record without the endpoint.
"""

from agent.llm.errors import LlmError, ReplayError
from agent.llm.prices import Price
from agent.llm.settings import Limits, Secret, Settings, settings_from_environment

__all__ = [
    "Limits",
    "LlmError",
    "Price",
    "ReplayError",
    "Secret",
    "Settings",
    "settings_from_environment",
]
