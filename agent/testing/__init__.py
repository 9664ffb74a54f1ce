"""Checks that anyone can hold a proposer of their own to."""

from agent.testing.proposer_suite import ConformanceError, check_proposer
from agent.testing.views import small_view

__all__ = ["ConformanceError", "check_proposer", "small_view"]
