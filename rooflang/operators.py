"""The closed set of operators: what each takes, what its result is, and which algebra it has.

An operator's type is declared here once. Three readers then give it meaning without importing each
other: `check` (static rules), `run` (NumPy semantics on simulated devices) and `work` (cost formulas).

    einsum(a, b, ... -> dims)        sum over names absent from dims; an operand may be `w[ids]`
    add, mul (`a + b`, `a * b`)      broadcast by name; result dims are the union in order
    silu relu sigmoid exp softplus sqrtsoftplus   element-wise functions of one tensor
    swiglu(gate, up, limit=)         silu(clamped gate) * clamped up
    scale(x, by=)                    multiply by a constant
    cast(x)                          change of storage format (give the format as `name: format = ...`)
    norm(x over D, gain, kind=)      rms (default), l2, sum (divide by the sum), sinkhorn (over two names)
    logsumexp(s over S, t over N, sink)   log of the sum of exponentials of visible entries, jointly
    softmax(s, l)                    exp(s - l) on visible entries, zero elsewhere
    rope(x over C, last=, inverse=, every=)   rotary embedding of the last `last` of C at the token's position
    topk(s over N -> ..k)            positions of the k largest visible entries; ties by lower position
    gather(x[ids])                   rows of x at ids
    append(state, value)             writes the step's rows; only tokens that end a block for `every n`
    pool(raw over R, score over R, bias, every=)   softmax-weighted sum over a block of raw rows
    conv(x, weight over A, state)    causal convolution per channel over the last A tokens
    scan(state, k, v, decay, beta)   a linear recurrence's state after every token of the step
    quantize(x over D, block=)       round to the result's format per block of D
    concat(a over R, b over C -> dims)    views laid end to end on a new name
    slice(x over RC, start= -> dims)      a view of part of a name
    split(x over H -> dims)          a view that names one dimension as two: H = G·J
    merge(x over G -> dims)          the inverse of split
    sample(logits over V, noise)     position of the largest logit plus noise
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rooflang.dtype import index_dim
from rooflang.errors import DesignError, nearest


@dataclass(frozen=True, slots=True)
class Operator:
    """What the language knows of an operator.

    `operands` bounds their number; `attributes` maps each allowed attribute to its type;
    `explicit_dims` says that the text must give the result's dims;
    `linear` lists the operand positions in which the operator is linear and zero-preserving;
    `elementwise` says that every name of the result is only a batch name;
    `zero` says that a zero in the first operand gives a zero (so absent rows stay absent);
    `view` says that the operator moves no data.
    """

    name: str
    operands: tuple[int, int]
    attributes: Mapping[str, type]
    explicit_dims: bool = False
    elementwise: bool = False
    linear: tuple[int, ...] = ()
    zero: bool = False
    view: bool = False


def _op(
    name: str, low: int, high: int, attributes: Mapping[str, type] | None = None, **flags: object
) -> Operator:
    return Operator(name, (low, high), attributes or {}, **flags)  # type: ignore[arg-type]


_ALL = (
    _op("einsum", 1, 6, explicit_dims=True, linear=(0, 1, 2, 3, 4, 5), zero=True),
    _op("add", 2, 2, elementwise=True, linear=(0, 1)),
    _op("mul", 2, 2, elementwise=True, linear=(0, 1), zero=True),
    _op("silu", 1, 1, elementwise=True, zero=True),
    _op("relu", 1, 1, elementwise=True, zero=True),
    _op("sigmoid", 1, 1, elementwise=True),
    _op("exp", 1, 1, elementwise=True),
    _op("softplus", 1, 1, elementwise=True),
    _op("sqrtsoftplus", 1, 1, elementwise=True),
    _op("swiglu", 2, 2, {"limit": float, "alpha": float, "offset": float}, elementwise=True, zero=True),
    _op("scale", 1, 1, {"by": float}, elementwise=True, linear=(0,), zero=True),
    _op("cast", 1, 1, elementwise=True, linear=(0,), zero=True),
    _op("norm", 1, 2, {"kind": str, "eps": float, "iterations": int, "with": str}),
    _op("logsumexp", 1, 4),
    _op("softmax", 2, 2, elementwise=True),
    _op("rope", 1, 1, {"last": int, "inverse": bool, "every": int, "theta": float}, linear=(0,), zero=True),
    _op("topk", 1, 1, {"groups": int, "keep": int}, explicit_dims=True),
    _op("gather", 1, 1, {}),
    _op("append", 2, 2, {}),
    _op("pool", 2, 3, {"every": int, "overlap": bool}),
    _op("conv", 3, 3),
    _op("scan", 4, 5),
    _op("quantize", 1, 1, {"block": int}, elementwise=True, zero=True),
    _op("concat", 2, 4, explicit_dims=True, view=True, linear=(0, 1, 2, 3)),
    _op("slice", 1, 1, {"start": int}, explicit_dims=True, view=True, linear=(0,), zero=True),
    _op("split", 1, 1, explicit_dims=True, view=True, linear=(0,), zero=True),
    _op("merge", 1, 1, explicit_dims=True, view=True, linear=(0,), zero=True),
    _op("sample", 1, 2, {}),
)
OPERATORS: Final[Mapping[str, Operator]] = {o.name: o for o in _ALL}

STATE_KINDS: Final = ("append", "window", "every", "last")
NORM_KINDS: Final = ("rms", "l2", "sum", "sinkhorn")


def operator_of(name: str, where: str = "") -> Operator:
    """The operator of that name. Raises DesignError for an unknown one."""
    found = OPERATORS.get(name)
    if found is None:
        raise DesignError(
            f"an operator must be known, but got {name!r}{nearest(name, list(OPERATORS))}", where
        )
    return found


@dataclass(frozen=True, slots=True)
class Type:
    """Dims and storage format of a value. `every` > 1: only tokens that end a block of that many hold one."""

    dims: tuple[str, ...]
    dtype: str
    every: int = 1

    @property
    def points_into(self) -> str | None:
        return index_dim(self.dtype)


ACTIVATION: Final = "bf16"


def scan_keys(dims: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    """The names of a scan's keys that its values lack, given the dims of its operands.

    With a delta rule (a fifth operand) the state is read along them, so they must then be seen whole.
    """
    return frozenset(dims[1]) - frozenset(dims[2])


def whole_names(name: str, dims: tuple[tuple[str, ...], ...], over: tuple[str | None, ...]) -> frozenset[str]:
    """Names along which `conv` and `scan` cannot be cut: tokens, taps and their rows, keys that are read."""
    if name == "conv":
        return frozenset({"Q", over[1] or "", dims[2][1]})
    return frozenset({"Q"}) | (scan_keys(dims) if len(dims) == 5 else frozenset())


def _conv_fits(operands: tuple[Type, ...], over: tuple[str | None, ...], where: str) -> None:
    x, weight, state = (t.dims for t in operands)
    taps = over[1]
    if taps is None:
        raise DesignError("conv needs 'over' its taps: conv(x, weight over A, state)", where)
    channels = {d for d in x if d not in ("B", "Q")}
    if x[:2] != ("B", "Q") or set(weight) != {taps, *channels} or set(state) != {"B", state[1], *channels}:
        shown = "; ".join(", ".join(dims) for dims in (x, weight, state))
        raise DesignError(
            "conv needs x [B, Q, channels], a weight [taps, channels] and a state [B, rows, channels] of the "
            f"same channels, but got [{shown}]",
            where,
        )


def _scan_fits(dims: tuple[tuple[str, ...], ...], where: str) -> None:
    state, keys, values, *factors = (set(d) for d in dims)
    tokens = {"B", "Q"} <= keys & values and "Q" not in state
    if not tokens or keys | values != state | {"Q"} or keys <= values:
        shown = "; ".join(", ".join(d) for d in dims)
        raise DesignError(
            "scan needs a state [B, ...] with the names of its keys and its values [B, Q, ...] together, and "
            f"keys with a name that values lack, but got [{shown}]",
            where,
        )
    allowed = (state | {"Q"}, (state | {"Q"}) - scan_keys(dims))
    for what, names, known in zip(("decay", "beta"), factors, allowed, strict=False):
        if not names <= known:
            lost = ", ".join(sorted(names - known))
            raise DesignError(f"scan's {what} must have names of its state or tokens, but has {lost}", where)


def _second(kind: str, over: str, second: object, operand: Type, where: str) -> None:
    """A Sinkhorn norm, and no other, acts on a second name of its operand."""
    if kind != "sinkhorn" and second is not None:
        raise DesignError(
            f"norm takes with= for kind=sinkhorn alone, but its kind is {kind}: leave with={second} out",
            where,
        )
    if kind == "sinkhorn" and (second not in operand.dims or second == over):
        raise DesignError(
            f"a sinkhorn norm over {over} needs with= another name of its operand "
            f"[{', '.join(operand.dims)}], but got {second}",
            where,
        )


def union(*dims: tuple[str, ...]) -> tuple[str, ...]:
    """Names in order of first appearance."""
    seen: dict[str, None] = {}
    for names in dims:
        seen.update(dict.fromkeys(names))
    return tuple(seen)


def indexed(type_: Type, ids: Type, where: str) -> Type:
    """The type of `x[ids]`: the name that ids point into gives way to the names of ids."""
    target = ids.points_into
    if target is None or target not in type_.dims:
        raise DesignError(
            f"an index must point into a dimension of what it indexes, but {ids.dtype} indexes dims "
            f"[{', '.join(type_.dims)}]",
            where,
        )
    position = type_.dims.index(target)
    before = tuple(d for d in type_.dims[:position] if d not in ids.dims)
    after = tuple(d for d in type_.dims[position + 1 :] if d not in ids.dims)
    if set(type_.dims[:position]) <= set(ids.dims):
        return Type((*ids.dims, *after), type_.dtype)
    return Type((*before, *(d for d in ids.dims), *after), type_.dtype)


def result_type(
    name: str,
    operands: tuple[Type, ...],
    over: tuple[str | None, ...],
    dims: tuple[str, ...] | None,
    dtype: str | None,
    attributes: Mapping[str, object],
    where: str,
) -> Type:
    """The result's type. Raises DesignError when the operands do not fit the operator."""
    operator = operator_of(name, where)
    low, high = operator.operands
    if not low <= len(operands) <= high:
        raise DesignError(f"{name} takes {low} to {high} operands, but got {len(operands)}", where)
    for key in attributes:
        if key not in operator.attributes:
            known = list(operator.attributes)
            raise DesignError(f"{name} has no attribute {key!r}{nearest(key, known)}", where)
    for axis, operand in zip(over, operands, strict=True):
        if axis is not None and axis not in operand.dims:
            raise DesignError(
                f"'over {axis}' must name a dimension of its operand [{', '.join(operand.dims)}]", where
            )
    if operator.explicit_dims and dims is None:
        raise DesignError(f"{name} needs its result's dims: write {name}(... -> dims)", where)
    every = max((t.every for t in operands), default=1)
    first = operands[0]
    default = _default_dtype(name, operands, over)
    result = dtype or default
    match name:
        case "einsum":
            present = set(union(*(t.dims for t in operands)))
            missing = [d for d in dims or () if d not in present]
            if missing:
                raise DesignError(
                    f"einsum's result names must occur in an operand, but {missing[0]} does not", where
                )
            return Type(dims or (), result, every)
        case "logsumexp":
            reduced = {axis for axis in over if axis}
            if not reduced:
                raise DesignError("logsumexp needs 'over' on the scores that it sums", where)
            kept = union(*(t.dims for t, axis in zip(operands, over, strict=True) if axis))
            return Type(tuple(d for d in kept if d not in reduced), result, every)
        case "topk":
            axis = over[0]
            if axis is None or not dims:
                raise DesignError("topk needs 'over' and result dims: topk(s over N -> B Q k)", where)
            return Type(dims, f"index<{axis}>")
        case "sample":
            axis = over[0]
            if axis is None:
                raise DesignError("sample needs 'over': sample(logits over V)", where)
            return Type(tuple(d for d in first.dims if d != axis), f"index<{axis}>")
        case "gather":
            return Type(first.dims, result, every)
        case "append":
            return Type(first.dims, first.dtype)
        case "conv":
            _conv_fits(operands, over, where)
            return Type(first.dims, result, every)
        case "scan":
            _scan_fits(tuple(t.dims for t in operands), where)
            return Type(("B", "Q", *(d for d in first.dims if d != "B")), result, every)
        case "pool":
            axis = over[0]
            if axis is None:
                raise DesignError(
                    "pool needs 'over' the rows of its raw state: pool(raw over R, score over R)", where
                )
            span = attributes.get("every")
            if not isinstance(span, int) or span < 1:
                raise DesignError("pool needs every=n with n >= 1", where)
            drop = {axis, "Z"} if attributes.get("overlap") else {axis}
            return Type(("B", "Q", *(d for d in first.dims if d not in drop and d != "B")), result, span)
        case "norm":
            if over[0] is None:
                raise DesignError("norm needs 'over': norm(x over D)", where)
            kind = attributes.get("kind", "rms")
            if kind not in NORM_KINDS:
                raise DesignError(
                    f"norm's kind must be one of {', '.join(NORM_KINDS)}, but got {kind!r}", where
                )
            _second(str(kind), over[0], attributes.get("with"), first, where)
            return Type(first.dims, result, every)
        case "rope" | "quantize":
            if over[0] is None:
                raise DesignError(f"{name} needs 'over': {name}(x over D)", where)
            return Type(first.dims, result, every)
        case "concat" | "slice" | "split" | "merge":
            return Type(dims or (), result, every)
        case "softmax":
            return Type(first.dims, result, every)
        case _:
            return Type(union(*(t.dims for t in operands)), result, every)


def _default_dtype(name: str, operands: tuple[Type, ...], over: tuple[str | None, ...]) -> str:
    """Views and casts keep their operand's format; arithmetic gives activations, f32 if any operand is."""
    if name in ("slice", "split", "merge", "concat", "gather"):
        return operands[0].dtype
    if name == "logsumexp":
        return "f32"
    if any(t.dtype == "f32" for t in operands) and name not in ("norm", "einsum", "softmax", "quantize"):
        return "f32"
    return ACTIVATION
