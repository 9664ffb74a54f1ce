"""An event simulation of one step: the same lowered program, schedule and prices as the closed forms."""

from evaluator.simulate.result import Simulated, simulate

__all__ = ["Simulated", "simulate"]
