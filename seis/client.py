"""A client of the service's REST API.

>>> from seis.client import Client
>>> with Client("http://127.0.0.1:8000") as client:                  # doctest: +SKIP
...     job = client.submit(model="llama-3.1-8b", device="h100-sxm", count=8, structures=50)
...     print(client.wait(job.id).result["simultaneous_gain"])
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeAlias
from uuid import uuid4

import httpx

Json: TypeAlias = dict[str, Any]

TRIES = 4
"""Tries of a request that can be sent again safely."""
FINAL = ("done", "failed", "cancelled")


class ServiceError(Exception):
    """The service refused, or could not be reached; `code` is stable, `what_to_do` a sentence."""

    def __init__(
        self, message: str, code: str = "unreachable", status: int = 0, what_to_do: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.what_to_do = what_to_do


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the service tells it; times are ISO 8601 in UTC."""

    id: str
    kind: str
    state: str
    priority: int
    model: str
    device: str
    count: int
    search: str | None
    spent_seconds: float
    progress: Mapping[str, Any] | None
    problem: Mapping[str, Any] | None
    result: Mapping[str, Any] | None
    request: Mapping[str, Any] = field(repr=False)

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return self.state in FINAL

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """From the JSON of the service; what a newer one adds is left out."""
        return cls(**{f.name: values[f.name] for f in fields(cls)})


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; `number` is where to continue."""

    number: int
    kind: str
    subject: str
    data: Mapping[str, Any]


class Client:
    """Talks to one server. Raises ServiceError for every refusal."""

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        seconds: float = 90.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self._http = httpx.Client(
                base_url=url.rstrip("/") + "/api/v1", timeout=seconds, headers=headers, transport=transport
            )
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ServiceError(f"a server must be an http:// URL, but got {url!r} ({error})") from None

    def close(self) -> None:
        """Close connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def models(self) -> list[str]:
        """Names of the catalogued models."""
        return [m["name"] for m in self.pages("/models")]

    def model(self, name: str) -> Json:
        """What a model counts."""
        return self.get(f"/models/{name}")

    def devices(self) -> list[str]:
        """Names of the catalogued devices and systems."""
        return [d["name"] for kind in ("/devices", "/systems") for d in self.pages(kind)]

    def device(self, name: str) -> Json:
        """Every figure of a device or system."""
        return self.get(f"/devices/{name}")

    def submit(self, *, structures: int = 100, seconds: float | None = None, **request: Any) -> Job:
        """Submit a job; keywords are the fields of the request of `POST /jobs`."""
        budget = {"structures": structures, "seconds": seconds}
        return Job.read(self.post("/jobs", {"budget": budget, **request}))

    def job(self, job_id: str) -> Job:
        """A job as it is now."""
        return Job.read(self.get(f"/jobs/{job_id}"))

    def jobs(self, state: str | None = None) -> Iterator[Job]:
        """Jobs, newest first."""
        return (Job.read(j) for j in self.pages("/jobs", **({"state": state} if state else {})))

    def pause(self, job_id: str) -> Job:
        """Stop a job until it is resumed."""
        return Job.read(self.post(f"/jobs/{job_id}/pause"))

    def resume(self, job_id: str) -> Job:
        """Queue a paused job again."""
        return Job.read(self.post(f"/jobs/{job_id}/resume"))

    def cancel(self, job_id: str) -> Job:
        """End a job for good."""
        return Job.read(self.post(f"/jobs/{job_id}/cancel"))

    def clone(self, job_id: str) -> Job:
        """Submit the same again."""
        return Job.read(self.post(f"/jobs/{job_id}/clone"))

    def export(self, job_id: str) -> Json:
        """A job that is over, with everything that it found, as one document."""
        return self.get(f"/jobs/{job_id}/export")

    def prioritise(self, job_id: str, priority: int) -> Job:
        """Move a job in the queue."""
        return Job.read(self.request("PUT", f"/jobs/{job_id}/priority", {"priority": priority}))

    def follow(self, job_id: str, after: int = 0) -> Iterator[Event]:
        """Events of a job until it is over; a connection that breaks is made again where it broke."""
        tries = 0
        while True:
            try:
                over = self.job(job_id).over
                for event in self._stream(job_id, after, 0.1 if over else 3600.0):
                    after, tries = event.number, 0
                    yield event
                    if event.data.get("state") in FINAL:
                        return
                if over:  # its last event is kept no longer
                    return
            except (httpx.TransportError, ServiceError) as error:
                tries += 1
                if tries >= TRIES or (isinstance(error, ServiceError) and 400 <= error.status < 500):
                    raise self._unreachable(error) from None
                time.sleep(0.5 * tries)

    def wait(self, job_id: str) -> Job:
        """The job when it is over."""
        for _ in self.follow(job_id):
            pass
        return self.job(job_id)

    def frontiers(self, model: str | None = None) -> Iterator[Json]:
        """Searches, newest first."""
        return self.pages("/frontiers", **({"model": model} if model else {}))

    def frontier(self, search: str) -> Json:
        """Both frontiers of a search."""
        return self.get(f"/frontiers/{search}")

    def discoveries(self, search: str | None = None, min_gain: float = 0.0) -> Iterator[Json]:
        """Structures that beat the baseline, the largest gain first."""
        return self.pages("/discoveries", min_gain=min_gain, **({"search": search} if search else {}))

    def explain(self, search: str, structure: str) -> Json:
        """Why a structure is better; `text` says it in plain words."""
        return self.get(f"/discoveries/{search}/{structure}")

    def design(self, design_hash: str) -> Json:
        """A stored design with its text."""
        return self.get(f"/designs/{design_hash}")

    def store_design(self, **content: Any) -> Json:
        """Store a design from `text`, `config` or `model`."""
        return self.post("/designs", content)

    def evaluate(self, **content: Any) -> Json:
        """Evaluate a design: the fields of `POST /evaluations`."""
        return self.post("/evaluations", content)

    def verify(self, reference: Json, candidate: Json, seed: int = 0) -> Json:
        """Whether two designs, each `{"design": hash}` or `{"text": ...}`, compute the same."""
        return self.post("/verifications", {"reference": reference, "candidate": candidate, "seed": seed})

    def lineage(self, design_hash: str) -> Json:
        """The steps that led to a design."""
        return self.get(f"/lineage/{design_hash}")

    def schedule(self, **request: Any) -> Json:
        """Make a schedule: the fields of `POST /schedules`."""
        return self.post("/schedules", request)

    def schedules(self) -> Iterator[Json]:
        """Every schedule with its next fire."""
        return self.pages("/schedules")

    def fire(self, schedule_id: str) -> Json:
        """Begin a run of a schedule now."""
        return self.post(f"/schedules/{schedule_id}/fire")

    def remove_schedule(self, schedule_id: str) -> None:
        """Remove a schedule that has no run under way."""
        self.request("DELETE", f"/schedules/{schedule_id}")

    def runs(self) -> Iterator[Json]:
        """Runs of schedules, newest first."""
        return self.pages("/runs")

    def cancel_run(self, run_id: str) -> Json:
        """End a run and its jobs."""
        return self.post(f"/runs/{run_id}/cancel")

    def report(self, run_id: str) -> Json:
        """The morning report of a run."""
        return self.get(f"/reports/{run_id}")

    def note(self, **content: Any) -> Json:
        """Keep a note: the fields of `POST /notes`."""
        return self.post("/notes", content)

    def notes(self) -> Iterator[Json]:
        """Notes, newest first."""
        return self.pages("/notes")

    def get(self, path: str, **parameters: Any) -> Json:
        """One resource."""
        found: Json = self.request("GET", path, parameters=parameters)
        return found

    def post(self, path: str, content: Json | None = None) -> Json:
        """Make something; sent again under one key if the answer is lost."""
        found: Json = self.request("POST", path, content, key=uuid4().hex)
        return found

    def pages(self, path: str, **parameters: Any) -> Iterator[Json]:
        """Every item of a list, over all its pages."""
        cursor: Json = {}
        while True:
            page = self.get(path, **parameters, **cursor)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = {"cursor": page["next_cursor"]}

    def request(
        self,
        method: str,
        path: str,
        content: Json | None = None,
        *,
        parameters: Json | None = None,
        key: str = "",
    ) -> Any:
        """The JSON of an answer."""
        headers = {"Idempotency-Key": key} if key else {}
        for left in reversed(range(TRIES)):
            try:
                answer = self._http.request(method, path, json=content, params=parameters, headers=headers)
            except httpx.TransportError as error:
                if left == 0:
                    raise self._unreachable(error) from None
                time.sleep(0.3 * (TRIES - left))
                continue
            if answer.status_code in (429, 503) and left and answer.headers.get("retry-after", "").isdigit():
                time.sleep(min(5.0, float(answer.headers["retry-after"])))
                continue
            if answer.status_code >= 400:
                raise refused(answer)
            return answer.json() if answer.content else None
        raise ServiceError("a server must answer, but did not")

    def _stream(self, job_id: str, after: int, seconds: float) -> Iterator[Event]:
        parameters: Json = {"subject": job_id, "after": after, "seconds": seconds}
        with self._http.stream("GET", "/events", params=parameters, timeout=httpx.Timeout(30.0)) as answer:
            if answer.status_code >= 400:
                answer.read()
                raise refused(answer)
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    values = json.loads(line[6:])
                    yield Event(values["number"], values["kind"], values["subject"], values["data"])

    def _unreachable(self, error: Exception) -> ServiceError:
        if isinstance(error, ServiceError):
            return error
        return ServiceError(
            f"a server must answer at {self._http.base_url.host}:{self._http.base_url.port or 80}, but "
            f"{type(error).__name__} ({error}); start it with `seis serve`, or correct --server"
        )


def refused(answer: httpx.Response) -> ServiceError:
    """The error of an answer that is a problem document, or is not even that."""
    try:
        values = answer.json()
        return ServiceError(values["detail"], values["code"], answer.status_code, values["what_to_do"])
    except (ValueError, KeyError, TypeError):
        return ServiceError(
            f"a SEIS server must answer, but got HTTP {answer.status_code}", "not_seis", answer.status_code
        )
