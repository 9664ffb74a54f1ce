"""The comparison itself: every model on every device at every context, models spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.caches import forget
from agent.comparison.result import Comparison, Result
from agent.errors import ProblemError
from agent.executor import Executor, Failure, InlineExecutor
from agent.processes import ProcessExecutor
from catalogue.devices import load_device
from catalogue.models import describe, load_model
from catalogue.models.caches import Kv
from evaluator.baseline import baselines_over
from evaluator.errors import ConfigurationError, UnavailableError
from evaluator.frontier import Point, front
from evaluator.rates import confined
from evaluator.scenario import Scenario
from mutations.start import starting_designs

COUNTS = (8, 16, 32, 64)
"""Cluster sizes over which the best is taken."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One comparison: every model on every device at every context, best over cluster sizes `counts`.

    `kv` is the caches' storage (served, bf16); contexts are cached tokens per sequence.
    """

    models: tuple[str, ...]
    devices: tuple[str, ...]
    contexts: tuple[int, ...]
    counts: tuple[int, ...] = COUNTS
    setting: str = "physical"
    clock: str = "overlapped"
    kv: Kv = "served"

    def __post_init__(self) -> None:
        for name, values in (
            ("models", self.models), ("devices", self.devices), ("contexts", self.contexts),
            ("counts", self.counts),
        ):  # fmt: skip
            if not values:
                raise ProblemError(f"a comparison must have {name}, but got none; name at least one")
            if len(set(values)) != len(values):
                raise ProblemError(f"{name} of a comparison must differ, but got {list(values)}")
        for name, numbers in (("a context", self.contexts), ("a count", self.counts)):
            if min(numbers) < 1:
                raise ProblemError(f"{name} of a comparison must be at least 1, but got {min(numbers)}")


def compare(asked: Asked, *, workers: int = 2, done: Callable[[int, int], None] | None = None) -> Comparison:
    """Every case of `asked`; `done(ready, all)` is called as models are finished.

    A case that cannot run (nothing fits, a figure of the device is unknown) has a reason in place of points.
    """
    executor: Executor = (
        ProcessExecutor(workers, chunk=1) if workers > 1 and len(asked.models) > 1 else InlineExecutor()
    )
    ready = 0

    def count(_: int) -> None:
        nonlocal ready
        ready += 1
        if done is not None:
            done(ready, len(asked.models))

    with executor:
        answers = executor.map(compare_model, asked, asked.models, count)
    results: list[Result] = []
    points = 0
    for model, answer in zip(asked.models, answers, strict=True):
        if isinstance(answer, Failure):
            raise ProblemError(f"{model} could not be compared: {answer.detail}")
        found, evaluated = answer
        results += found
        points += evaluated
    return Comparison(tuple(results), asked.setting, asked.clock, asked.kv, asked.counts, points)


def compare_model(asked: Asked, model: str) -> tuple[list[Result], int]:
    """The results of one model, and how many points were evaluated."""
    design = load_model(model, asked.kv)
    structures = starting_designs(design)
    found: list[Result] = []
    points = 0
    for device_name in asked.devices:
        device = load_device(device_name)
        try:
            cases = baselines_over(
                structures, device, asked.counts, asked.contexts, Scenario(min(asked.contexts)),
                clock=asked.clock, setting=asked.setting,
            )  # fmt: skip
        except (ConfigurationError, UnavailableError) as error:
            found += [Result(model, device_name, c, reason=str(error)) for c in asked.contexts]
            continue
        points += sum(b.evaluated for b in cases.values())
        for context in asked.contexts:
            made = {id(p): n for (n, c), b in cases.items() if c == context for p in b.points}
            kept = front([p for (_, c), b in cases.items() if c == context for p in b.points])
            found.append(_result(model, device_name, context, kept, made, asked.counts))
    forget()
    return found, points


def _result(
    model: str, device: str, context: int, kept: Sequence[Point], made: dict[int, int], counts: Sequence[int]
) -> Result:
    most = describe(model).max_position
    if not kept:
        what = f"the weights and a sequence of {context:,} tokens"
        why = confined(load_device(device), max(counts))
        reason = f"{what} must fit on {max(counts)} devices, but do not"
        return Result(model, device, context, reason=f"{reason}; {why}" if why else reason)
    clusters = tuple(made[id(p)] for p in kept)
    return Result(model, device, context, tuple(kept), clusters, beyond=most is not None and context > most)
