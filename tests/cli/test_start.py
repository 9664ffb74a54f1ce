"""The program starts at once, and Ctrl-C ends it with 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = (sys.executable, "-c", "from seis.cli.main import main; main()")


def test_only_what_is_needed_is_imported() -> None:
    heavy = "{'numpy', 'sqlalchemy', 'lark', 'yaml', 'rich.console', 'evaluator', 'db', 'agent'}"
    code = f"import sys, seis, seis.cli.main; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.bench
@pytest.mark.parametrize(("arguments", "seconds"), [(("--help",), 0.5), (("evaluate", "--json"), 2.0)])
def test_start_up(arguments: tuple[str, ...], seconds: float) -> None:
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run((*PROGRAM, *arguments), capture_output=True, check=True)
        taken.append(time.perf_counter() - began)
    print(f"seis {' '.join(arguments)}: {min(taken):.2f} s")
    assert min(taken) <= seconds


def test_ctrl_c(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "SEIS_DATABASE"}
    process = subprocess.Popen(
        (*PROGRAM, "search", "llama-3.1-70b", "--count", "8", "--workers", "1", "--structures", "100000"),
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "seis.db").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted; nothing that was stored is lost" in err
    assert "structures" in out


def test_a_reader_that_has_seen_enough() -> None:
    writer = subprocess.Popen((*PROGRAM, "show"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if writer.stdout is None or writer.stderr is None:
        pytest.fail("the pipes must be open")
    writer.stdout.readline()
    writer.stdout.close()
    err = writer.stderr.read()
    writer.stderr.close()
    assert writer.wait(timeout=30) == 0
    assert err == b""
