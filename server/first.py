"""The first jobs of a new database, so that there is something to see."""

from __future__ import annotations

from server.jobs.request import JobRequest
from server.jobs.submit import submit
from server.services import Services

FIRST = (
    {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 8, "budget": {"structures": 40}},
    {"model": "deepseek-v4-pro", "device": "b300-sxm", "count": 64, "budget": {"structures": 100}},
)
"""A small one, which shows its frontier within seconds, and after it one that has more to find."""


def submit_first(services: Services) -> None:
    """Submit searches where there are no jobs and no searches."""
    database = services.database
    if database.list_jobs(limit=1) or database.list_searches(limit=1):
        return
    for request in FIRST:
        submit(JobRequest.model_validate(request), database, services.events, services.compute)
    services.notify()
