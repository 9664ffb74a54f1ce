"""Parts of a layer on pools of their own that are no section of it, and the head: indexers, sampling."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from mutations.anatomy import Part, kinds, parts
from mutations.edit import (
    Lines,
    add_pool,
    all_axes,
    fresh,
    lines,
    lowered_or_none,
    mesh_axes,
    reads,
    with_lines,
    with_placement,
)
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Op, State

_INDEXER = "indexer"
_HEAD = "head"


def indexer(part: Part) -> tuple[str, ...]:
    """Values, weights and caches of a section that only serve a choice of cache rows; empty without one."""
    states = {s.name for s in part.body if isinstance(s, State)}
    chosen = {o.index for op in part.ops for o in op.operands if o.name in states and o.index}
    inside = [op for op in part.ops if op.operator == "topk" and op.result in chosen]
    if not inside:
        return ()
    found = {op.result for op in inside}
    ops = {id(op): op for op in inside}
    grown = True
    while grown:
        grown = False
        for op in reversed(part.ops):
            name = op.operands[0].name if op.operator == "append" else op.result
            if id(op) not in ops and _serves(part, op, name, ops):
                ops[id(op)] = op
                found.add(name)
                grown = True
    declared = (n for n in (*part.weights, *states) if _readers(part, n) and _readers(part, n) <= {*ops})
    names = [*declared, *(o.result for o in part.ops if id(o) in ops and o.operator != "append")]
    return tuple(dict.fromkeys(names)) if any(n in states for n in names) else ()


def _readers(part: Part, name: str) -> set[int]:
    return {id(op) for op in part.ops if name in reads(op)}


def _serves(part: Part, op: Op, name: str, ops: dict[int, Op]) -> bool:
    """Whether nothing outside the part found so far reads what an operator makes or keeps."""
    used = _readers(part, name)
    if op.operator == "append":
        return bool(used - {id(op)}) and used - {id(op)} <= {*ops}
    assigned = sum(o.result == name for o in part.ops) == 1
    local = assigned and op.operator != "topk" and name not in reads(op)
    return local and bool(used) and used <= {*ops}


def _own_rows(part: Part, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s.dims[1] for s in part.body if isinstance(s, State) and s.name in names))


def _own_heads(part: Part, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the indexer's heads: made by its products with weights, and summed before the choice."""
    made = {d for n in names if n in part.weights for d in part.weights[n].dims}
    states = {s.name: s for s in part.body if isinstance(s, State) and s.name in names}
    found: dict[str, None] = {}
    for op in part.ops:
        if op.operator == "einsum" and op.result in names and any(o.name in states for o in op.operands):
            found.update(dict.fromkeys(d for d in op.dims or () if d in made))
    return tuple(found)


def _indexers(design: Design) -> dict[str, list[tuple[Part, tuple[str, ...]]]]:
    """Sections with an indexer by name, while there is one pool."""
    found: dict[str, list[tuple[Part, tuple[str, ...]]]] = {}
    for part in parts(design.program) if len(design.pools) < 2 else ():
        names = indexer(part) if part.kind == "attention" else ()
        if names:
            found.setdefault(part.name, []).append((part, names))
    return found


def _untried(design: Design) -> tuple[Site, ...]:
    return tuple(
        site(name, axes=axes)
        for name, same in _indexers(design).items()
        for axes in ("xb", "xh", "xs", "xb xh", "xb xs")
        if "xh" not in axes or all(_own_heads(p, n) for p, n in same)
    )


@lru_cache(maxsize=64)
def _indexer_sites(design: Design) -> tuple[Site, ...]:
    return tuple(w for w in _untried(design) if _lowers(_indexer_away(design, w)))


def _lowers(design: Design | None) -> bool:
    return design is not None and lowered_or_none(design) is not None


def _indexer_away(design: Design, where: Site) -> Design | None:
    """`xb` cuts sequences, `xh` the indexer's heads, `xs` the rows of its cache."""
    same = _indexers(design).get(where.target)
    if same is None:
        return None
    taken = set(all_axes(design))
    named = {a: fresh(a, taken) for a in where.words("axes")}
    pool = fresh(_INDEXER, {p.name for p in design.pools} | {m.pool for m in design.placement.meshes})
    result = add_pool(design, pool, tuple(named.values()))
    said = dict(lines(design, where.target))
    for part, names in same:
        cuts = {"xb": ("B",), "xh": _own_heads(part, names), "xs": _own_rows(part, names)}
        for axis, real in named.items():
            for dim in cuts[axis]:
                said[dim] = tuple(dict.fromkeys((*said.get(dim, ()), real)))
    homes = dict.fromkeys(f"{part.name}.{n}" for part, names in same for n in names)
    result = with_lines(result, where.target, said)
    return with_placement(result, homes=(*result.placement.homes, *((h, pool) for h in homes)))


def _apart(design: Design, where: Site) -> Design | None:
    if where not in _untried(design):
        return None
    result = _indexer_away(design, where)
    return result if _lowers(result) else None


def _head_lines(design: Design, target: str, named: dict[str, str]) -> Lines:
    wide = {p.vocabulary: (named["xv"],) for p in kinds(design.program, "head")[target] if "xv" in named}
    return {**({"B": (named["xb"],)} if "xb" in named else {}), **wide}


@lru_cache(maxsize=64)
def _heads(design: Design) -> tuple[Site, ...]:
    if len(design.pools) > 1:
        return ()
    names = [n for n, same in kinds(design.program, "head").items() if any(not p.draft for p in same)]
    found = [site(n, axes=a) for n in names for a in ("xv", "xb", "xb xv")]
    return tuple(w for w in found if _lowers(_head_away(design, w)))


