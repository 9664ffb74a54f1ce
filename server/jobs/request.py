"""What a job is asked to do, as it is submitted and stored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from agent import Problem
from evaluator.scenario import Scenario

Objective = Literal[
    "simultaneous_gain",
    "tokens_per_second_per_user",
    "tokens_per_second_per_gpu",
    "dollars_per_million_tokens",
    "joules_per_token",
]
Proposer = Literal["bottleneck", "exhaustive", "evolutionary", "llm"]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


DEEPEST = 32
"""Objects and lists within each other in a config.json; published ones have three or four."""


def shallow(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse what is nested so deeply that to walk it would exhaust the stack."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return value
    raise ValueError(f"must have at most {DEEPEST} objects and lists within each other")


Config = Annotated[dict[str, Any], AfterValidator(shallow)]


class Strict(BaseModel):
    """A body: fields as they are named and typed, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ScenarioIn(Strict):
    """The workload around a decode step."""

    context_tokens: int = Field(8192, ge=1, le=16_777_216, description="Cached tokens per sequence.")
    acceptance: list[Annotated[float, Field(ge=0, le=1)]] | None = Field(
        None, max_length=16, description="Chance that each drafted token is accepted, given those before it."
    )
    routing: str | None = Field(
        None, max_length=40, pattern=r"^(balanced|uniform|certain|zipf:[0-9]{1,3}(\.[0-9]{1,6})?)$",
        description="How tokens choose experts: balanced, uniform, certain or zipf:s.",
    )  # fmt: skip

    def scenario(self) -> Scenario:
        """The same for the evaluator. Raises ScenarioError."""
        chances = None if self.acceptance is None else tuple(self.acceptance)
        return Scenario(self.context_tokens, chances, self.routing)


class Constraints(Strict):
    """What a point of the frontier must keep to be counted; the search itself is not narrowed by it."""

    min_tokens_per_second_per_user: float | None = Field(None, gt=0, le=1e9)
    min_tokens_per_second_per_gpu: float | None = Field(None, gt=0, le=1e12)
    max_dollars_per_million_tokens: float | None = Field(None, gt=0, le=1e12)
    max_joules_per_token: float | None = Field(None, gt=0, le=1e12)
    max_sequences: int | None = Field(None, ge=1, le=2**53, description="Sequences in flight at most.")


class BudgetIn(Strict):
    """How far a job goes."""

    structures: int = Field(100, ge=1, le=1_000_000, description="Structures to try.")
    seconds: float | None = Field(
        None,
        gt=0,
        le=31_536_000,
        description="Time of all its runs, after which the round in work is the last.",
    )
    tokens: int = Field(200_000, ge=0, le=10**12, description="Tokens of the language model.")
    dollars: float | None = Field(
        None, ge=0, le=1e9, description="Dollars for it; needs the price of the model."
    )
    calls: int = Field(200, ge=0, le=1_000_000, description="Calls of it.")


class JobRequest(Strict):
    """A search or a baseline. At most one of `model`, `text` and `config` says what must be computed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": "llama-3.1-8b",
                    "device": "h100-sxm",
                    "count": 8,
                    "scenario": {"context_tokens": 8192},
                    "constraints": {"min_tokens_per_second_per_user": 20.0},
                    "budget": {"structures": 50},
                    "priority": 1,
                }
            ]
        }
    )

    kind: Literal["search", "baseline"] = Field(
        "search", description="`baseline` prices the conventional structures alone."
    )
    model: Name | None = Field(None, description="A catalogued model, or its unique beginning.")
    text: str | None = Field(None, min_length=1, max_length=1_000_000, description="RoofLang text.")
    config: Config | None = Field(None, description="A Hugging Face config.json.")
    name: Name | None = Field(None, description="What the model of a text or config is to be called.")
    device: Name = Field("b300-sxm", description="A catalogued device or system, or its unique beginning.")
    count: int = Field(64, ge=1, le=65_536, description="Devices of the cluster.")
    scenario: ScenarioIn = ScenarioIn()
    setting: Literal["achievable", "physical"] = "achievable"
    clock: Literal["limit", "overlapped", "serial"] = "overlapped"
    kv: Literal["served", "bf16"] = Field("served", description="Storage of a catalogued model's caches.")
    objectives: list[Objective] = Field(
        ["simultaneous_gain"], min_length=1, max_length=5, description="The best point of each is reported."
    )
    constraints: Constraints = Constraints()
    proposers: list[Proposer] | None = Field(
        None,
        min_length=1,
        max_length=4,
        description="Who proposes structures: by default all but `llm`, the service's language model, which "
        "also works beside all others where it is the only one named.",
    )
    budget: BudgetIn = BudgetIn()
    seed: int = Field(0, ge=0, le=2**31 - 1)
    priority: int = Field(0, ge=-1000, le=1000, description="Jobs of a higher one are run first.")

    @model_validator(mode="after")
    def _one_model(self) -> JobRequest:
        if sum(v is not None for v in (self.model, self.text, self.config)) > 1:
            raise ValueError("at most one of model, text and config must be given")
        return self


class Stored(Strict):
    """A checked request as the database keeps it: catalogued names in full, an uploaded model as its text."""

    request: JobRequest
    model: str
    text: str = ""

    def problem(self) -> Problem:
        """What is searched for. Raises errors of catalogue and agent."""
        r = self.request
        return Problem(
            self.model, r.device, r.count, r.scenario.scenario(), r.setting, r.clock, r.seed, r.kv, self.text
        )
