"""From JSON values to a design. Nothing is taken on trust: keys, types, limits and typing are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from rooflang.design import (
    Attribute,
    Design,
    Fusion,
    Input,
    Mesh,
    Op,
    Operand,
    Placement,
    Pool,
    Program,
    Repeat,
    Schedule,
    Section,
    Shard,
    State,
    Statement,
    Weight,
)
from rooflang.errors import DesignError, RoofLangSyntaxError, nearest
from rooflang.form import MAX_DEPTH, check_form
from rooflang.limits import MAX_INTEGER, MAX_STATEMENTS, MAX_TEXT_BYTES
from rooflang.parser import parse_size
from rooflang.size import Size, const
from rooflang.typing import type_program

_T = TypeVar("_T")
_DECLARATIONS = ("weight", "state", "input")


def from_json(value: object) -> Design:
    """The design, checked as `parse` checks a text. Raises DesignError that names the place.

    A place is spelled as a path into the value, for example `program.body[3].op`.
    """
    fields = _Fields(value, "", ("design", "program", "system", "placement", "schedule"))
    program = _Fields(fields.get("program", dict), "program", ("dims", "body", "outputs"))
    budget = [MAX_STATEMENTS]
    design = Design(
        fields.get("design", str),
        Program(
            program.items("dims", _dim),
            program.items("body", lambda v, at: _read_statement(v, at, 1, budget)),
            program.items("outputs", _text),
        ),
        fields.items("system", _read_pool),
        _read_placement(fields),
        _read_schedule(fields),
    )
    check_form(design)
    type_program(design.program)
    return design


class _Fields:
    """A JSON object being read: known keys only, each with its type."""

    def __init__(self, value: object, where: str, known: tuple[str, ...]) -> None:
        self.where = where
        self.value: Mapping[str, object] = _typed(value, dict, where)
        for key in self.value:
            if key not in known:
                raise DesignError(
                    f"a key must be known, but got {str(key)[:80]!r}{nearest(str(key), list(known))}", where
                )

    def at(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def get(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        if default is not None and key not in self.value:
            return default
        if key not in self.value:
            raise DesignError(f"the key {key!r} must be given", self.where)
        return _typed(self.value[key], kind, self.at(key))

    def optional(self, key: str) -> str | None:
        return None if self.value.get(key) is None else self.get(key, str)

    def items(self, key: str, read: Callable[[object, str], _T]) -> tuple[_T, ...]:
        found: list[object] = self.get(key, list, [])
        if len(found) > MAX_STATEMENTS:
            raise DesignError(
                f"a list must have at most {MAX_STATEMENTS} items, but got {len(found)}", self.at(key)
            )
        return tuple(read(item, f"{self.at(key)}[{i}]") for i, item in enumerate(found))


_KINDS: dict[type, str] = {
    dict: "an object", list: "a list", str: "a string", int: "a whole number", bool: "true or false",
}  # fmt: skip


def _typed(value: object, kind: type[_T], where: str) -> _T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DesignError(f"the value must be {_KINDS[kind]}, but got {type(value).__name__}", where)
    if isinstance(value, str) and len(value) > MAX_TEXT_BYTES:
        raise DesignError(f"a string must have at most {MAX_TEXT_BYTES} characters", where)
    return value


def _text(value: object, where: str) -> str:
    return _typed(value, str, where)


def _pair(value: object, where: str) -> tuple[str, object]:
    pair: list[object] = _typed(value, list, where)
    if len(pair) != 2:
        raise DesignError(f"a pair must have 2 items, but got {len(pair)}", where)
    return _text(pair[0], where), pair[1]


def _dim(value: object, where: str) -> tuple[str, Size]:
    name, size = _pair(value, where)
    if isinstance(size, str):
        try:
            return name, parse_size(size)
        except RoofLangSyntaxError as error:
            raise DesignError(f"the size must be as in the text: {error}", where) from None
    number = _typed(size, int, where)
    if abs(number) > MAX_INTEGER:
        raise DesignError(f"the size must be at most {MAX_INTEGER:.0e}", where)
    return name, const(number)


def _read_statement(value: object, where: str, depth: int, budget: list[int]) -> Statement:
    budget[0] -= 1
    if budget[0] < 0:
        raise DesignError(f"a program must have at most {MAX_STATEMENTS} statements", where)
    kinds = ("op", "section", "repeat", *_DECLARATIONS)
    object_: Mapping[str, object] = _typed(value, dict, where)
    kind = next((k for k in kinds if k in object_), None)
    if kind is None:
        raise DesignError(f"a statement must have one of the keys {', '.join(kinds)}", where)
    if kind == "op":
        return _read_op(_Fields(value, where, ("op",)).get("op", dict), f"{where}.op")
    if kind in _DECLARATIONS:
        return _read_declaration(kind, value, where)
    if depth > MAX_DEPTH:
        raise DesignError(f"sections and repeats must be nested at most {MAX_DEPTH - 1} deep", where)
    fields = _Fields(value, where, (kind, "body") if kind == "section" else (kind, "count", "draft", "body"))
    name, body = (
        fields.get(kind, str),
        fields.items("body", lambda v, at: _read_statement(v, at, depth + 1, budget)),
    )
    return (
        Section(name, body)
        if kind == "section"
        else Repeat(name, fields.get("count", int), body, fields.get("draft", bool, False))
    )


def _read_declaration(kind: str, value: object, where: str) -> Statement:
    extra = {"state": ("rows", "span"), "weight": ("derived",), "input": ()}[kind]
    fields = _Fields(value, where, (kind, "dtype", "dims", *extra))
    name, dtype, dims = fields.get(kind, str), fields.get("dtype", str), fields.items("dims", _text)
    if kind == "input":
        return Input(name, dtype, dims)
    if kind == "state":
        return State(name, dtype, dims, fields.get("rows", str, "append"), fields.get("span", int, 1))
    derived = fields.value.get("derived")
    return Weight(name, dtype, dims, None if derived is None else _read_op(derived, fields.at("derived")))


def _read_op(value: object, where: str) -> Op:
    fields = _Fields(value, where, ("result", "operator", "operands", "attributes", "dims", "dtype"))
    return Op(
        fields.get("result", str),
        fields.get("operator", str),
        fields.items("operands", _read_operand),
        fields.items("attributes", _read_attribute),
        None if fields.value.get("dims") is None else fields.items("dims", _text),
        fields.optional("dtype"),
    )


def _read_operand(value: object, where: str) -> Operand:
    fields = _Fields(value, where, ("name", "index", "over"))
    return Operand(fields.get("name", str), fields.optional("index"), fields.optional("over"))


def _read_attribute(value: object, where: str) -> tuple[str, Attribute]:
    key, literal = _pair(value, where)
    if not isinstance(literal, str | int | float | bool):
        raise DesignError(
            f"an attribute must be a string, a number, true or false, but got {type(literal).__name__}", where
        )
    return key, literal


def _read_pool(value: object, where: str) -> Pool:
    fields = _Fields(value, where, ("pool", "device", "count"))
    return Pool(fields.get("pool", str), fields.get("device", str), fields.get("count", int))


def _read_placement(root: _Fields) -> Placement:
    known = ("meshes", "shards", "homes", "pipeline", "tiers")
    fields = _Fields(root.get("placement", dict, {}), "placement", known)

    def axis(value: object, where: str) -> tuple[str, int]:
        name, size = _pair(value, where)
        return name, _typed(size, int, where)

    def mesh(value: object, where: str) -> Mesh:
        inner = _Fields(value, where, ("pool", "axes"))
        return Mesh(inner.get("pool", str), inner.items("axes", axis))

    def shard(value: object, where: str) -> Shard:
        inner = _Fields(value, where, ("target", "dim", "axes"))
        return Shard(inner.get("target", str), inner.get("dim", str), inner.items("axes", _text))

    def home(value: object, where: str) -> tuple[str, str]:
        target, pool = _pair(value, where)
        return target, _text(pool, where)

    return Placement(
        fields.items("meshes", mesh),
        fields.items("shards", shard),
        fields.items("homes", home),
        fields.optional("pipeline"),
        fields.items("tiers", home),
    )


def _read_schedule(root: _Fields) -> Schedule:
    known = ("microbatches", "fusions", "overlap_links", "streams", "prefetch", "cascade")
    fields = _Fields(root.get("schedule", dict, {}), "schedule", known)

    def fusion(value: object, where: str) -> Fusion:
        inner = _Fields(value, where, ("target", "values"))
        return Fusion(inner.get("target", str), inner.items("values", _text))

    return Schedule(
        fields.get("microbatches", int, 1),
        fields.items("fusions", fusion),
        fields.get("overlap_links", bool, False),
        fields.items("streams", _text),
        fields.items("prefetch", _text),
        fields.items("cascade", _text),
    )
