"""A worker process: reads items from its standard input and writes answers until the input ends."""

from __future__ import annotations

import os
import pickle
import signal
import sys

from agent.caches import forget
from agent.executor import attempt
from agent.wire import receive, send

TIDY = 12
"""Chunks after which a worker forgets what only its last candidates needed."""

LARGEST_BYTES = 400_000_000
"""Resident memory at which a worker asks to be replaced by a fresh one."""


def main() -> None:
    """Serve one search."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a candidate prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    send(answers, "ready")
    function, context, chunks = None, None, 0
    while True:
        try:
            kind, content = receive(questions)
        except EOFError:
            return
        if kind == "job":
            function, context = pickle.loads(content)
        elif function is not None:
            chunks += 1
            found = [attempt(function, context, item) for item in content]
            if chunks % TIDY == 0:
                forget()
            try:
                send(answers, (found, resident_bytes() > LARGEST_BYTES))
            except BrokenPipeError:
                return


def resident_bytes() -> int:
    """Memory that this process holds; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


if __name__ == "__main__":
    main()
