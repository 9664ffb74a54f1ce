"""Types: the result of every operator is what its operands say."""

from __future__ import annotations

from collections.abc import Iterator

from rooflang.check.problem import Problem
from rooflang.dtype import format_of
from rooflang.errors import RoofLangError
from rooflang.lowered import LocalOp, Use
from rooflang.operators import Type, indexed, result_type


def types(op: LocalOp, where: str) -> Iterator[Problem]:
    """Dims and format of one operator's result, derived again from its operands."""
    result = op.result
    try:
        format_of(result.dtype)
        operands = tuple(_type(u, where) for u in op.operands)
        over = tuple(u.over for u in op.operands)
        found = result_type(
            op.operator, operands, over, result.dims, result.dtype, dict(op.attributes), where
        )
    except RoofLangError as error:
        yield Problem("type.operator", where, str(error))
        return
    if found.dims != result.dims:
        message = f"dims must be [{', '.join(found.dims)}], but are [{', '.join(result.dims)}]"
        yield Problem("type.dims", where, message)
    if found.dtype != result.dtype:
        yield Problem("type.dtype", where, f"format must be {found.dtype}, but is {result.dtype}")


def _type(use: Use, where: str) -> Type:
    t = use.tensor
    type_ = Type(t.dims, t.dtype, t.every)
    return type_ if use.index is None else indexed(type_, Type(use.index.dims, use.index.dtype), where)
