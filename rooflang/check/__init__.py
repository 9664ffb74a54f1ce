"""Static rules of lowered programs: every failure, each with its code, place, message and hint."""

from rooflang.check.problem import Problem
from rooflang.check.program import check, check_unit

__all__ = ["Problem", "check", "check_unit"]
