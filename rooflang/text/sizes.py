"""Sizes as text, and back to the very same interned node.

A sum is written terms first and its constant last, a product constant first; within that, spelling
decides, so that the text does not depend on the order in which a process met the names.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from lark import Token, Tree

from rooflang.errors import DesignError
from rooflang.limits import MAX_INTEGER, MAX_NESTING, MAX_SIZE_NODES
from rooflang.size import Size, add, ceildiv, const, div, floordiv, maximum, minimum, mul, symbol
from rooflang.text.source import Source

_BINARY: Final[dict[str, Callable[[Size, Size], Size]]] = {"floor": floordiv, "ceil": ceildiv, "ratio": div}
_SPELLED: Final = {"floordiv": "floor", "ceildiv": "ceil", "div": "ratio", "min": "min", "max": "max"}


def print_size(size: Size, rename: Callable[[str], str] | None = None) -> str:
    """The text of a size, symbols spelled by `rename`. Raises DesignError for a routing function."""
    match size.kind:
        case "const":
            return str(size.value)
        case "symbol":
            return rename(size.value) if rename else str(size.value)
        case "add":
            terms = sorted((a.kind == "const", print_size(a, rename)) for a in size.arguments)
            first, *rest = (text for _, text in terms)
            return first + "".join(f" - {t[1:]}" if t.startswith("-") else f" + {t}" for t in rest)
        case "mul":
            return _print_product(size, rename)
        case "min" | "max":
            texts = sorted((a.kind == "const", print_size(a, rename)) for a in size.arguments)
            return f"{size.kind}({', '.join(text for _, text in texts)})"
        case "floordiv" | "ceildiv" | "div":
            return f"{_SPELLED[size.kind]}({', '.join(print_size(a, rename) for a in size.arguments)})"
        case kind:
            raise DesignError(f"a size in a design must be arithmetic, but got {kind} {size}")


def _print_product(size: Size, rename: Callable[[str], str] | None) -> str:
    scale, factors = "", list(size.arguments)
    if factors[0].kind == "const":
        value = factors.pop(0).value
        scale = "-" if value == -1 else f"{value}*"
    texts = sorted(
        f"({print_size(a, rename)})" if a.kind == "add" else print_size(a, rename) for a in factors
    )
    return scale + "*".join(texts)


def size_problem(size: Size) -> str | None:
    """Why a size cannot be written, as the message after its name; None if it can."""
    nodes, stack = 0, [(size, 1)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if nodes > MAX_SIZE_NODES:
            return f"must have at most {MAX_SIZE_NODES} parts"
        if depth > MAX_NESTING - 2:
            return f"must be nested at most {MAX_NESTING - 2} deep"
        if node.kind == "const":
            value: Fraction = node.value
            if max(abs(value.numerator), value.denominator) > MAX_INTEGER:
                return f"must use numbers of at most {MAX_INTEGER:.0e}"
        elif node.kind == "call":
            return "must be arithmetic over symbols, without routing functions"
        stack.extend((a, depth + 1) for a in node.arguments)
    return None


class SizeReader:
    """Builds sizes from parse trees. Raises RoofLangSyntaxError beyond the limits."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = 0

    def read(self, tree: Tree[Token], offset: int) -> Size:
        """The size of a `size` tree that starts at an offset."""
        self._left = MAX_SIZE_NODES
        size = self._sum(_tree(tree.children[0]), offset)
        message = size_problem(size)
        if message:
            raise self._source.problem(f"a size {message}", offset)
        return size

    def _sum(self, tree: Tree[Token], offset: int) -> Size:
        terms: list[Size] = []
        sign = 1
        for child in tree.children:
            if isinstance(child, Token):
                offset = child.start_pos or 0
                sign = -1 if child.type == "MINUS" else 1
            else:
                term = self._term(child, offset)
                terms.append(term if sign == 1 else mul(term, -1))
        return terms[0] if len(terms) == 1 else add(*terms)

    def _term(self, tree: Tree[Token], offset: int) -> Size:
        factors: list[Size] = []
        divide = False
        for child in tree.children:
            if isinstance(child, Token):
                offset = child.start_pos or 0
                divide = child.type == "SLASH"
                continue
            atom = self._atom(child, offset)
            if divide:
                if not isinstance(atom.constant, int) or not atom.constant:
                    raise self._source.problem(
                        "'/' must be followed by a whole number other than 0; else use floor, ceil or ratio",
                        offset,
                    )
                atom = const(Fraction(1, atom.constant))
            factors.append(atom)
        return factors[0] if len(factors) == 1 else mul(*factors)

    def _atom(self, tree: Tree[Token], offset: int) -> Size:
        self._left -= 1
        if self._left < 0:
            raise self._source.problem(f"a size must have at most {MAX_SIZE_NODES} parts", offset)
        if tree.data == "sizesum":
            return self._sum(tree, offset)
        token = tree.children[0]
        if not isinstance(token, Token):
            return self._sum(token, offset)
        if tree.data == "symbol":
            return symbol(str(token))
        if tree.data == "integer":
            return const(int(token))
        return self._call(str(token), tree, token.start_pos or 0)

    def _call(self, name: str, tree: Tree[Token], offset: int) -> Size:
        arguments = [self._sum(_tree(t), offset) for t in tree.children[1:]]
        if name in ("min", "max"):
            return minimum(*arguments) if name == "min" else maximum(*arguments)
        if len(arguments) != 2:
            raise self._source.problem(f"{name} takes 2 sizes, but got {len(arguments)}", offset)
        if arguments[1].constant == 0:
            raise self._source.problem(f"{name} must not divide by 0", offset)
        return _BINARY[name](*arguments)


def _tree(child: Tree[Token] | Token) -> Tree[Token]:
    if isinstance(child, Token):
        raise TypeError(f"a part of a size must be a tree, but got {child!r}")
    return child
