"""Tables of the reference, made from the code that they describe."""

from __future__ import annotations

from fractions import Fraction

from rooflang import limits as language_limits
from rooflang.dtype import format_names, format_of
from rooflang.operators import OPERATORS, Operator


def operators() -> list[list[str]]:
    """Operator, operands, attributes, dims, algebra."""
    return [
        [
            o.name,
            str(o.operands[0]) if o.operands[0] == o.operands[1] else f"{o.operands[0]}–{o.operands[1]}",
            ", ".join(f"{name}: {kind.__name__}" for name, kind in o.attributes.items()),
            "written" if o.explicit_dims else "",
            _algebra(o),
        ]
        for o in OPERATORS.values()
    ]


def _algebra(o: Operator) -> str:
    flags = {"linear": o.linear, "zero": o.zero, "element-wise": o.elementwise, "view": o.view}
    return ", ".join(name for name, held in flags.items() if held)


def formats() -> list[list[str]]:
    """Format, bits per element, matrix rate, layout."""
    return [[f.name, _fraction(f.bits), f.rate, f.source] for f in map(format_of, format_names())]


def _fraction(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


_LIMITS = {
    "MAX_TEXT_BYTES": "bytes of a text",
    "MAX_TOKENS": "words, numbers and marks",
    "MAX_STATEMENTS": "statements",
    "MAX_BLOCKS": "sections and repeats",
    "MAX_DIMS": "dimensions",
    "MAX_PLAN_LINES": "lines of placement and schedule",
    "MAX_ITEMS": "items between one pair of brackets",
    "MAX_NESTING": "open brackets",
    "MAX_SIZE_NODES": "parts of a size",
    "MAX_INTEGER": "a whole number",
    "MAX_NAME": "characters of a name",
    "MAX_STRING": "characters of a string",
}


def limits() -> list[list[str]]:
    """What is limited, and to how much."""
    return [[said, f"{getattr(language_limits, name):,}"] for name, said in _LIMITS.items()]