def _head_away(design: Design, where: Site) -> Design | None:
    taken = set(all_axes(design))
    named = {a: fresh(a, taken) for a in where.words("axes")}
    pool = fresh(_HEAD, {p.name for p in design.pools} | {m.pool for m in design.placement.meshes})
    result = add_pool(design, pool, tuple(named.values()))
    result = with_lines(result, where.target, _head_lines(design, where.target, named))
    return with_placement(result, homes=(*result.placement.homes, (where.target, pool)))


def _head_apart(design: Design, where: Site) -> Design | None:
    return _head_away(design, where) if where in _heads(design) else None


def _away(design: Design, prefix: str) -> tuple[str, ...]:
    """Pools that one of these rules made, none of whose values another rule has put there."""
    first = design.pools[0].name if design.pools else ""
    names = {p.name for p in parts(design.program)}
    found = []
    for pool in dict.fromkeys(p for _, p in design.placement.homes if p != first):
        targets = [t for t, p in design.placement.homes if p == pool]
        whole = all(t in names for t in targets)
        heads = whole and all(kinds(design.program, "head").get(t) for t in targets)
        if (prefix == _HEAD and heads) or (prefix == _INDEXER and not whole):
            found.append(pool)
    return tuple(found)


def _home(design: Design, pool: str) -> Design:
    """Everything of a pool back on the first one, cut there as before it left."""
    gone = set(mesh_axes(design, pool))
    shards = tuple(
        replace(s, axes=left)
        for s in design.placement.shards
        if (left := tuple(a for a in s.axes if a not in gone))
    )
    homes = tuple(h for h in design.placement.homes if h[1] != pool)
    meshes = tuple(m for m in design.placement.meshes if m.pool != pool)
    pools = tuple(p for p in design.pools if p.name != pool)
    return with_placement(design.with_(pools=pools), shards=shards, homes=homes, meshes=meshes)


def _indexer_home_sites(design: Design) -> tuple[Site, ...]:
    return tuple(site(pool) for pool in _away(design, _INDEXER))


def _indexer_home(design: Design, where: Site) -> Design | None:
    return _home(design, where.target) if where in _indexer_home_sites(design) else None


_FORMS = ("vocabulary", "tokens", "nothing")


def _head_home_sites(design: Design) -> tuple[Site, ...]:
    axes = mesh_axes(design)
    return tuple(site(pool, axis=a, cut=f) for pool in _away(design, _HEAD) for a in axes for f in _FORMS)


def _head_home(design: Design, where: Site) -> Design | None:
    """The head at home: one axis cuts its vocabulary, tokens or nothing, all others its tokens."""
    if where not in _head_home_sites(design):
        return None
    targets = [t for t, p in design.placement.homes if p == where.target]
    result = _home(design, where.target)
    for target in targets:
        cut, axis = where.get("cut"), where.get("axis")
        tokens = tuple(a for a in mesh_axes(result) if a != axis or cut == "tokens")
        wide = {p.vocabulary: (axis,) for p in kinds(design.program, "head")[target] if cut == "vocabulary"}
        result = with_lines(result, target, {"B": tokens, **wide})
    return result


RULES = (
    Rule(
        "disaggregate indexer", "disaggregation",
        Documentation(
            "moves what only chooses cache rows (the indexer's products, cache and top-k) to a pool of its "
            "own, with axes xb over sequences, xh over its heads, xs over the rows of its cache",
            "the indexer reads its whole cache at every step and core attention only the chosen rows, so the "
            "two want devices in another number, with another sharding, or of another kind",
            "its inputs are sent to the pool and the choice back, in every layer; pools wait for each other "
            "unless micro-batches alternate",
            "DeepSeek-V3.2's lightning indexer (arXiv 2512.02556); attention disaggregation of "
            "MegaScale-Infer and Step-3 taken one step further",
        ),
        _indexer_sites, _apart,
        "the indexer's FLOPs and reads are divided by its own axes; two transfers per layer",
        frozenset(("memory", "capacity", "matrix")), same_matrix_work=False, inverse="merge indexer",
        untried=_untried,
    ),
    Rule(
        "merge indexer", "disaggregation",
        Documentation(
            "brings an indexer back to the pool of its section", "no transfer between pools",
            "one sharding for both", "the inverse of `disaggregate indexer`",
        ),
        _indexer_home_sites, _indexer_home, "the inverse of `disaggregate indexer`",
        frozenset(("latency", "scale-up", "scale-out")), same_matrix_work=False,
        inverse="disaggregate indexer",
    ),
    Rule(
        "disaggregate head", "disaggregation",
        Documentation(
            "moves the head (norm, logits, sampling) to a pool of its own, with axes xb over tokens and xv "
            "over the vocabulary",
            "the largest single weight leaves the devices of the layers: room for caches, no stage or rank "
            "that is fuller than the others",
            "the last hidden state is sent once per step; the pool idles while layers run, unless "
            "micro-batches alternate",
            "pipeline stages with separate ends in Megatron-LM; EPS-MoE and Step-3 place the head apart",
        ),
        _heads, _head_apart, "FLOPs are kept; one transfer per step",
        frozenset(("capacity", "memory", "matrix")), same_matrix_work=False, inverse="merge head",
    ),
    Rule(
        "merge head", "disaggregation",
        Documentation(
            "brings the head back to the first pool, one axis of which cuts its vocabulary, its tokens or "
            "nothing",
            "no pool that waits", "its weight is held by the devices of the layers",
            "the conventional placement",
        ),
        _head_home_sites, _head_home, "FLOPs are kept, unless nothing is cut",
        frozenset(("latency", "scale-up", "scale-out")), same_matrix_work=False,
        inverse="disaggregate head",
    ),
)  # fmt: skip
