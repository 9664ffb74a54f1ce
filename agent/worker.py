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
            try:
                send(answers, [attempt(function, context, item) for item in content])
            except BrokenPipeError:
                return
            chunks += 1
            if chunks % TIDY == 0:
                forget()


if __name__ == "__main__":
    main()
