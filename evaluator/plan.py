"""A lowered design made ready for pricing: every distinct kernel once, with how often it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from rooflang.lowered import Lowered, Segment, Unit, fused
from rooflang.size import ZERO, Size, add, div, mul
from rooflang.work import Extents, Kernel, Work, product, unit_work
from rooflang.work.cascade import share_held
from rooflang.work.extent import cuts_of, extents_of


@dataclass(frozen=True, slots=True)
class Item:
    """One kernel of one unit: `work` indexes Plan.works; `layers` is how many layers run it."""

    kernel: Kernel
    segment: str
    section: str
    layers: int
    draft: bool
    repeated: bool
    work: int
    pair: int | None  # the item on the other pool that moves the same data
    stream: bool
    unit: int
    last: bool = False  # after the last cache: of a prompt, only the last token has to pass


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What pricing needs of a design. Sizes of memory are per device of their pool."""

    lowered: Lowered
    items: tuple[Item, ...]
    works: tuple[Work, ...]
    attention: tuple[bool, ...]  # per work: the kernel multiplies with a cache
    layers: int
    weights: Mapping[str, tuple[tuple[Size, int, bool, bool], ...]]  # pool: (bytes, layers, repeated, draft)
    states: Mapping[str, tuple[tuple[Size, int, bool], ...]]  # pool: (bytes, layers, draft)
    workspace: Mapping[str, tuple[Size, ...]]
    residual: Mapping[str, Size]  # bytes that pass from stage to stage
    has_draft: bool = False
    experts: Mapping[str, tuple[tuple[Size, Size, int, bool, bool], ...]] = field(default_factory=dict)
    # pool: (bytes of one expert of a weight, ranks that share its experts, layers, repeated, draft)
    host: Mapping[str, tuple[tuple[Size, int, bool, bool, bool], ...]] = field(default_factory=dict)
    # pool: (bytes kept in the host's memory, layers, repeated, draft, whether it is a cache)
    fetched: tuple[bool, ...] = ()  # per work: the schedule fetches before what it needs


@lru_cache(maxsize=512)
def plan(lowered: Lowered) -> Plan:
    """Compile a lowered design for pricing."""
    sizes = tuple(lowered.sizes.items())
    streams = lowered.design.schedule.streams
    items: list[Item] = []
    works: dict[tuple[object, ...], int] = {}
    table: list[Work] = []
    attention: list[bool] = []
    fetched: list[bool] = []
    host: dict[str, list[tuple[Size, int, bool, bool, bool]]] = {}
    weights: dict[str, list[tuple[Size, int, bool, bool]]] = {}
    states: dict[str, list[tuple[Size, int, bool]]] = {}
    residual: dict[str, Size] = {}
    workspace: dict[str, dict[Size, None]] = {}
    layers = 0
    tail = _after_caches(lowered)
    experts: dict[str, list[tuple[Size, Size, int, bool, bool]]] = {}
    for number, (segment, unit) in enumerate(lowered.units()):
        repeated = segment.name == unit.path.partition(".")[0]
        extents = extents_of(sizes, unit.routings)
        scores = {
            op.kernel
            for op in fused(unit).ops
            if op.operator == "einsum" and any(u.tensor.kind == "state" for u in op.operands)
        }
        first = len(items)
        for kernel in unit_work(unit, sizes, lowered.meshes):
            held = kernel.name in scores
            # A draft layer runs with one query token, so its kernels are priced apart.
            section = _join(unit.path, kernel.section)
            early = _streamed(section, lowered.design.schedule.prefetch)
            key = (_key(kernel.work), kernel.engine, held, segment.draft, number in tail, early)
            index = works.get(key)
            if index is None:
                index = works[key] = len(table)
                work = kernel.work
                table.append(work)
                live = add(work.reads.get("activation", ZERO), work.writes.get("activation", ZERO))
                workspace.setdefault(work.pool, {})[live] = None
                attention.append(held)
                fetched.append(early)
            pair = _pair(kernel, items, first)
            stream = kernel.engine == "compute" and _streamed(section, streams)
            items.append(
                Item(kernel, segment.name, section, segment.count, segment.draft, repeated, index, pair,
                     stream, number, number in tail)
            )  # fmt: skip
        _store(unit, extents, segment, repeated, weights, states, host)
        _store_experts(unit, extents, segment, repeated, experts)
        if repeated and not segment.draft:
            for _, tensor in unit.outputs:
                residual.setdefault(tensor.pool, extents.bytes(tensor))
    for segment in lowered.segments:
        if any(i.segment == segment.name and i.repeated for i in items) and not segment.draft:
            layers += segment.count * max(1, _depth(segment.units))
    return Plan(
        lowered, tuple(items), tuple(table), tuple(attention), max(1, layers),
        {p: tuple(w) for p, w in weights.items()}, {p: tuple(s) for p, s in states.items()},
        {p: tuple(w) for p, w in workspace.items()}, residual,
        any(s.draft for s in lowered.segments), {p: tuple(e) for p, e in experts.items()},
        {p: tuple(h) for p, h in host.items()}, tuple(fetched),
    )  # fmt: skip


