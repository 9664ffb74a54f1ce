"""Ragged axes: what the tokens of a step see of an axis that grows with the context, on average.

A step adds Q tokens to each sequence and ends at context S. Its tokens stand at contexts S - Q + 1, …, S, and
each sees an axis at the size of its own context: a causal cache s rows, a window min(s, W), a compressed
cache floor(s, n), a choice of rows min(floor(s, n), k). The mean is (F(S) - F(S - Q)) / Q with
F(x) = f(1) + … + f(x) in closed form, so it costs the same for one token and for a whole prompt.
"""

from __future__ import annotations

from functools import lru_cache

from rooflang.size import (
    ONE,
    ZERO,
    Size,
    add,
    div,
    floordiv,
    maximum,
    minimum,
    mul,
    rebuild,
    substitute,
    symbol,
)

CONTEXT = symbol("S")


@lru_cache(maxsize=1 << 16)
def mean_seen(size: Size, tokens: Size) -> Size:
    """The mean of a size over the last `tokens` tokens of context S.

    Exact for sums, constant multiples, minima and maxima with constants, and floor and ceil division of S; a
    size of another form is taken as its first token sees it, which is never too much for one that grows.
    """
    if "S" not in size.symbols() or tokens is ONE:
        return size
    held = minimum(tokens, CONTEXT)  # a context is never shorter than the step's own tokens
    if size is CONTEXT:
        return add(CONTEXT, mul(add(ONE, mul(held, -1)), div(ONE, 2)))
    before = add(CONTEXT, mul(held, -1))
    to, since = _total(size, CONTEXT), _total(size, before)
    if to is None or since is None:
        return substitute(size, {"S": add(before, ONE)})
    return div(add(to, mul(since, -1)), held)


def _total(size: Size, x: Size) -> Size | None:
    """The sum of a size over contexts 1, …, x."""
    if "S" not in size.symbols():
        return mul(size, x)
    size = _pushed(size)
    stair = _stair(size)
    if stair is not None:
        return _stairs(*stair, x)
    if size.kind == "add":
        parts = [_total(a, x) for a in size.arguments]
        return None if None in parts else add(*(p for p in parts if p is not None))
    if size.kind in ("mul", "min", "max"):
        moving = [a for a in size.arguments if "S" in a.symbols()]
        fixed = [a for a in size.arguments if "S" not in a.symbols()]
        if len(moving) != 1:
            return None
        if size.kind == "mul":
            part = _total(moving[0], x)
            return None if part is None else mul(part, *fixed)
        limit = minimum(*fixed) if size.kind == "min" else maximum(*fixed)
        capped = _capped(moving[0], limit, x)
        if capped is None or size.kind == "min":
            return capped
        whole = _total(moving[0], x)  # max(f, k) = f + k - min(f, k)
        return None if whole is None else add(whole, mul(limit, x), mul(capped, -1))
    if size.kind == "div" and "S" not in size.arguments[1].symbols():
        part = _total(size.arguments[0], x)
        return None if part is None else div(part, size.arguments[1])
    return None


def _capped(size: Size, limit: Size, x: Size) -> Size | None:
    """The sum of min(size, limit) over contexts 1, …, x, for a whole limit."""
    stair = _stair(size)
    if stair is None:
        return None
    shift, width = stair
    full = maximum(ZERO, add(mul(width, limit), mul(shift, -1)))  # from this context on the limit holds
    below = minimum(x, full)
    return add(_stairs(shift, width, below), mul(limit, add(x, mul(below, -1))))


def _stairs(shift: Size, width: Size, x: Size) -> Size:
    """The sum of floor((s + shift) / width) over s = 1, …, x."""

    def up_to(y: Size) -> Size:
        if y is ZERO:
            return ZERO
        if width is ONE:
            return mul(y, add(y, ONE), div(ONE, 2))
        steps = floordiv(y, width)
        whole = mul(width, steps, add(steps, mul(ONE, -1)), div(ONE, 2))
        return add(whole, mul(steps, add(y, mul(width, steps, -1), ONE)))

    return add(up_to(add(x, shift)), mul(up_to(shift), -1))


def _stair(size: Size) -> tuple[Size, Size] | None:
    """(shift, width) of a size that is floor((S + shift) / width), for whole shifts and widths."""
    if size is CONTEXT:
        return ZERO, ONE
    if size.kind == "add":
        moving = [a for a in size.arguments if "S" in a.symbols()]
        inner = _stair(moving[0]) if len(moving) == 1 else None
        if inner is None:
            return None
        shift, width = inner
        fixed = [a for a in size.arguments if "S" not in a.symbols()]
        return add(shift, mul(width, add(*fixed))), width
    if size.kind in ("floordiv", "ceildiv"):
        by = size.arguments[1]
        inner = _stair(size.arguments[0]) if "S" not in by.symbols() else None
        if inner is None:
            return None
        shift, width = inner
        up = mul(width, add(by, mul(ONE, -1))) if size.kind == "ceildiv" else ZERO
        return add(shift, up), mul(width, by)
    return None


def _pushed(size: Size) -> Size:
    """Floor and ceil division taken into minima and maxima, whose order they keep."""
    if size.kind not in ("floordiv", "ceildiv") or size.arguments[0].kind not in ("min", "max"):
        return size
    inner, by = size.arguments
    return rebuild(inner, [_pushed(rebuild(size, [a, by])) for a in inner.arguments])
