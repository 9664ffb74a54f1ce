"""Where a fused kernel must wait for itself.

All blocks of a kernel can run at once only until one of them needs what all others make. So a kernel is
cut into stages that follow each other: its resources overlap within a stage, never across a wait.
"""

from __future__ import annotations

from collections.abc import Mapping

from rooflang.lowered import LocalOp, Tensor, Unit

# Operators that need a whole row of their operand before they give any part of their result.
_WHOLE = frozenset(("norm", "topk", "sample"))


def stages(unit: Unit, made: Mapping[Tensor, str]) -> dict[Tensor, int]:
    """The stage of every value within its kernel, from 0.

    A product with a weight waits for a product or an attention of the same kernel that it reads, and
    attention waits for a product. Attention streams the rows of its caches and does not wait for itself.
    """
    found: dict[Tensor, tuple[int, str]] = {}
    for op in unit.ops:
        if op.is_collective:
            continue
        kernel = made[op.result]
        inside = [found[u.tensor] for u in op.operands if made.get(u.tensor) == kernel and u.tensor in found]
        inside += [found[u.index] for u in op.operands if u.index in found and made.get(u.index) == kernel]
        stage = max((s for s, _ in inside), default=0)
        kinds = {kind for s, kind in inside if s == stage and kind}
        own = _kind(op)
        waits = bool(kinds) if own == "product" else "product" in kinds if own == "attention" else False
        found[op.result] = (
            stage + waits,
            own or ("product" if "product" in kinds else next(iter(kinds), "")),
        )
    return {tensor: stage for tensor, (stage, _) in found.items()}


def _kind(op: LocalOp) -> str:
    if op.operator in _WHOLE:
        return "product"
    if op.operator == "scan":
        return "attention"
    if op.operator != "einsum":
        return ""
    if any(u.tensor.kind == "state" for u in op.operands):
        return "attention"
    return "product" if any(u.tensor.kind == "weight" for u in op.operands) else ""


def held(
    unit: Unit, made: Mapping[Tensor, str], at: Mapping[Tensor, int]
) -> Mapping[tuple[str, int], tuple[Tensor, ...]]:
    """By kernel and stage: the values that stay on chip over the wait before it."""
    last: dict[Tensor, int] = {}
    for op in unit.ops:
        if op.result not in at:
            continue
        for use in op.operands:
            if made.get(use.tensor) == made[op.result] and use.tensor in at:
                last[use.tensor] = max(last.get(use.tensor, 0), at[op.result])
    found: dict[tuple[str, int], list[Tensor]] = {}
    for tensor, end in last.items():
        for stage in range(at[tensor] + 1, end + 1):
            found.setdefault((made[tensor], stage), []).append(tensor)
    return {key: tuple(tensors) for key, tensors in found.items()}
