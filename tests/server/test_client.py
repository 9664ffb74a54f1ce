"""The client, and commands that ask a service with --server."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from seis.cli.main import run
from seis.client import Client, ServiceError
from server.examples import placed
from server.schedules.request import EXAMPLE
from tests.server.conftest import SMALL
from tests.server.test_jobs import start, stop


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server that runs jobs."""
    process, found = start(str(tmp_path_factory.mktemp("client") / "a.sqlite"))
    try:
        yield found
    finally:
        stop(process)


def ask(*arguments: str) -> tuple[int, str, str]:
    """Exit code and both streams of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


def test_a_search_is_submitted_followed_and_read_from_the_command_line(address: str) -> None:
    server = ("--server", address)
    asked = ("search", "llama-3.1-8b", "--device", "h100-sxm", "--count", "4", "--structures", "40", "--json")
    code, out, err = ask(*server, *asked)
    assert (code, err) == (0, "")
    job = json.loads(out)
    assert job["state"] == "done", job["problem"]
    assert job["result"]["structures"] == 40
    code, out, _ = ask("frontier", job["search"], *server, "--json")
    assert code == 0
    assert [p["design"] for p in json.loads(out)["frontier"]] == [
        p["design"] for p in job["result"]["frontier"]
    ]
    code, out, _ = ask("jobs", *server)
    assert job["id"][:12] in out
    code, out, _ = ask(*server, "job", job["id"][:12], "export")
    assert json.loads(out)["result"] == job["result"]
    code, out, _ = ask(*server, "job", job["id"][:12], "clone", "--json")
    clone = json.loads(out)["id"]
    assert json.loads(ask(*server, "job", clone, "cancel", "--json")[1])["id"] == clone
    code, _, err = ask(*server, "job", "zz")
    assert (code, err.count("\n")) == (2, 1)
    code, out, err = ask(*server, "explain", "--search", job["search"])
    if job["result"]["best"] is None:
        assert "must have a discovery" in err
    else:
        assert (code, err) == (0, "")
        assert "What binds them" in out


def test_the_client_reads_all_pages_and_stores_what_it_is_given(address: str) -> None:
    with Client(address) as client:
        assert "llama-3.1-8b" in client.models()
        assert {"h100-sxm", "hgx-h100"} <= set(client.devices())
        made = client.store_design(text=placed())
        assert client.design(made["design_hash"][:12])["text"] == made["text"]
        point = client.evaluate(design=made["design_hash"], device="h100-sxm", point={"batch": 8})
        assert point["point"]["fits"]
        same = {"design": made["design_hash"]}
        assert client.verify(same, same)["verdict"] == "accepted"
        job = client.submit(**{k: v for k, v in SMALL.items() if k != "budget"}, priority=-5)
        assert client.prioritise(job.id, 3).priority == 3
        assert client.cancel(job.id).id == job.id
        assert client.wait(job.id).state == "cancelled"
        assert list(client.follow(job.id, after=2**40)) == []
        assert job.id in {j.id for j in client.jobs("cancelled")}


def test_a_week_of_nights_over_several_models_from_the_client(address: str) -> None:
    plan = {**EXAMPLE, "name": "from the client", "enabled": False}
    with Client(address) as client:
        made = client.schedule(**plan)
        assert made["id"] in {s["id"] for s in client.schedules()}
        assert [j["model"] for j in made["jobs"]] == plan["models"]
        assert list(client.runs()) == []
        client.remove_schedule(made["id"])
        assert made["id"] not in {s["id"] for s in client.schedules()}
        note = client.note(text="heads first")
        assert note["id"] in {n["id"] for n in client.notes()}


def test_refusals_are_one_sentence(address: str) -> None:
    with Client(address) as client:
        with pytest.raises(ServiceError) as refused:
            client.submit(model="nothing")
        assert (refused.value.code, refused.value.status) == ("unknown_name", 422)
        with pytest.raises(ServiceError, match="must exist"):
            list(client.follow("0" * 32))
    code, out, err = ask("--server", address, "search", "nothing")
    assert (code, out) == (2, "")
    assert err.startswith("seis: a model must be catalogued")


def test_a_lost_answer_is_asked_for_again_under_the_same_key() -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            raise httpx.ReadError("lost")
        return httpx.Response(200, json={"design_hash": "a"})

    with Client("http://test", transport=httpx.MockTransport(answer)) as client:
        assert client.store_design(text="x") == {"design_hash": "a"}
    assert len(keys) == 2
    assert len(set(keys)) == 1


@pytest.mark.parametrize("body", ["<html>", "{}", "[]"])
def test_what_is_no_seis_says_so(body: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(502, text=body))
    with Client("http://test", transport=transport) as client, pytest.raises(ServiceError, match="HTTP 502"):
        client.models()


def test_a_server_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seis.client.time.sleep", lambda _: None)
    code, out, err = ask("--server", "http://127.0.0.1:1", "models")
    assert (code, out) == (2, "")
    assert err.startswith("seis: a server must answer at 127.0.0.1:1")
    assert err.count("\n") == 1


def test_a_design_file_is_sent_as_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []

    def submit(self: Client, **request: Any) -> Any:
        sent.append(request)
        raise ServiceError("enough")

    monkeypatch.setattr(Client, "submit", submit)
    file = tmp_path / "mine.roof"
    file.write_text(placed(), encoding="utf-8")
    ask("--server", "http://127.0.0.1:1", "search", str(file))
    assert (sent[0]["text"], sent[0]["name"]) == (placed(), "mine")