@lru_cache(maxsize=512)
def unfinished(whole: Plan) -> Plan:
    """The plan of a step in which no prompt ends: what comes after the last cache does not run."""
    items = tuple(replace(i, layers=0) if i.last else i for i in whole.items)
    return replace(whole, items=items)


def _after_caches(lowered: Lowered) -> frozenset[int]:
    """Units (by number) after the last one that writes a cache, of the model and of its draft layer.

    Their results for a token are read by no other token's, so a prompt needs them of its last token only.
    A layer that is repeated feeds the next one and is not among them.
    """
    found: set[int] = set()
    units = list(enumerate(lowered.units()))
    for draft in (False, True):
        mine = [(number, segment, unit) for number, (segment, unit) in units if segment.draft == draft]
        holding = [i for i, (_, _, unit) in enumerate(mine) if unit.states or _appends(unit)]
        if not holding:
            continue
        _, at, _ = mine[holding[-1]]
        later = mine[holding[-1] + 1 :]
        found.update(number for number, segment, _ in later if segment is not at or segment.count == 1)
    return frozenset(found)


def _appends(unit: Unit) -> bool:
    """Whether the unit writes to a cache that another one declares."""
    return any(op.operator == "append" for op in unit.ops)


def _depth(units: tuple[Unit, ...]) -> int:
    """Layers inside one repeat: a pair of layers stands as two sections in it."""
    return len({u.path.split(".")[1] for u in units if u.path.count(".") >= 2})


def _join(path: str, section: str) -> str:
    return f"{path}.{section}" if path and section else path or section


def _streamed(section: str, streams: tuple[str, ...]) -> bool:
    return any(section == s or section.endswith("." + s) for s in streams)


def _pair(kernel: Kernel, items: list[Item], first: int) -> int | None:
    if kernel.engine != "link" or not kernel.name.endswith(":1"):
        return None
    base = kernel.name[:-1] + "0"
    return next((i for i in range(len(items) - 1, first - 1, -1) if items[i].kernel.name == base), None)


def _key(work: Work) -> tuple[object, ...]:
    return (
        work.pool, tuple(sorted(work.flops.items(), key=lambda f: f[0])), work.vector, work.exponentials,
        tuple(sorted(work.reads.items(), key=lambda f: f[0])),
        tuple(sorted(work.writes.items(), key=lambda f: f[0])),
        work.up_out, work.up_in, work.far_out, work.far_in, work.up_hops, work.far_hops,
        work.reduces, work.waits, work.held, tuple(sorted(work.host.items(), key=lambda f: f[0])),
    )  # fmt: skip


def _store(
    unit: Unit,
    extents: Extents,
    segment: Segment,
    repeated: bool,
    weights: dict[str, list[tuple[Size, int, bool, bool]]],
    states: dict[str, list[tuple[Size, int, bool]]],
    host: dict[str, list[tuple[Size, int, bool, bool, bool]]],
) -> None:
    merged = {o.name for t in unit.weights if t.derived is not None for o in t.derived.operands}
    used = {u.tensor.name for op in unit.ops for u in op.operands} | {n for n, _ in unit.outputs}
    for tensor in unit.weights:
        if tensor.name.rpartition(".")[2] in merged and tensor.name not in used:
            continue  # only its derived form is stored
        if tensor.tier:
            host.setdefault(tensor.pool, []).append(
                (extents.bytes(tensor), segment.count, repeated, segment.draft, False)
            )
            continue
        weights.setdefault(tensor.pool, []).append(
            (extents.bytes(tensor), segment.count, repeated, segment.draft)
        )
    for tensor in unit.states:
        # Sequences that share a prefix share its rows, whether or not attention reads them together.
        amount = mul(extents.bytes(tensor), share_held(tensor, extents, cuts_of(tensor).get("B", ())))
        if tensor.tier:
            host.setdefault(tensor.pool, []).append((amount, segment.count, repeated, segment.draft, True))
        else:
            states.setdefault(tensor.pool, []).append((amount, segment.count, segment.draft))


def _store_experts(
    unit: Unit,
    extents: Extents,
    segment: Segment,
    repeated: bool,
    experts: dict[str, list[tuple[Size, Size, int, bool, bool]]],
) -> None:
    """Weights whose rows are experts: what a replica of one adds."""
    targets = {r.target for r in unit.routings if not r.of_state and r.picks}
    for tensor in unit.weights:
        for target in targets & set(tensor.dims) if not tensor.tier else ():
            axes = cuts_of(tensor).get(target, ())
            one = div(extents.bytes(tensor), extents.dim(target, axes))
            if axes:
                experts.setdefault(tensor.pool, []).append(
                    (one, product(axes), segment.count, repeated, segment.draft)
                )
