"""Morning reports: against yesterday's, as Markdown, and sent with a signature to public addresses alone."""

from __future__ import annotations

import hmac
from dataclasses import replace
from hashlib import sha256
from typing import Any

import httpx
import pytest

from db import Candidate, Design
from server.access.addresses import AddressError, is_public, public_address, read_url
from server.schedules.markdown import markdown
from server.schedules.webhook import MOST_TRIES, Webhook
from tests.server.schedules.conftest import Night

SEARCH = {"kind": "search", "model": "llama-3.1-8b", "device": "h100-sxm", "count": 8}
SECRET = "a-secret-of-16-chars"


def search(night: Night, structures: int, gain: float, found: int, first: int = 0) -> None:
    """The night's search: so many structures in all, and new discoveries from sequence number `first`."""
    night.work()
    (job,) = night.database.renew_jobs("worker")
    known = night.database.list_searches()
    made = known[0] if known else night.database.create_search(
        model="llama-3.1-8b", device="h100-sxm", count=8, scenario={}, scenario_hash="s", seed=0,
        setting="achievable", clock="overlapped",
    )  # fmt: skip
    for i in range(first, first + found):
        name = sha256(str(i).encode()).hexdigest()
        night.database.save_design(
            Design(design_hash=name, structure_hash=name, text="t", model="m", summary=f"rule {i} <b>")
        )
        night.database.record_candidate(
            Candidate(
                search_id=made.id, design_hash=name, status="accepted", round_number=1, sequence_number=i,
                proposer="bottleneck", reasons=(), detail="", gain=gain - i / 1000,
            )
        )  # fmt: skip
    result = {"structures": structures, "accepted": found, "refused": 3, "failed": 0, "rounds": 2,
              "simultaneous_gain": gain, "hypervolume_gain": gain / 2}  # fmt: skip
    night.database.settle_job(job.id, "worker", "done", spent_seconds=120.0, search_id=made.id, result=result)


def two_nights(night: Night) -> tuple[dict[str, Any], dict[str, Any]]:
    """Reports of a night that finds three structures, and of the next one, which finds two better ones."""
    night.plan(job=SEARCH)
    server = night.scheduler()
    night.at("2026-05-04T20:00:00")
    server.tick()
    search(night, 40, 0.10, 3)
    server.tick()
    night.at("2026-05-05T20:00:00")
    server.tick()
    search(night, 100, 0.15, 2, first=3)
    server.tick()
    first, second = (dict(r.report or {}) for r in night.runs())
    return first, second


def test_a_report_says_what_is_new_since_yesterday(night: Night) -> None:
    first, second = two_nights(night)
    assert (first["tried"], second["tried"]) == (40, 60)
    assert [len(r["jobs"][0]["discoveries"]) for r in (first, second)] == [3, 2]
    entry = second["jobs"][0]
    assert (entry["gain_before"], entry["gain"]) == (0.10, 0.15)
    assert second["spent"]["seconds"] == 120.0
    assert "+15.0% over the baseline, +10.0% before" in second["first"][0]["text"]
    gains = [d["gain"] for d in entry["discoveries"]]
    assert gains == sorted(gains, reverse=True)


def test_markdown_holds_the_same_and_no_markup_of_others(night: Night) -> None:
    _, second = two_nights(night)
    second["name"] = "[x](javascript:1) | <img> #"
    text = markdown(second)
    assert "60 structures tried" in text
    assert "## Look at first" in text
    assert "<img>" not in text
    assert "](javascript" not in text
    assert "rule 3 \\<b\\>" in text


def test_a_failed_job_is_what_to_look_at_first(night: Night) -> None:
    night.plan(job=SEARCH)
    server = night.scheduler()
    night.at("2026-05-04T20:00:00")
    server.tick()
    night.work()
    (job,) = night.database.renew_jobs("worker")
    night.database.settle_job(job.id, "worker", "failed", spent_seconds=1.0, problem={"detail": "it broke"})
    server.tick()
    (run,) = night.runs()
    assert run.state == "failed"
    assert run.report is not None
    assert run.report["first"][0]["kind"] == "failed"
    assert "it broke" in run.report["first"][0]["text"]


