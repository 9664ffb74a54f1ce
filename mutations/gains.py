"""A norm's gain multiplied into the weights behind it, offline, and taken out of them again."""

from __future__ import annotations

from dataclasses import replace

from mutations.anatomy import Part, parts
from mutations.edit import fresh, lines, reads, rewrite
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Op, Operand, Statement, Weight, walk
from rooflang.dtype import format_of
from rooflang.operators import union


def _norm(part: Part, op: Op) -> Weight | None:
    """The gain of a norm that only products with plain weights of its section read; None for any other."""
    gain = part.weights.get(op.operands[1].name) if op.operator == "norm" and len(op.operands) == 2 else None
    if gain is None or gain.derived is not None or op.attribute("kind", "rms") not in ("rms", "l2"):
        return None
    if gain.dims != (op.operands[0].over,) or op.result in reads(op):
        return None
    every = [s for _, s in walk(part.body) if isinstance(s, Op)]
    users = [s for s in every if op.result in reads(s)]
    alone = sum(gain.name in reads(s) for s in every) == 1 and sum(s.result == op.result for s in every) == 1
    fits = all(s in part.ops and _behind(part, s, op.result, gain) is not None for s in users)
    return gain if users and alone and fits else None


def _behind(part: Part, user: Op, value: str, gain: Weight) -> Weight | None:
    """The weight that a product multiplies with a value along the gain's name; None for anything else."""
    if user.operator != "einsum" or len(user.operands) != 2 or gain.dims[0] in (user.dims or ()):
        return None
    other = next((o for o in user.operands if o.name != value), None)
    if other is None or other.index is not None:
        return None
    weight = part.weights.get(other.name)
    one = sum(weight is not None and weight.name in reads(s) for s in part.ops) == 1
    plain = weight is not None and weight.derived is None and gain.dims[0] in weight.dims
    return weight if plain and one else None


def _places(design: Design) -> tuple[Site, ...]:
    found: dict[Site, None] = {}
    for part in parts(design.program):
        for op in part.ops:
            gain = _norm(part, op)
            if gain is None or op.result in design.program.outputs:
                continue
            weights = [_behind(part, s, op.result, gain) for s in part.ops if op.result in reads(s)]
            names = [w.name for w in weights if w is not None]
            if not any(lines(design, n) or lines(design, f"{part.name}.{n}") for n in names):
                found[site(part.name, norm=op.result)] = None
    return tuple(found)


