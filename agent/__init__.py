"""The search loop: proposers, archive, memory and budgets.

>>> from agent import Problem, search
>>> result = search(Problem("deepseek-v4-pro", "b300-sxm", 64), "seis.sqlite")     # doctest: +SKIP
>>> result.simultaneous_gain, result.best                                           # doctest: +SKIP
"""

from agent.discovery import Discovery, SearchResult
from agent.errors import ProblemError, SearchError, WorkerError
from agent.executor import Executor, Failure, InlineExecutor
from agent.explain import Explanation, explain
from agent.loop import search
from agent.problem import Problem
from agent.processes import ProcessExecutor
from agent.progress import Budget, Progress
from agent.proposer import Proposal, Proposer, Told, View
from agent.steps import Step

__all__ = [
    "Budget",
    "Discovery",
    "Executor",
    "Explanation",
    "Failure",
    "InlineExecutor",
    "Problem",
    "ProblemError",
    "ProcessExecutor",
    "Progress",
    "Proposal",
    "Proposer",
    "SearchError",
    "SearchResult",
    "Step",
    "Told",
    "View",
    "WorkerError",
    "explain",
    "search",
]