class Receiver:
    """Whoever is sent reports."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        code = self.codes.pop(0) if self.codes else 200
        return httpx.Response(code, headers={"Location": "http://169.254.169.254/"})


def webhook(receiver: Receiver, addresses: tuple[str, ...] = ("93.184.215.14",)) -> Webhook:
    return Webhook(
        "https://hooks.example:8443/in", SECRET, lookup=lambda host, port: addresses,
        transport=httpx.MockTransport(receiver),
    )  # fmt: skip


def finish(night: Night, hook: Webhook) -> Any:
    """A run with a report to be sent."""
    night.plan(notify=True)
    server = night.scheduler(webhook=hook)
    night.at("2026-05-04T20:00:00")
    server.tick()
    night.end()
    server.tick()
    return server


def test_a_report_is_sent_once_with_a_signature_to_the_address_that_was_checked(night: Night) -> None:
    receiver = Receiver()
    server = finish(night, webhook(receiver))
    server.tick()
    (request,) = receiver.requests
    assert request.url.host == "93.184.215.14"
    assert request.headers["host"] == "hooks.example:8443"
    assert request.extensions["sni_hostname"] == "hooks.example"
    moment, _, given = request.headers["x-seis-signature"].partition(",v1=")
    wanted = hmac.new(SECRET.encode(), moment[2:].encode() + b"." + request.content, sha256).hexdigest()
    assert given == wanted
    assert [r.delivery for r in night.runs()] == ["sent"]
    assert SECRET not in request.content.decode()


def test_a_receiver_that_fails_is_asked_again_but_not_for_ever(night: Night) -> None:
    receiver = Receiver(500, 302, 404)
    server = finish(night, webhook(receiver))
    for _ in range(3):
        server.tick()
    assert len(receiver.requests) == 1  # not before its time
    for _ in range(3):
        night.later(hours=1)
        server.tick()
    assert len(receiver.requests) == 4
    assert all(r.url.host == "93.184.215.14" for r in receiver.requests)  # no redirect was followed
    assert [r.delivery for r in night.runs()] == ["sent"]


def test_after_some_tries_a_report_is_given_up(night: Night) -> None:
    receiver = Receiver(*[500] * 20)
    server = finish(night, webhook(receiver))
    for _ in range(10):
        night.later(hours=1)
        server.tick()
    assert len(receiver.requests) == MOST_TRIES
    assert [r.delivery for r in night.runs()] == ["failed"]


@pytest.mark.parametrize(
    "addresses", [("127.0.0.1",), ("10.0.0.1",), ("93.184.215.14", "192.168.0.1"), ("::1",), ()]
)
def test_nothing_is_sent_to_a_name_of_a_private_address(night: Night, addresses: tuple[str, ...]) -> None:
    receiver = Receiver()
    finish(night, webhook(receiver, addresses))
    assert receiver.requests == []
    assert [r.delivery for r in night.runs()] == ["due"]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "2002:7f00:0001::",
        "2002:0a00:0001::",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2001:db8::1",
        "2001:0:0:0:0:0:80ff:fffe",
        "localhost",
        "",
        "1",
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"])
def test_addresses_that_are(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost", "[::1]", "[::ffff:7f00:1]"]
)
def test_spellings_of_the_loopback(host: str) -> None:
    with pytest.raises(AddressError):
        public_address(read_url(f"https://{host}/x"))


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/",
        "ftp://h.example",
        "file:///etc/passwd",
        "https://",
        "//h.example",
        "h.example",
        "https://user:pass@h.example/",
        "https://h.example:99999/",
        "gopher://h",
        "",
        "https://[::1",
        "https://\n",
    ],
)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(AddressError) as found:
        read_url(url)
    assert "pass" not in str(found.value).replace("password", "")


def test_reports_of_other_schedules_do_not_count_as_yesterday(night: Night) -> None:
    two_nights(night)
    other = night.plan(name="other", job=SEARCH)
    night.database.update_schedule(replace(other, cron="30 22 * * *"))
    server = night.scheduler()
    night.at("2026-05-06T19:00:00")
    for schedule in night.database.list_schedules():
        night.database.update_schedule(
            replace(schedule, enabled=schedule.id == other.id, next_fire_at=night.now)
        )
    server.tick()
    search(night, 130, 0.15, 0)
    server.tick()
    (run,) = night.database.list_runs(schedule_id=other.id)
    assert run.report is not None
    assert run.report["jobs"][0]["gain_before"] is None
