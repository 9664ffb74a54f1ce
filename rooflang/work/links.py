"""Bytes and dependent messages of collectives, by link class.

The class of a link follows from the physical order of ranks: a mesh's last axis joins neighbours, and
`domain` neighbouring devices share a scale-up domain. With g members of a group in one domain and
h = n/g domains, collectives run hierarchically: inside the domain on scale-up links, across domains on
scale-out links with 1/g of the data per rank. `innet` is 1 where the scale-up switches reduce and
multicast (NVLink SHARP), else 0. Formulas: docs/evaluator.md.
"""

from __future__ import annotations

from rooflang.dtype import format_of
from rooflang.lowered import LocalOp, Tensor
from rooflang.size import ONE, ZERO, Size, const, div, floordiv, maximum, minimum, mul, routing, symbol
from rooflang.work.extent import Extents, cuts_of, product, routed_axes
from rooflang.work.record import Work

DOMAIN = symbol("domain")
INNET = symbol("innet")
ONE_FABRIC = "one fabric"
"""Symbol of sizes, 1 where all pools have devices of one kind; no axis can have this name."""


def inside(axes: tuple[str, ...], mesh: tuple[str, ...]) -> Size:
    """Members of a group over `axes` that share one scale-up domain."""
    found = ONE
    for axis in axes:
        inner = mesh[mesh.index(axis) + 1 :]
        stride = product(inner)
        found = mul(found, minimum(symbol(axis), maximum(1, floordiv(DOMAIN, stride))))
    return found


def _some(count: Size) -> Size:
    """1 if a group of this many has anything to send, else 0."""
    return minimum(1, count - 1)


def move_work(op: LocalOp, extents: Extents, meshes: dict[str, tuple[str, ...]]) -> list[Work]:
    """The work of a collective: one record per pool that takes part."""
    source = op.operands[0].tensor
    result = op.result
    if op.operator in ("keep", "cut"):
        return []
    if source.pool != result.pool:
        return _crossing(op, source, result, extents, meshes)
    mesh = meshes[result.pool]
    g = inside(op.axes, mesh)
    n = product(op.axes)
    h = div(n, g)
    near, far = ONE - div(1, g), ONE - div(1, h)
    size_in, size_out = extents.bytes(source), extents.bytes(result)
    if op.operator == "all_reduce":
        size_in = size_out  # every row takes part, also those that a rank only holds as zeros
    elif op.operator == "reduce_scatter":
        size_in = mul(size_out, n)
    match op.operator:
        case "all_reduce":
            out = into = mul(ONE - INNET, 2, size_in, near) + mul(INNET, size_in, _some(g))
            across = mul(2, div(size_in, g), far)
        case "reduce_scatter":
            out = mul(size_in, near)
            into = mul(ONE - INNET, out) + mul(INNET, div(size_in, g), _some(g))
            across = mul(div(size_in, g), far)
        case "all_gather":
            into = mul(size_out, near)
            out = mul(ONE - INNET, into) + mul(INNET, div(size_out, g), _some(g))
            across = mul(div(size_out, g), far)
        case "all_to_all":
            out = into = mul(size_in, g - 1, div(1, n))
            across = mul(size_in, n - g, div(1, n))
        case "gather_top":
            amount = _candidates(op, source, extents)
            out = into = mul(amount, g - 1)
            across = mul(amount, h - 1)
        case _:
            out, across = _routed(op, source, result, extents, g, n, h)
            into = out
    work = Work(
        result.pool,
        reads={"activation": size_in},
        writes={"activation": size_out},
        up_out=out,
        up_in=into,
        far_out=across,
        far_in=across,
        up_hops=_some(g),
        far_hops=_some(h),
        reduces=op.operator == "all_reduce",
    )
    return [work]


def _candidates(op: LocalOp, source: Tensor, extents: Extents) -> Size:
    """Bytes of one rank's k candidates: a score and a position each."""
    dim = str(op.attribute("dim"))
    pick = str(op.attribute("k") or "")
    rows = mul(*(extents.dim(d, cuts_of(source).get(d, ())) for d in source.dims if d != dim))
    last = extents.queries(cuts_of(source)) if "Q" in source.dims else ONE
    count = ONE
    if pick:  # the mean of a minimum is at most the minimum of the means
        count = minimum(extents.seen(pick, (), last), extents.seen(dim, op.axes, last))
    return mul(rows, count, format_of("f32").bytes + format_of("int32").bytes)


