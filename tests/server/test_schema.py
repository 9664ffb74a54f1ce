"""The service holds to its own OpenAPI document, whatever it is sent (schemathesis, all checks)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig

from server.app import create_app
from server.settings import Settings
from tests.server.test_jobs import start, stop

EXAMPLES = 4
"""Per operation; more are tried by hand with `schemathesis run`."""

CONFIG = {
    # What a schema cannot say is refused with 422: names that are not catalogued, texts that do not parse.
    "checks": {
        "positive_data_acceptance": {
            "expected-statuses": ["2xx", "304", "400", "404", "409", "422", "429", "503"]
        },
        "negative_data_rejection": {
            "expected-statuses": ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "429"]
        },
    },
    "seed": 1,
}
CALM = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
    phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server that takes jobs and runs none."""
    place: Path = tmp_path_factory.mktemp("schema") / "a.sqlite"
    process, found = start(str(place), coordinator="false")
    try:
        yield found
    finally:
        stop(process)


def document() -> dict[str, Any]:
    """The document, but for what lasts: streams, and validation of the whole catalogue."""
    found = create_app(Settings(_env_file=None)).openapi()
    left = ("/api/v1/events", "/api/v1/validation")
    return {**found, "paths": {k: v for k, v in found["paths"].items() if k not in left}}


SCHEMA = schemathesis.openapi.from_dict(document(), config=SchemathesisConfig.from_dict(CONFIG))
OPERATIONS = {o.label: o for o in (found.ok() for found in SCHEMA.get_all_operations())}


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda m: m.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_operation_is_as_documented(address: str, label: str, mode: GenerationMode) -> None:
    operation = OPERATIONS[label]
    asked = operation.body or operation.query or operation.path_parameters or operation.headers
    if mode is GenerationMode.NEGATIVE and not asked:
        return  # there is nothing that could be wrong

    @CALM
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=address, timeout=60)

    check()


def test_sequences_of_operations_are_as_documented(address: str) -> None:
    whole = schemathesis.openapi.from_dict(document(), config=SchemathesisConfig.from_dict(CONFIG))
    whole.config.update(base_url=address)
    whole.as_state_machine().run(settings=settings(CALM, max_examples=6, stateful_step_count=5))


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PATCH", "DELETE"])
def test_other_methods_are_refused_with_those_that_there_are(address: str, method: str) -> None:
    answer = httpx.request(method, f"{address}/api/v1/jobs")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    assert answer.json()["code"] == "method_not_allowed"
