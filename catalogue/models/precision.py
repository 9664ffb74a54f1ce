"""A model at another precision: matrices stored in a narrower format than the released checkpoint's.

The rewrite is of storage alone: which values are rounded before a product stays as written. It is meant for
bounds and predictions of quantised checkpoints, not for executing them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from rooflang.design import Design, Program, Repeat, Section, State, Statement, Weight, walk
from rooflang.dtype import RATES, format_of


@lru_cache(maxsize=128)
def at_precision(design: Design, weights: str | None = None, kv: str | None = None) -> Design:
    """The design with every matrix in `weights` and every cache in `kv`, where that is narrower than its own.

    A matrix is a weight of two or more dimensions that a product may read in a narrow format; tables of
    integers and derived weights keep theirs, and a design that already holds matrices at the rate of
    `weights` is taken as released. None changes nothing. Raises DesignError for an unknown format.
    """
    if weights is not None and format_of(weights).rate in _rates(design):
        weights = None
    if weights is None and kv is None:
        return design
    body = _body(design.program.body, weights, kv)
    return design.with_(program=Program(design.program.dims, body, design.program.outputs))


def narrowest(design: Design) -> str:
    """The matrix rate (fp4, fp8, bf16) of the narrowest matrix of a design."""
    return min(_rates(design), key=RATES.index, default="bf16")


def _rates(design: Design) -> set[str]:
    return {
        format_of(s.dtype).rate
        for _, s in walk(design.program.body)
        if isinstance(s, Weight) and _is_matrix(s)
    }


def _is_matrix(weight: Weight) -> bool:
    return len(weight.dims) > 1 and weight.derived is None and not weight.dtype.startswith(("index", "int"))


def _body(body: tuple[Statement, ...], weights: str | None, kv: str | None) -> tuple[Statement, ...]:
    return tuple(_statement(s, weights, kv) for s in body)


def _statement(statement: Statement, weights: str | None, kv: str | None) -> Statement:
    if isinstance(statement, Section | Repeat):
        return replace(statement, body=_body(statement.body, weights, kv))
    if isinstance(statement, Weight) and _is_matrix(statement):
        return replace(statement, dtype=_narrower(statement.dtype, weights))
    if isinstance(statement, State):
        return replace(statement, dtype=_narrower(statement.dtype, kv))
    return statement


def _narrower(own: str, other: str | None) -> str:
    return other if other is not None and format_of(other).bits < format_of(own).bits else own
