"""The first job of a new database, so that there is something to see."""

from __future__ import annotations

from server.jobs.request import JobRequest
from server.jobs.submit import submit
from server.services import Services

FIRST = {"model": "deepseek-v4-pro", "device": "b300-sxm", "count": 64, "budget": {"structures": 100}}


def submit_first(services: Services) -> None:
    """Submit a search where there are no jobs and no searches."""
    database = services.database
    if database.list_jobs(limit=1) or database.list_searches(limit=1):
        return
    submit(JobRequest.model_validate(FIRST), database, services.events, services.compute)
    services.notify()
