"""Errors of the language model that end a command; those of an endpoint are outcomes and never raised.

SearchError
├── LlmError      settings that cannot be used
└── ReplayError   a search that cannot be replayed, or whose record does not fit
"""

from __future__ import annotations

from agent.errors import SearchError


class LlmError(SearchError, ValueError):
    """Settings of a language model that cannot be used."""


class ReplayError(SearchError):
    """A search cannot be done again from its record."""
