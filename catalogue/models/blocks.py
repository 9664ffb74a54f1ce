"""Writing a program statement by statement, so that a builder reads like the model's description.

    with layer.section("attention") as a:
        a.weight("fp8", "D K G C", "wq")
        a.let("h", "norm(x over D, gain)", eps=1e-5)
        a.let("q", "einsum(h, wq -> B Q K G C)")

`let` takes one operator call in RoofLang's own spelling; its attributes are keyword arguments (`with_`
for `with`). `kernel()` groups the results that conventional engines compute in one kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from catalogue.errors import CatalogueError
from rooflang.design import (
    Attribute,
    Design,
    Fusion,
    Input,
    Op,
    Operand,
    Program,
    Repeat,
    Schedule,
    Section,
    State,
    Statement,
    Weight,
)
from rooflang.size import Size, SizeLike, as_size

_CALL = re.compile(r"(\w+)\((.*?)(?: -> ([\w ]+))?\)")
_OPERAND = re.compile(r"(\w+)(?:\[(\w+)\])?(?: over (\w+))?")


class Block:
    """Statements of one section, in order, and the sections inside it."""

    def __init__(self, name: str, parent: Block | None) -> None:
        self.name = name
        self.parent = parent
        self.statements: list[Statement] = []
        self.kernels: dict[str, list[tuple[str, ...]]] = parent.kernels if parent else {}

    def weight(self, dtype: str, dims: str, *names: str) -> None:
        """Parameters of one shape."""
        self.statements += [Weight(n, dtype, tuple(dims.split())) for n in names]

    def state(self, dtype: str, dims: str, name: str, rows: str = "append", span: int = 1) -> None:
        """A cache; `rows` and `span` as in `rooflang.design.State`."""
        self.statements.append(State(name, dtype, tuple(dims.split()), rows, span))

    def input(self, dtype: str, dims: str, name: str) -> None:
        self.statements.append(Input(name, dtype, tuple(dims.split())))

    def let(self, result: str, call: str, **attributes: Attribute) -> str:
        """`result` or `result: format` becomes the operator call; gives back the result's name."""
        name, _, dtype = result.partition(": ")
        found = _CALL.fullmatch(call)
        if found is None:
            raise CatalogueError(f"a call must read 'operator(operands -> dims)', but got {call!r}")
        operator, inside, dims = found.groups()
        self.statements.append(
            Op(
                name, operator, tuple(_operand(text) for text in inside.split(", ")),
                tuple((key.rstrip("_"), value) for key, value in attributes.items()),
                None if dims is None else tuple(dims.split()), dtype or None,
            )
        )  # fmt: skip
        return name

    def append(self, state: str, value: str) -> None:
        """Write the step's rows to a cache."""
        self.let(state, f"append({state}, {value})")

    @contextmanager
    def section(self, name: str) -> Iterator[Block]:
        """A named part."""
        block = Block(name, self)
        yield block
        alone = [(s.result,) for s in block.statements if isinstance(s, Op)]
        self.kernels.setdefault(block._unit().path, []).extend(alone)
        self.statements.append(Section(name, tuple(block.statements)))

    @contextmanager
    def kernel(self) -> Iterator[None]:
        """What is computed inside runs as one kernel."""
        unit = self._unit().path
        start = len(self.statements)
        yield
        values = tuple(dict.fromkeys(s.result for s in self.statements[start:] if isinstance(s, Op)))
        self.kernels.setdefault(unit, []).append(values)

    def together(self, *values: str) -> None:
        """These values, and all that share a kernel with one of them, run as one kernel."""
        self.kernels.setdefault(self._unit().path, []).append(values)

    @property
    def model(self) -> Model:
        """The program that this is a part of."""
        block = self
        while block.parent is not None:
            block = block.parent
        if not isinstance(block, Model):
            raise CatalogueError(f"a section must belong to a model, but {self.name!r} does not")
        return block

    @property
    def path(self) -> str:
        """The names of the sections and repeats around here and of this one, joined by dots."""
        above = self.parent.path if self.parent is not None and self.parent.parent is not None else ""
        return f"{above}.{self.name}" if above else self.name

    def _unit(self) -> Block:
        """The outermost section around here that holds operators: fusions are given per such section."""
        unit, block = self, self.parent
        while block is not None and block.parent is not None:
            if any(isinstance(s, Op) for s in block.statements):
                unit = block
            block = block.parent
        return unit


class Model(Block):
    """A whole program in the making: dims, sections and repeats."""

    def __init__(self, name: str) -> None:
        super().__init__(name, None)
        self.dims: dict[str, Size] = {}

    def dim(self, **sizes: SizeLike) -> None:
        """Declare dimensions, by name."""
        self.dims.update({name: as_size(size) for name, size in sizes.items()})

    @contextmanager
    def repeat(self, name: str, count: int, draft: bool = False) -> Iterator[Block]:
        """`count` layers of the same text."""
        block = Block(name, self)
        yield block
        self.statements.append(Repeat(name, count, tuple(block.statements), draft))

    def design(self, *outputs: str) -> Design:
        """The finished design: a program and its conventional kernels, no pools and no placement."""
        fusions = tuple(Fusion(t, v) for t, groups in _by_section(self.kernels) for v in groups)
        program = Program(tuple(self.dims.items()), tuple(self.statements), outputs)
        return Design(self.name, program, schedule=Schedule(fusions=fusions))


def _operand(text: str) -> Operand:
    found = _OPERAND.fullmatch(text.strip())
    if found is None:
        raise CatalogueError(f"an operand must read 'name[index] over dim', but got {text!r}")
    return Operand(*found.groups())


Kernels: TypeAlias = list[tuple[str, ...]]


def _by_section(kernels: dict[str, Kernels]) -> Iterator[tuple[str, Kernels]]:
    """Kernels by the last name of their sections, or by path where those of one name would join others'."""
    named: dict[str, dict[str, Kernels]] = {}
    for path, groups in kernels.items():
        named.setdefault(path.rpartition(".")[2], {})[path] = groups
    for name, same in named.items():
        whole = _joined([g for groups in same.values() for g in groups])
        if all(_within(whole, groups) == _within(_joined(groups), groups) for groups in same.values()):
            yield name, whole
        else:
            yield from ((path, _joined(groups)) for path, groups in same.items())


def _within(kernels: Kernels, groups: Kernels) -> set[frozenset[str]]:
    """The kernels of several values, as a section sees them that makes these values alone."""
    own = {v for values in groups for v in values}
    return {k for values in kernels if len(k := frozenset(own.intersection(values))) > 1}


def _joined(groups: Kernels) -> Kernels:
    """Kernels; those that share a value are one kernel."""
    kernels: list[dict[str, None]] = []
    for values in groups:
        new = dict.fromkeys(values)
        touching = [k for k in kernels if not k.keys().isdisjoint(new)]
        if not touching:
            kernels.append(new)
            continue
        for other in touching[1:]:
            touching[0].update(other)
            kernels.remove(other)
        touching[0].update(new)
    return [tuple(k) for k in kernels if len(k) > 1]
