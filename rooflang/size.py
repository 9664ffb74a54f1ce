"""Symbolic sizes: exact expressions over named symbols, shared by every reader.

A `Size` is an immutable, interned node (equal expressions are one object), so a whole program's
sizes form one DAG that is evaluated once per node. Leaves are exact rationals and symbols; inner nodes
are sums, products, floor and ceil division, min, max, and the routing functions of `ROUTING`.

Symbols with a fixed meaning: `B` sequences in flight per replica, `Q` query tokens per sequence in a
step, `S` cached tokens per sequence, `m` micro-batches, `d` drafted tokens, `domain` devices of a
scale-up domain; every other symbol is the size of a mesh axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias

Number: TypeAlias = int | Fraction
SizeLike: TypeAlias = "Size | int | Fraction"

_TABLE: dict[tuple[Any, ...], Size] = {}


class Size:
    """One interned node: `kind`, `arguments` (nodes) and, for leaves and calls, a `value`."""

    __slots__ = ("arguments", "kind", "serial", "value")

    kind: str
    arguments: tuple[Size, ...]
    value: Any
    serial: int

    def __new__(cls, kind: str, arguments: tuple[Size, ...] = (), value: Any = None) -> Size:
        key = (kind, value, arguments)
        node = _TABLE.get(key)
        if node is None:
            node = object.__new__(cls)
            node.kind, node.arguments, node.value = kind, arguments, value
            node.serial = len(_TABLE)
            _TABLE[key] = node
        return node

    # Interning makes identity equality. The order of arguments is that of this process, so a size from
    # another process is built anew by the constructors.
    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (self.kind, self.arguments, self.value))

    def __add__(self, other: SizeLike) -> Size:
        return add(self, other)

    __radd__ = __add__

    def __mul__(self, other: SizeLike) -> Size:
        return mul(self, other)

    __rmul__ = __mul__

    def __sub__(self, other: SizeLike) -> Size:
        return add(self, mul(other, -1))

    def __rsub__(self, other: SizeLike) -> Size:
        return add(other, mul(self, -1))

    def __floordiv__(self, other: SizeLike) -> Size:
        return floordiv(self, other)

    def __repr__(self) -> str:
        return f"Size({self})"

    def __str__(self) -> str:
        return _show(self)

    @property
    def constant(self) -> Number | None:
        """The exact value if this is a constant, else None."""
        if self.kind != "const":
            return None
        value: Number = self.value
        return value

    def symbols(self) -> frozenset[str]:
        """The names on which the value depends."""
        found = _SYMBOLS.get(self)
        if found is None:
            if self.kind == "symbol":
                found = frozenset((self.value,))
            else:
                found = frozenset().union(*(a.symbols() for a in self.arguments))
            _SYMBOLS[self] = found
        return found

    def at(self, **values: Number) -> Number:
        """The exact value for given symbols. Raises KeyError naming a missing symbol."""
        return evaluate_exact(self, values)


_SYMBOLS: dict[Size, frozenset[str]] = {}
_TEXT: dict[Size, str] = {}
_FACTORED: dict[Size, Size] = {}
_CONSTANTS: dict[Number, Size] = {}


def const(value: Number) -> Size:
    """The leaf holding an exact rational (an int where it is whole)."""
    found = _CONSTANTS.get(value)
    if found is None:
        exact = Fraction(value)
        found = Size("const", (), exact.numerator if exact.denominator == 1 else exact)
        _CONSTANTS[value] = found
    return found


def symbol(name: str) -> Size:
    """The leaf named `name`."""
    return Size("symbol", (), name)


def as_size(value: SizeLike) -> Size:
    return value if isinstance(value, Size) else const(value)


ZERO: Final = const(0)
ONE: Final = const(1)


@lru_cache(maxsize=1 << 16)
def add(*terms: SizeLike) -> Size:
    """Sum, flattened, with equal terms gathered: 2·x + x is 3·x."""
    total: Number = 0
    gathered: dict[Size, Number] = {}
    for term in terms:
        node = as_size(term)
        if node.kind == "const":
            total += node.value
            continue
        for part in node.arguments if node.kind == "add" else (node,):
            if part.kind == "const":
                total += part.value
            else:
                factor, rest = _split(part)
                gathered[rest] = gathered.get(rest, 0) + factor
    parts = [_scale(node, factor) for node, factor in gathered.items() if factor]
    if total:
        parts.append(const(total))
    if not parts:
        return ZERO
    if len(parts) == 1:
        return parts[0]
    return Size("add", tuple(sorted(parts, key=_order)))


@lru_cache(maxsize=1 << 16)
def mul(*factors: SizeLike) -> Size:
    """Product, flattened, with the constant factor gathered in front."""
    scale: Number = 1
    parts: list[Size] = []
    for factor in factors:
        node = as_size(factor)
        if node.kind == "const":
            scale *= node.value
            continue
        for part in node.arguments if node.kind == "mul" else (node,):
            if part.kind == "const":
                scale *= part.value
            else:
                parts.append(part)
    if not scale or not parts:
        return const(scale)
    if len(parts) == 1:
        return _scale(parts[0], scale)
    parts.sort(key=_order)
    return _scale(Size("mul", tuple(parts)), scale)


def _scale(node: Size, factor: Number) -> Size:
    if factor == 1:
        return node
    arguments = node.arguments if node.kind == "mul" else (node,)
    return Size("mul", (const(factor), *arguments))


def _split(node: Size) -> tuple[Number, Size]:
    if node.kind == "mul" and node.arguments[0].kind == "const":
        rest = node.arguments[1:]
        return node.arguments[0].value, rest[0] if len(rest) == 1 else Size("mul", rest)
    return 1, node


def _order(node: Size) -> int:
    # Interning makes the serial a stable order within a process; text sorts again by spelling.
    return node.serial


@lru_cache(maxsize=1 << 16)
def _division(kind: str, a: SizeLike, b: SizeLike) -> Size:
    left, right = as_size(a), as_size(b)
    if right is ONE:
        return left
    if left.kind == "const" and right.kind == "const":
        quotient = Fraction(left.value, right.value)
        return const(quotient.__floor__() if kind == "floordiv" else quotient.__ceil__())
    return Size(kind, (left, right))


def floordiv(a: SizeLike, b: SizeLike) -> Size:
    return _division("floordiv", a, b)


def ceildiv(a: SizeLike, b: SizeLike) -> Size:
    """The share of the fullest of b ranks."""
    return _division("ceildiv", a, b)


def div(a: SizeLike, b: SizeLike) -> Size:
    """Exact quotient (an average, not a count)."""
    left, right = as_size(a), as_size(b)
    if right.kind == "const":
        return mul(left, Fraction(1, right.value))
    return Size("div", (left, right))


def _extreme(kind: str, values: Iterable[SizeLike]) -> Size:
    pick = min if kind == "min" else max
    constants: list[Number] = []
    parts: set[Size] = set()
    for node in map(as_size, values):
        if node.kind == "const":
            constants.append(node.value)
        elif node.kind == kind:
            constants.extend(a.value for a in node.arguments if a.kind == "const")
            parts.update(a for a in node.arguments if a.kind != "const")
        else:
            parts.add(node)
    if constants:
        parts.add(const(pick(constants)))
    if len(parts) == 1:
        return parts.pop()
    return Size(kind, tuple(sorted(parts, key=_order)))


def minimum(*values: SizeLike) -> Size:
    return _extreme("min", values)


def maximum(*values: SizeLike) -> Size:
    return _extreme("max", values)


# Functions of the routing distribution. They stay symbolic: the evaluator gives them the scenario's
# expectation, the tally gives them what was counted, so that everything around them compares exactly.
ROUTING: Final = frozenset({"distinct", "copies", "fullest", "rows"})


def routing(function: str, *arguments: SizeLike, tag: str) -> Size:
    """A routing statistic of the expert choice `tag`.

    distinct(E, k, T, R)   expected distinct experts that the rank which needs most of them needs, of R ranks
                           holding E/R each, for T tokens choosing k of E
    copies(R, E, k, T)     expected rank copies received by one rank when T tokens are sent to R ranks
    fullest(R, P, E, k)    expected token-expert pairs on the fullest of R ranks, of P in all, where tokens
                           choose k of E; of rows of a cache, which have no popularity, fullest(R, P)
    rows(n, k, Q, R)       expected distinct rows, of the n on one of R ranks, that Q queries picking k read
    """
    if function not in ROUTING:
        raise ValueError(f"a routing function must be one of {sorted(ROUTING)}, but got {function!r}")
    return Size("call", tuple(map(as_size, arguments)), (function, tag))


def evaluate_exact(
    node: Size,
    values: Mapping[str, Number],
    calls: Mapping[tuple[Any, ...], Number] | Callable[[str, str, tuple[Number, ...]], Number] | None = None,
    memo: dict[Size, Number] | None = None,
) -> Number:
    """Exact value over int and Fraction. `calls` answers a routing function (name, tag, arguments)."""
    memo = {} if memo is None else memo
    found = memo.get(node)
    if found is not None:
        return found
    kind = node.kind
    result: Number
    if kind == "const":
        result = node.value
    elif kind == "symbol":
        result = values[node.value]
    else:
        args = [evaluate_exact(a, values, calls, memo) for a in node.arguments]
        if kind == "add":
            result = sum(args)
        elif kind == "mul":
            result = 1
            for a in args:
                result *= a
        elif kind == "floordiv":
            result = int(args[0] // args[1])
        elif kind == "ceildiv":
            result = -int(-args[0] // args[1])
        elif kind == "div":
            result = Fraction(args[0]) / args[1]
        elif kind == "min":
            result = min(args)
        elif kind == "max":
            result = max(args)
        else:
            if not callable(calls):
                raise KeyError(f"routing function {node.value[0]} needs a scenario")
            result = calls(node.value[0], node.value[1], tuple(args))
    if isinstance(result, Fraction) and result.denominator == 1:
        result = int(result)
    memo[node] = result
    return result


def factored(node: Size) -> Size:
    """The same value with common factors taken out of sums: a·b + a·c is a·(b + c).

    Fewer and narrower operations when sizes are evaluated over a grid.
    """
    found = _FACTORED.get(node)
    if found is not None:
        return found
    if not node.arguments:
        result = node
    elif node.kind == "add":
        result = _take_out([factored(a) for a in node.arguments])
    else:
        result = rebuild(node, [factored(a) for a in node.arguments])
    _FACTORED[node] = result
    return result


def _take_out(terms: list[Size]) -> Size:
    uses: dict[Size, int] = {}
    for term in terms:
        for factor in set(_factors(term)):
            uses[factor] = uses.get(factor, 0) + 1
    common = max(uses, key=lambda f: (uses[f], -f.serial), default=None)
    if common is None or uses[common] < 2:
        return add(*terms)
    inside: list[Size] = []
    outside: list[Size] = []
    for term in terms:
        factors = list(_factors(term))
        if common in factors:
            factors.remove(common)
            scale = term.arguments[0].value if term.kind == "mul" and term.arguments[0].kind == "const" else 1
            inside.append(mul(scale, *factors))
        else:
            outside.append(term)
    taken = mul(common, _take_out(inside))
    return add(taken, _take_out(outside)) if outside else taken


def _factors(term: Size) -> tuple[Size, ...]:
    parts = term.arguments if term.kind == "mul" else (term,)
    return tuple(p for p in parts if p.kind != "const")


def substitute(node: Size, values: Mapping[str, Size], memo: dict[Size, Size] | None = None) -> Size:
    """The same expression with symbols replaced by expressions."""
    memo = {} if memo is None else memo
    found = memo.get(node)
    if found is not None:
        return found
    if node.kind == "symbol":
        result = values.get(node.value, node)
    elif not node.arguments or node.symbols().isdisjoint(values):
        result = node
    else:
        result = rebuild(node, [substitute(a, values, memo) for a in node.arguments])
    memo[node] = result
    return result


def rebuild(node: Size, arguments: list[Size]) -> Size:
    """The node's operation on other arguments, simplified again."""
    match node.kind:
        case "add":
            return add(*arguments)
        case "mul":
            return mul(*arguments)
        case "floordiv":
            return floordiv(*arguments)
        case "ceildiv":
            return ceildiv(*arguments)
        case "div":
            return div(*arguments)
        case "min":
            return minimum(*arguments)
        case "max":
            return maximum(*arguments)
        case _:
            return Size(node.kind, tuple(arguments), node.value)


def _restore(kind: str, arguments: tuple[Size, ...], value: Any) -> Size:
    if kind == "const":
        return const(value)
    return rebuild(Size(kind, arguments, value), list(arguments)) if arguments else Size(kind, (), value)


def _show(node: Size) -> str:
    text = _TEXT.get(node)
    if text is not None:
        return text
    match node.kind:
        case "const":
            text = str(node.value)
        case "symbol":
            text = str(node.value)
        case "add":
            text = "(" + " + ".join(sorted(map(_show, node.arguments))) + ")"
        case "mul":
            text = "*".join(sorted(map(_show, node.arguments)))
        case "floordiv":
            text = f"floor({_show(node.arguments[0])}, {_show(node.arguments[1])})"
        case "ceildiv":
            text = f"ceil({_show(node.arguments[0])}, {_show(node.arguments[1])})"
        case "div":
            text = f"ratio({_show(node.arguments[0])}, {_show(node.arguments[1])})"
        case "call":
            text = f"{node.value[0]}<{node.value[1]}>({', '.join(map(_show, node.arguments))})"
        case kind:
            text = f"{kind}({', '.join(sorted(map(_show, node.arguments)))})"
    _TEXT[node] = text
    return text