def _fold(design: Design, where: Site) -> Design | None:
    if where not in _places(design):
        return None
    by_path = {p.path: p for p in parts(design.program)}
    taken = {s.name for _, s in walk(design.program.body) if isinstance(s, Weight)}

    def change(path: str, body: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
        part = by_path.get(path)
        op = next((o for o in part.ops if o.result == where.get("norm")), None) if part else None
        gain = _norm(part, op) if part and op else None
        return None if part is None or op is None or gain is None else _folded(part, op, gain, taken)

    return rewrite(design, where.target, change)


def _folded(part: Part, norm: Op, gain: Weight, taken: set[str]) -> tuple[Statement, ...]:
    made: dict[str, Weight] = {}
    for user in part.ops:
        weight = _behind(part, user, norm.result, gain) if norm.result in reads(user) else None
        if weight is not None:
            name = fresh(f"{weight.name}_{gain.name}", taken)
            wider = max(weight.dtype, gain.dtype, key=lambda d: format_of(d).bits)
            pair = (Operand(weight.name), Operand(gain.name))
            formula = Op(name, "einsum", pair, (), weight.dims)
            made[weight.name] = Weight(name, wider, weight.dims, formula)
    result: list[Statement] = []
    later = [*made]
    for statement in part.body:
        if statement == norm:
            result.append(replace(norm, operands=norm.operands[:1]))
        elif isinstance(statement, Op) and norm.result in reads(statement):
            old = next(o.name for o in statement.operands if o.name in made)
            if old in later:
                result.append(made[old])
                later.remove(old)
            use = tuple(
                replace(o, name=made[o.name].name) if o.name == old else o for o in statement.operands
            )
            result.append(replace(statement, operands=use))
        else:
            result.append(statement)
    return tuple(result)


def _gain_of(part: Part, weight: Weight) -> str:
    """The gain in a derived weight: the factor of one name that nothing else than such weights reads."""
    formula = weight.derived
    if formula is None or formula.operator != "einsum" or len(formula.operands) != 2:
        return ""
    first, second = (part.weights.get(o.name) for o in formula.operands)
    if first is None or second is None or len(second.dims) != 1:
        return ""
    whole = set(union(first.dims, second.dims)) == set(weight.dims)
    return second.name if whole and not any(second.name in reads(op) for op in part.ops) else ""


def _sources(part: Part, norm: Op) -> tuple[str, tuple[Op, ...]]:
    """(gain, products) where every reader of a plain norm multiplies with a weight that holds one gain."""
    users = tuple(op for op in part.ops if norm.result in reads(op))
    gains = set()
    for user in users:
        other = next((o.name for o in user.operands if o.name != norm.result), "")
        gains.add(_gain_of(part, part.weights[other]) if other in part.weights else "")
    return (gains.pop(), users) if len(gains) == 1 else ("", ())


def _folds(design: Design) -> tuple[Site, ...]:
    found: dict[Site, None] = {}
    for part in parts(design.program):
        for op in part.ops:
            if op.operator == "norm" and len(op.operands) == 1 and _sources(part, op)[0]:
                found[site(part.name, norm=op.result)] = None
    return tuple(found)


def _unfold(design: Design, where: Site) -> Design | None:
    if where not in _folds(design):
        return None
    by_path = {p.path: p for p in parts(design.program)}

    def change(path: str, body: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
        part = by_path.get(path)
        norm = next((o for o in part.ops if o.result == where.get("norm")), None) if part else None
        gain, users = _sources(part, norm) if part and norm and len(norm.operands) == 1 else ("", ())
        if part is None or norm is None or not gain:
            return None
        source = {w.name: w.derived.operands[0].name for w in part.weights.values()
                  if w.derived is not None and _gain_of(part, w) == gain}  # fmt: skip
        result: list[Statement] = []
        for statement in body:
            if isinstance(statement, Weight) and statement.name in source:
                continue
            if statement == norm:
                statement = replace(norm, operands=(*norm.operands, Operand(gain)))
            elif isinstance(statement, Op) and statement in users:
                use = tuple(replace(o, name=source.get(o.name, o.name)) for o in statement.operands)
                statement = replace(statement, operands=use)
            result.append(statement)
        return tuple(result)

    return rewrite(design, where.target, change)


RULES = (
    Rule(
        "fold gain", "algebra",
        Documentation(
            "multiplies the gain of a norm into the weights of the products that read it, offline (a derived "
            "weight)",
            "models without rounding between norm and product: the gain is neither read nor multiplied, and "
            "the norm has no weight that a layout must follow",
            "the derived weight is stored at the wider of the two formats",
            "weight folding in SliceGPT (arXiv 2401.15024), QuaRot (arXiv 2404.00456) and TensorRT-LLM",
        ),
        _places, _fold, "matrix FLOPs are kept; the gain's read and multiplication go",
        frozenset(("vector", "latency")), inverse="unfold gain",
    ),
    Rule(
        "unfold gain", "algebra",
        Documentation(
            "takes a gain out of the weights and multiplies with it in the norm",
            "weights narrower than the gain", "the gain is read and multiplied",
            "the inverse of `fold gain`",
        ),
        _folds, _unfold, "the inverse of `fold gain`", frozenset(("capacity", "memory")),
        inverse="fold gain",
    ),
)  # fmt: skip
