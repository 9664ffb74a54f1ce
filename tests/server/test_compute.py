"""Processes that compute for requests."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server.compute import Compute
from server.problems import Refusal


def test_a_process_at_work_ends_with_the_service(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    compute = Compute(processes=1, seconds=600.0, waiting=0)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(compute.wait, Path.read_bytes, pipe)
        with pipe.open("wb"):  # opens once the process is at work, which then waits for the end of the file
            compute.close()
            with pytest.raises(Refusal):
                answer.result(timeout=60)
    with pytest.raises(Refusal):
        compute.wait(Path.read_bytes, pipe)
