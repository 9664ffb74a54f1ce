"""Names of the processes that run searches, and whether one is still alive."""

from __future__ import annotations

import os
import platform
import uuid


def owner_name() -> str:
    """A new name for a search of this process."""
    return f"{platform.node()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """Whether the process of an owner ran on this machine and is gone."""
    node, _, number = owner.rpartition(":")[0].rpartition(":")
    if not number.isdigit() or node != platform.node():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
