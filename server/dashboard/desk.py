"""What all pages of one application share beside its services."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from server.dashboard.history import Histories
from server.dashboard.later import PATIENCE_SECONDS, Answer, Later
from server.services import Services


@dataclass(frozen=True, slots=True)
class Desk:
    """Services, results of long work, and histories of searches."""

    services: Services
    later: Later
    histories: Histories

    @property
    def database(self) -> Any:
        return self.services.database

    @property
    def place(self) -> str:
        """Where the database is, for work in other processes."""
        return self.services.settings.database_url

    async def work(
        self, key: Hashable, function: Callable[[Any], Any], argument: Any, patience: float = PATIENCE_SECONDS
    ) -> Answer:
        """Work that a page does not wait for."""
        return await self.later.get(self.services.compute, key, function, argument, patience)


def desk(request: Request) -> Desk:
    """That of the running application."""
    state = request.app.state
    found: Desk | None = getattr(state, "desk", None)
    if found is None or found.services is not state.services:
        found = state.desk = Desk(state.services, Later(), Histories(state.services.database))
    return found


AtDesk = Annotated[Desk, Depends(desk)]
