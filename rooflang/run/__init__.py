"""NumPy semantics of lowered programs on simulated devices: exact in prime fields, or in float64."""

from rooflang.run.draw import draw, empty
from rooflang.run.field import PRIMES, Field, Reals
from rooflang.run.machine import Failure, Machine, Outcome, final_states, leaves
from rooflang.run.refit import refit
from rooflang.run.shrink import CONTEXT, Trial, shrink, shrink_units
from rooflang.run.sizes import Sizes
from rooflang.run.tally import OpTally, RouteTally, Tally
from rooflang.run.tokens import Step
from rooflang.run.value import ExecutionError, Mask, Value

__all__ = [
    "CONTEXT",
    "PRIMES",
    "ExecutionError",
    "Failure",
    "Field",
    "Machine",
    "Mask",
    "OpTally",
    "Outcome",
    "Reals",
    "RouteTally",
    "Sizes",
    "Step",
    "Tally",
    "Trial",
    "Value",
    "draw",
    "empty",
    "final_states",
    "leaves",
    "refit",
    "shrink",
    "shrink_units",
]  # fmt: skip