def _row_bytes(tensor: Tensor, extents: Extents) -> Size:
    cuts = cuts_of(tensor)
    inner = [extents.dim(d, cuts.get(d, ())) for d in tensor.dims if d not in ("B", "Q")]
    return mul(*inner, format_of(tensor.dtype).bytes) if inner else const(format_of(tensor.dtype).bytes)


def _routed(
    op: LocalOp, source: Tensor, result: Tensor, extents: Extents, g: Size, n: Size, h: Size
) -> tuple[Size, Size]:
    """(scale-up bytes, scale-out bytes) of a dispatch or combine.

    A token goes once to each other chosen rank of its domain, and once to each other chosen domain, where
    it is passed on; combine is the same way back.
    """
    own, spread = (source, result) if op.operator == "dispatch" else (result, source)
    tag = str(op.attribute("routed"))
    route = extents.routings.get(tag)
    row = _row_bytes(own, extents)
    tokens = extents.tokens(cuts_of(own))
    if route is None or tag not in routed_axes(spread):
        size = mul(tokens, row)
        return mul(size, g - 1), mul(size, h - 1)
    experts, picks = extents.sizes[route.target], extents.picks(route)
    rank = routing("copies", n, experts, picks, tokens, tag=tag)
    domain = routing("copies", h, experts, picks, tokens, tag=tag)
    across = mul(domain, h - 1, row)
    return mul(rank, n - 1, row) - across, across


def _crossing(
    op: LocalOp, source: Tensor, result: Tensor, extents: Extents, meshes: dict[str, tuple[str, ...]]
) -> list[Work]:
    """From one pool to another: near if both pools fit in one domain, else over scale-out links. Devices of
    different kinds are in none together."""
    here, there = product(meshes[source.pool]), product(meshes[result.pool])
    near = mul(symbol(ONE_FABRIC), minimum(1, floordiv(DOMAIN, here + there)))
    tag = str(op.attribute("routed") or "")
    route = extents.routings.get(tag)
    spread = result if op.operator == "dispatch" else source
    own = source if op.operator == "dispatch" else result
    if route is not None and tag in routed_axes(spread):
        ranks = product(routed_axes(spread)[tag][1])
        g = inside(routed_axes(spread)[tag][1], meshes[spread.pool])
        domains = div(ranks, g)
        experts, picks = extents.sizes[route.target], extents.picks(route)
        tokens, row = extents.tokens(cuts_of(own)), _row_bytes(own, extents)
        once = mul(routing("copies", domains, experts, picks, tokens, tag=tag), domains, row)
        every = mul(routing("copies", ranks, experts, picks, tokens, tag=tag), ranks, row)
        own_far, own_near = mul(ONE - near, once), mul(near, every)
        # Spread over the other pool's ranks: what leaves all devices here arrives over all there.
        own_ranks = product(meshes[own.pool])
        scale = div(own_ranks, ranks)
        passed = mul(ONE - near, every - once, scale)
        far, up = mul(own_far, scale), mul(own_near, scale) + passed
    else:
        amount = extents.bytes(source)
        into = extents.bytes(result)
        own_far, own_near = mul(ONE - near, amount), mul(near, amount)
        far, up = mul(ONE - near, into), mul(near, into)
        if own is result:
            own_far, own_near, far, up = far, up, own_far, own_near
    outward = own is source
    mine = Work(
        own.pool,
        reads={"activation": extents.bytes(own)} if outward else {},
        writes={} if outward else {"activation": extents.bytes(own)},
        up_out=own_near if outward else ZERO, up_in=ZERO if outward else own_near,
        far_out=own_far if outward else ZERO, far_in=ZERO if outward else own_far,
        up_hops=near if outward else ZERO, far_hops=ONE - near if outward else ZERO,
    )  # fmt: skip
    other = Work(
        spread.pool if spread.pool != own.pool else source.pool,
        reads={} if outward else {"activation": extents.bytes(source)},
        writes={"activation": extents.bytes(result)} if outward else {},
        up_out=ZERO if outward else up, up_in=up if outward else ZERO,
        far_out=ZERO if outward else far, far_in=far if outward else ZERO,
        up_hops=ZERO if outward else near, far_hops=ZERO if outward else ONE - near,
    )  # fmt: skip
    return [mine, other]
