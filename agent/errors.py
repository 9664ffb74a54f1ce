"""Errors of the search.

SearchError
├── ProblemError   a search that cannot be set up: an unknown clock, no devices
└── WorkerError    the worker processes cannot be started
"""

from __future__ import annotations


class SearchError(Exception):
    """A search cannot go on; the message says what must hold, what it got and what to do."""


class ProblemError(SearchError, ValueError):
    """A search that cannot be set up as asked."""


class WorkerError(SearchError):
    """Worker processes cannot be started."""
