"""Storage formats: nothing that the reference stores or passes on may become narrower.

Widening is the identity of values; narrowing is an explicit `quantize`, which is hashed when executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mutations.verify.comparison import Side
from mutations.verify.verdict import Reason
from rooflang.dtype import format_of, index_dim
from rooflang.errors import RoofLangError
from rooflang.lowered import LocalOp, Tensor, Use
from rooflang.operators import Type, indexed, result_type

_WIDE = ("bf16", "f32")


def narrows(wanted: str, got: str) -> bool:
    """Whether storing as `got` may lose what `wanted` keeps."""
    if wanted == got or index_dim(wanted) is not None:
        return index_dim(wanted) is not None and wanted != got
    return got not in _WIDE or format_of(got).bits < format_of(wanted).bits


def narrowed(path: str, reference: Side, candidate: Side) -> Iterator[Reason]:
    """Weights, states and values of the candidate that are narrower than they must be."""
    ours = reference.kinds
    stored = {t.name: t.dtype for t in candidate.unit.weights}
    for key, tensor in candidate.kinds.items():
        for wanted in _parts(tensor, stored):
            if narrows(wanted, tensor.dtype):
                yield _reason(f"{path}.{tensor.name}", "derived weight", wanted, tensor.dtype)
                break
        known = ours.get(key)
        if known is not None and narrows(known.dtype, tensor.dtype):
            yield _reason(f"{path}.{tensor.name}", tensor.kind, known.dtype, tensor.dtype)
    values = {op.result.name: op for op in reference.unit.ops if not op.is_collective}
    for op in candidate.unit.ops:
        where = ".".join(p for p in (path, op.section, op.result.name) if p)
        got = op.result.dtype
        if op.is_collective:
            if narrows(op.operands[0].tensor.dtype, got):
                yield _reason(where, "message", op.operands[0].tensor.dtype, got)
            continue
        like = values.get(op.result.name)
        if like is not None and like.operator == op.operator:
            wanted = like.result.dtype
        elif op.operator in ("append", "quantize"):
            continue
        else:
            wanted = _default(op)
        if narrows(wanted, got):
            yield _reason(where, "value", wanted, got)


def _reason(where: str, what: str, wanted: str, got: str) -> Reason:
    return Reason("type.narrowed", where, f"a {what} must be stored at least as {wanted}, but is {got}")


def _parts(tensor: Tensor, stored: Mapping[str, str]) -> Iterator[str]:
    """Formats of the weights that a weight is derived from."""
    prefix = tensor.name.rpartition(".")[0]
    for operand in tensor.derived.operands if tensor.derived is not None else ():
        for name in (f"{prefix}.{operand.name}" if prefix else operand.name, operand.name):
            if name in stored:
                yield stored[name]
                break


def _type(use: Use) -> Type:
    t = use.tensor
    type_ = Type(t.dims, t.dtype, t.every)
    return type_ if use.index is None else indexed(type_, Type(use.index.dims, use.index.dtype), t.name)


def _default(op: LocalOp) -> str:
    """The format that the operator gives when the text names none."""
    try:
        types = tuple(_type(u) for u in op.operands)
        over = tuple(u.over for u in op.operands)
        return result_type(op.operator, types, over, op.result.dims, None, dict(op.attributes), "").dtype
    except RoofLangError:
        return op.result.dtype
