"""The program as a graph: every use of a name joined to the definition that it means.

An append makes a new version of its state, and a value carried from layer to layer gets a node that
joins what enters the repeat with what a layer leaves behind. So the graph holds exactly the order of
statements that matters, and no names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from rooflang.design import Input, Op, Program, Repeat, Section, State, Statement, Weight, walk
from rooflang.dtype import index_dim
from rooflang.errors import DesignError, nearest
from rooflang.operators import OPERATORS

Use = tuple[int, int, "str | None"]  # node, node of the index or -1, dimension acted on


@dataclass(slots=True)
class Node:
    """A definition. `names` are its dimensions by slot; `uses` its operands in order."""

    label: str
    name: str
    block: int
    names: tuple[str, ...]
    uses: tuple[Use, ...]

    def reads(self) -> Iterator[int]:
        for node, index, _ in self.uses:
            yield node
            if index >= 0:
                yield index


@dataclass(slots=True)
class Block:
    """A section or a repeat; block 0 is the program."""

    label: str
    path: str
    parent: int


@dataclass(slots=True)
class Graph:
    nodes: list[Node] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=lambda: [Block("program", "", -1)])
    outputs: tuple[int, ...] = ()


@lru_cache(maxsize=64)
def value_graph(program: Program) -> Graph:
    """The graph, which nobody may change: designs that differ in their placement share it.

    Raises DesignError for a name that is used before it is defined.
    """
    builder = _Builder(frozenset(program.sizes))
    builder.body(program.body, 0)
    builder.graph.outputs = tuple(builder.find(name, "output") for name in program.outputs)
    return builder.graph


class _Builder:
    def __init__(self, dims: frozenset[str]) -> None:
        self.graph = Graph()
        self.env: dict[str, int] = {}
        self.dims = dims

    def body(self, body: tuple[Statement, ...], block: int) -> None:
        for statement in body:
            match statement:
                case Op():
                    self.env[statement.result] = self.op(statement, block)
                case Section():
                    self.body(statement.body, self.block("section", statement.name, block))
                case Repeat():
                    self.repeat(statement, block)
                case _:
                    self.env[statement.name] = self.declaration(statement, block)

    def find(self, name: str, where: str) -> int:
        found = self.env.get(name)
        if found is None:
            hint = nearest(name, list(self.env))
            raise DesignError(f"a value must be defined before it is used, but {name!r} is not{hint}", where)
        return found

    def node(self, node: Node) -> int:
        self.graph.nodes.append(node)
        return len(self.graph.nodes) - 1

    def block(self, label: str, name: str, parent: int) -> int:
        path = self.graph.blocks[parent].path
        self.graph.blocks.append(Block(label, f"{path}.{name}" if path else name, parent))
        return len(self.graph.blocks) - 1

    def repeat(self, repeat: Repeat, parent: int) -> None:
        block = self.block(f"repeat {repeat.count} {repeat.draft}", repeat.name, parent)
        before = dict(self.env)
        carried: dict[str, int] = {}
        assigned, declared = _defined(repeat.body)
        for name in assigned:
            if name in before and name not in declared:
                carried[name] = self.node(Node("carried", "", block, (), ((before[name], -1, None),)))
        self.env.update(carried)
        self.body(repeat.body, block)
        for name, number in carried.items():
            node = self.graph.nodes[number]
            node.uses = (*node.uses, (self.env[name], -1, None))
        self.env = {name: self.env[name] if name in carried else before[name] for name in before}

    def declaration(self, statement: Statement, block: int) -> int:
        if isinstance(statement, Op | Section | Repeat):
            raise TypeError(f"a declaration must be a weight, a state or an input, but got {statement!r}")
        dtype, pointed = _format(statement.dtype)
        label = f"{type(statement).__name__} {dtype} {len(statement.dims)}"
        names = (*statement.dims, *pointed)
        uses: tuple[Use, ...] = ()
        if isinstance(statement, State):
            label += f" {statement.rows} {statement.span}"
        elif isinstance(statement, Weight) and statement.derived is not None:
            inner, more, uses = self.parts(statement.derived, statement.name)
            label, names = f"{label} = {inner}", (*names, *more)
        return self.node(Node(label, statement.name, block, names, uses))

    def op(self, op: Op, block: int) -> int:
        label, names, uses = self.parts(op, op.result)
        return self.node(Node(label, op.result, block, names, uses))

    def parts(self, op: Op, where: str) -> tuple[str, tuple[str, ...], tuple[Use, ...]]:
        """Label, dimensions and uses. A dimension that an attribute names is a dimension, not a string."""
        dtype, pointed = _format(op.dtype) if op.dtype is not None else ("", ())
        known = OPERATORS[op.operator].attributes if op.operator in OPERATORS else {}
        attributes: list[str] = []
        names: list[str] = [*(op.dims or ()), *pointed]
        for key, value in sorted(op.attributes):
            if isinstance(value, str) and key == "with" and value in self.dims:
                names.append(value)
                attributes.append(key)
            else:
                attributes.append(f"{key}={float(value) if known.get(key) is float else value!r}")
        uses = tuple(
            (self.find(o.name, where), self.find(o.index, where) if o.index is not None else -1, o.over)
            for o in op.operands
        )
        shape = "" if op.dims is None else len(op.dims)
        return f"{op.operator}({', '.join(attributes)}) {dtype} {shape}", tuple(names), uses


def _format(dtype: str) -> tuple[str, tuple[str, ...]]:
    pointed = index_dim(dtype)
    return (dtype, ()) if pointed is None else ("index", (pointed,))


def _defined(body: tuple[Statement, ...]) -> tuple[dict[str, None], set[str]]:
    """Names that a body assigns, in order of the text, and names that it declares for itself."""
    assigned: dict[str, None] = {}
    declared: set[str] = set()
    for _, statement in walk(body):
        if isinstance(statement, Op):
            assigned[statement.result] = None
        elif isinstance(statement, Weight | State | Input):
            declared.add(statement.name)
    return assigned, declared
