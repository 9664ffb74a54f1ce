"""Says that a search is alive, for as long as its process is."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from agent.store import SearchStore

LOOK_SECONDS = 1.0
"""How often it looks whether a beat is due; the store says when."""


class Heart:
    """Beats in a thread, so that a candidate that takes long is not taken for a death."""

    def __init__(self, store: SearchStore) -> None:
        self._store = store
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="seis-heart", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        from db import DatabaseError, SearchTakenError

        while not self._over.wait(LOOK_SECONDS):
            try:
                self._store.heartbeat()
            except SearchTakenError:  # the next write of the search says so
                return
            except DatabaseError:  # away for a while; the next beat may be heard
                continue
