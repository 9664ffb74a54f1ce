"""Where two runs part: the first value that both units compute and that differs."""

from __future__ import annotations

from mutations.verify.comparison import Runner, differs
from rooflang.lowered import Tensor
from rooflang.run import ExecutionError, Step, Value


def first_difference(first: Runner, second: Runner, number: int, step: Step) -> str:
    """A sentence about the first value that differs in this step, or nothing. Runs both units again."""
    try:
        ours, theirs = (_values(r, number, step) for r in (first, second))
    except (ExecutionError, ValueError, KeyError):
        return ""
    known: dict[str, Value] = {}
    for tensor, value, _ in ours:
        known[tensor.name] = value
    for tensor, value, text in theirs:
        like = known.get(tensor.name.partition("@")[0])
        if like is not None and value is not None and differs(like, value, step.exists):
            return f"; the first value that differs is {text}"
    return ""


def _values(runner: Runner, number: int, step: Step) -> list[tuple[Tensor, Value, str]]:
    """Every value that an operator of the unit leaves whole (or partial sums added up)."""
    unit = runner.side.unit
    found = []
    for tensor, value in runner.machine.trace(unit, runner.environment(number, step), step):
        op = next(o for o in unit.ops if o.result is tensor)
        place = ".".join(p for p in (unit.path, op.section, tensor.name) if p)
        axes = f" over {' '.join(op.axes)}" if op.axes else ""
        found.append((tensor, value, f"{place} = {op.operator}{axes}"))
    return found
