"""From parse tree to design: names checked, nested calls flattened, positions kept."""

from __future__ import annotations

from rooflang.design import (
    Design,
    Input,
    Op,
    Placement,
    Program,
    Repeat,
    Schedule,
    Section,
    State,
    Statement,
    Weight,
)
from rooflang.form import dim_problem, symbols_problem
from rooflang.limits import MAX_BLOCKS, MAX_DIMS, MAX_STATEMENTS
from rooflang.size import Size
from rooflang.text.expressions import Expressions
from rooflang.text.plans import Plans
from rooflang.text.positions import Positions
from rooflang.text.sizes import SizeReader
from rooflang.text.source import Source
from rooflang.text.tree import Node, offset_of, token_at, tokens_of, tree_at, trees_of
from rooflang.text.words import Words


class Reader:
    """Reads one tree. Afterwards `positions` knows where every statement stands."""

    def __init__(self, source: Source) -> None:
        self.words = Words(source)
        self.positions = Positions(source)
        self._expressions = Expressions(self.words, self.positions)
        self._plans = Plans(self.words)
        self._blocks = 0

    def design(self, tree: Node) -> Design:
        """Raises RoofLangSyntaxError at the first name, number or attribute that is not allowed."""
        parts = {str(part.data): part for part in trees_of(tree)}
        name = self.words.string(token_at(tree, 1))
        placement = self._plans.placement(parts["placement"]) if "placement" in parts else Placement()
        axes = [axis for mesh in placement.meshes for axis, _ in mesh.axes]
        program = self._program(parts["program"], axes)
        pools = tuple(map(self._plans.pool, trees_of(parts["system"]))) if "system" in parts else ()
        schedule = self._plans.schedule(parts["schedule"]) if "schedule" in parts else Schedule()
        return Design(name, program, pools, placement, schedule)

    def _program(self, tree: Node, axes: list[str]) -> Program:
        dims: dict[str, Size] = {}
        sizes = SizeReader(self.words.source)
        body: list[Node] = []
        for child in trees_of(tree):
            if child.data == "dims":
                for dim in trees_of(child):
                    self._dim(dim, dims, sizes, axes)
            elif child.data == "output":
                for token in tokens_of(tree_at(child, 1)):
                    self.positions.outputs.setdefault(self.words.name(token), offset_of(token))
                    if len(self.positions.outputs) > MAX_STATEMENTS:
                        self.words.fail(f"a program must have at most {MAX_STATEMENTS} outputs", token)
            else:
                body.append(child)
        outputs = tuple(
            str(t) for c in trees_of(tree) if c.data == "output" for t in tokens_of(tree_at(c, 1))
        )
        return Program(tuple(dims.items()), tuple(self._body(body)), outputs)

    def _dim(self, tree: Node, dims: dict[str, Size], sizes: SizeReader, axes: list[str]) -> None:
        token = token_at(tree, 0)
        name = self.words.name(token)
        self.words.require(dim_problem(name), token)
        if name in dims:
            self.words.fail(f"a dimension must be declared once, but {name!r} is declared again", token)
        if len(dims) >= MAX_DIMS:
            self.words.fail(f"a program must have at most {MAX_DIMS} dims", token)
        dims[name] = sizes.read(tree_at(tree, 1), offset_of(token))
        self.words.require(symbols_problem(dims[name], axes), token)

    def _body(self, trees: list[Node]) -> list[Statement]:
        found: list[Statement] = []
        for tree in trees:
            match tree.data:
                case "op":
                    self._expressions.assignment(tree, found)
                case "call_statement":
                    self._expressions.statement(tree_at(tree, 0), found)
                case "section" | "repeat":
                    found.append(self._block(tree))
                case _:
                    self._declaration(tree, found)
        return found

    def _block(self, tree: Node) -> Statement:
        first = token_at(tree, 0)
        self._blocks += 1
        if self._blocks > MAX_BLOCKS:
            self.words.fail(f"a program must have at most {MAX_BLOCKS} sections and repeats", first)
        if tree.data == "section":
            name = self.words.name(token_at(tree, 1))
            return self.positions.keep(Section(name, tuple(self._body(trees_of(tree)))), offset_of(first))
        count = self.words.integer("a repeat's count", token_at(tree, 1))
        name = self.words.name(token_at(tree, 3))
        draft = any(token.type == "DRAFT" for token in tokens_of(tree))
        return self.positions.keep(
            Repeat(name, count, tuple(self._body(trees_of(tree))), draft), offset_of(first)
        )

    def _declaration(self, tree: Node, found: list[Statement]) -> None:
        names, tensor = tokens_of(tree_at(tree, 1)), tree_at(tree, 2)
        dtype = self.words.format(token_at(tensor, 0))
        dims = tuple(self.words.name(token) for token in tokens_of(tensor)[1:])
        extra = tree_at(tree, 3) if len(tree.children) > 3 else None
        for token in names:
            name = self.words.name(token)
            statement: Weight | State | Input
            if tree.data == "input":
                statement = Input(name, dtype, dims)
            elif tree.data == "weight":
                statement = Weight(name, dtype, dims, self._derived(extra, name) if extra else None)
            elif extra:
                spanned = len(extra.children) > 1
                span = self.words.integer("a state's span", token_at(extra, 1)) if spanned else 1
                statement = State(name, dtype, dims, str(extra.children[0]), span)
            else:
                statement = State(name, dtype, dims)
            found.append(self.positions.keep(statement, offset_of(token)))

    def _derived(self, tree: Node, name: str) -> Op:
        made: list[Statement] = []
        op = self._expressions.call(tree_at(tree, 0), name, None, made)
        if made:
            self.words.fail(
                "a derived weight must be one operator on named weights; name the inner part",
                token_at(tree_at(tree, 0), 0),
            )
        return op
