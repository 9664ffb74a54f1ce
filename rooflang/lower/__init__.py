"""From a design to its lowered program: local operators, explicit collectives, symbolic sizes."""

from rooflang.lower.program import lower

__all__ = ["lower"]
