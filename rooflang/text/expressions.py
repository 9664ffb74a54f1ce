"""Assignments and calls: nested ones are flattened, each inner part under a fresh name (`_1`, `_2`, ...)."""

from __future__ import annotations

import re

from rooflang.design import Attribute, Op, Operand, Statement
from rooflang.errors import nearest
from rooflang.form import attribute_problem
from rooflang.operators import OPERATORS
from rooflang.text.positions import Positions
from rooflang.text.tree import Node, first_offset, offset_of, token_at, tokens_of, tree_at, trees_of
from rooflang.text.words import Words


class Expressions:
    """Reads operators into a list of statements. Raises RoofLangSyntaxError."""

    def __init__(self, words: Words, positions: Positions) -> None:
        self.words = words
        self.positions = positions
        self._fresh = 0
        self._taken: set[str] | None = None

    def assignment(self, tree: Node, found: list[Statement]) -> None:
        token = token_at(tree, 0)
        result = self.words.name(token)
        inner = trees_of(tree)
        dtype = self.words.format(token_at(inner[0], 0)) if inner[0].data == "cast" else None
        if inner[-1].data == "use":
            used = token_at(inner[-1], 0)
            hint = "gather(x[ids])" if len(inner[-1].children) > 1 else f"cast({used})"
            self.words.fail(
                f"an assignment must apply an operator, but got only {str(used)!r}; write for example {hint}",
                used,
            )
        found.append(self.positions.keep(self._apply(inner[-1], result, dtype, found), offset_of(token)))

    def statement(self, tree: Node, found: list[Statement]) -> None:
        token = token_at(tree, 0)
        op = self.call(tree, "_", None, found)
        if op.operator != "append":
            self.words.fail(f"only append may stand without a result: write name = {token}(...)", token)
        if not op.operands:
            self.words.fail("append takes 2 operands, but got 0", token)
        found.append(self.positions.keep(Op(op.operands[0].name, *_fields(op)), offset_of(token)))

    def _apply(self, tree: Node, result: str, dtype: str | None, found: list[Statement]) -> Op:
        if tree.data == "call":
            return self.call(tree, result, dtype, found)
        operator = "add" if tree.data == "sum" else "mul"
        left, *rest = trees_of(tree)
        operands = (self._operand(left, found), self._operand(rest[0], found))
        for child in rest[1:]:
            name = self._new()
            found.append(self.positions.keep(Op(name, operator, operands), first_offset(child)))
            operands = (Operand(name), self._operand(child, found))
        return Op(result, operator, operands, (), None, dtype)

    def _operand(self, tree: Node, found: list[Statement], over: str | None = None) -> Operand:
        if tree.data == "use":
            names = [self.words.name(token) for token in tokens_of(tree)]
            return Operand(names[0], names[1] if len(names) > 1 else None, over)
        op = self._apply(tree, "_", None, found)
        if op.operator == "append":
            raise self.words.source.problem(
                "append must be a statement of its own: it has no result", first_offset(tree)
            )
        named = Op(self._new(), *_fields(op))
        found.append(self.positions.keep(named, first_offset(tree)))
        return Operand(named.result, None, over)

    def call(self, tree: Node, result: str, dtype: str | None, found: list[Statement]) -> Op:
        token = token_at(tree, 0)
        operator = str(token)
        if operator not in OPERATORS:
            self.words.fail(
                f"an operator must be known, but got {operator!r}{nearest(operator, list(OPERATORS))}", token
            )
        operands: list[Operand] = []
        attributes: dict[str, Attribute] = {}
        dims: tuple[str, ...] | None = None
        for child in trees_of(tree):
            if child.data == "operand":
                if attributes:
                    raise self.words.source.problem(
                        "operands must come before attributes", first_offset(child)
                    )
                over = tokens_of(child)
                axis = self.words.name(over[-1]) if over else None
                operands.append(self._operand(tree_at(child, 0), found, axis))
            elif child.data == "arrow":
                dims = tuple(self.words.name(name) for name in tokens_of(child))
            else:
                self._attribute(operator, child, attributes)
        return Op(result, operator, tuple(operands), tuple(attributes.items()), dims, dtype)

    def _attribute(self, operator: str, tree: Node, attributes: dict[str, Attribute]) -> None:
        token, literal = token_at(tree, 0), token_at(tree_at(tree, 1), 0)
        key = str(token)
        if key in attributes:
            self.words.fail(f"an attribute must be given once, but {key!r} is given again", token)
        attributes[key] = value = self.words.literal(literal)
        self.words.require(attribute_problem(operator, key, value), token)

    def _new(self) -> str:
        if self._taken is None:
            self._taken = set(re.findall(r"\b_[0-9]+\b", self.words.source.code))
        while True:
            self._fresh += 1
            name = f"_{self._fresh}"
            if name not in self._taken:
                return name


def _fields(
    op: Op,
) -> tuple[str, tuple[Operand, ...], tuple[tuple[str, Attribute], ...], tuple[str, ...] | None, str | None]:
    return op.operator, op.operands, op.attributes, op.dims, op.dtype
