"""Comparing models, devices and contexts by what their conventional baselines reach."""

from agent.comparison.compare import Asked, compare
from agent.comparison.export import FORMATS, write_table
from agent.comparison.ratios import Ratio, ratios, span
from agent.comparison.result import Comparison, Result

__all__ = ["FORMATS", "Asked", "Comparison", "Ratio", "Result", "compare", "ratios", "span", "write_table"]
