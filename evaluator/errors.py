"""Errors of the evaluator.

EvaluatorError
├── ScenarioError      a scenario, setting or clock that does not exist or is out of range
├── UnavailableError   a metric that needs a figure of a device which is not known
├── ConfigurationError a parallel configuration that the design does not allow
└── MeasurementError   a file of measurements that cannot be read
"""

from __future__ import annotations


class EvaluatorError(ValueError):
    """A user's mistake; the message says what must hold, what it got and what to do."""


class ScenarioError(EvaluatorError):
    """A scenario, setting or clock that does not exist or is out of range."""


class UnavailableError(EvaluatorError):
    """A metric needs a figure of a device which is not known; the message names both."""


class ConfigurationError(EvaluatorError):
    """A parallel configuration that the design does not allow."""


class MeasurementError(EvaluatorError):
    """A file of measurements cannot be read; the message names row and column."""
