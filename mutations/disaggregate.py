"""Sections on pools of their own: attention here, experts there, each with its own mesh."""

from __future__ import annotations

from mutations.anatomy import Part, kinds
from mutations.edit import (
    Lines,
    add_pool,
    all_axes,
    first_pool,
    fresh,
    mesh_axes,
    with_lines,
    with_placement,
)
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design

_POOL = "experts"


def _movable(design: Design, *wanted: str) -> dict[str, tuple[Part, ...]]:
    """Sections of these kinds that the model has outside its draft layers, while there is one pool."""
    if len(design.pools) > 1:
        return {}
    found = kinds(design.program, *wanted)
    return {n: p for n, p in found.items() if any(not part.draft for part in p)}


def _experts_apart(design: Design) -> tuple[Site, ...]:
    return tuple(site(n, axes=a) for n in _movable(design, "experts") for a in ("xp", "xt", "xp xt"))


def _layers_apart(design: Design) -> tuple[Site, ...]:
    return tuple(site(n, axes=a) for n in _movable(design, "moe", "mlp") for a in ("xp", "xt", "xp xt"))


def _move(design: Design, where: Site) -> Design | None:
    """Move a section: `xp` cuts experts (tokens, in a part with more than experts), `xt` cuts widths."""
    same = _movable(design, "experts", "moe", "mlp").get(where.target)
    axes = where.words("axes")
    if same is None or not axes or not set(axes) <= {"xp", "xt"}:
        return None
    taken = set(all_axes(design))
    named = {a: fresh(a, taken) for a in axes}
    pool = fresh(_POOL, {first_pool(design)})
    result = add_pool(design, pool, tuple(named.values()))
    for target, cut in _far_lines(design, where.target, same, named).items():
        result = with_lines(result, target, cut)
    return with_placement(result, homes=(*design.placement.homes, (where.target, pool)))


def _far_lines(
    design: Design, target: str, same: tuple[Part, ...], named: dict[str, str]
) -> dict[str, Lines]:
    """Lines of a moved section and of the sections inside it, on its new axes."""
    xp = tuple(a for n, a in named.items() if n == "xp")
    xt = tuple(a for n, a in named.items() if n == "xt")
    if same[0].kind == "experts":
        return {target: {same[0].experts: xp, **dict.fromkeys(same[0].width, xt)}}
    found: dict[str, Lines] = {target: {"B": xp, **{d: xt for p in same for d in p.width}}}
    if same[0].kind == "moe":
        for name, inner in kinds(design.program, "experts", "shared").items():
            widths = {d: xt for p in inner for d in p.width}
            cut = {inner[0].experts: xp, **widths} if inner[0].kind == "experts" else widths
            found[name] = cut
    return found


_FORMS = ("experts over all axes", "experts over the last axis", "widths over the last axis", "whole")


def _pools(design: Design) -> tuple[Site, ...]:
    found: list[Site] = []
    same = kinds(design.program, "experts", "moe", "mlp")
    for target in (t for t, _ in design.placement.homes if t in same):
        part = same[target][0]
        forms = _FORMS if part.kind != "mlp" else _FORMS[2:]
        outer = ("outer",) if len(mesh_axes(design)) > 1 else ()
        tokens = ("all", *outer) if part.kind != "experts" else ("",)
        found.extend(site(target, form=f, **({"tokens": t} if t else {})) for f in forms for t in tokens)
    if any(target in same and same[target][0].kind == "moe" for target, _ in design.placement.homes):
        # Shared experts may be cut or not, whatever the routed ones are.
        found.extend(site(s.target, shared="whole", **dict(s.parameters)) for s in tuple(found))
    return tuple(found)


def _merge(design: Design, where: Site) -> Design | None:
    """Bring a section home. `form` says what the first pool's axes cut in it."""
    home = dict(design.placement.homes).get(where.target)
    same = kinds(design.program, "experts", "moe", "mlp").get(where.target)
    if home is None or same is None or where not in _pools(design):
        return None
    gone = set(mesh_axes(design, home))
    shards = tuple(s for s in design.placement.shards if not gone & set(s.axes))
    homes = tuple(h for h in design.placement.homes if h[0] != where.target)
    if any(pool == home for _, pool in homes):
        return None
    meshes = tuple(m for m in design.placement.meshes if m.pool != home)
    pools = tuple(p for p in design.pools if p.name != home)
    result = with_placement(design.with_(pools=pools), shards=shards, homes=homes, meshes=meshes)
    for target, cut in _home_lines(result, where.target, same, where).items():
        result = with_lines(result, target, cut)
    return result


def _home_lines(design: Design, target: str, same: tuple[Part, ...], where: Site) -> dict[str, Lines]:
    axes, form = mesh_axes(design), where.get("form")
    last = axes[-1:]
    if same[0].kind == "experts":
        return {target: _experts(same[0], axes, form)}
    tokens = axes if where.get("tokens") == "all" else axes[:-1]
    widths = {d: last for p in same for d in p.width if form.startswith("widths")}
    found: dict[str, Lines] = {target: {"B": tokens, **widths}}
    if same[0].kind == "moe":
        for name, inner in kinds(design.program, "experts", "shared").items():
            if inner[0].kind == "experts":
                found[name] = _experts(inner[0], axes, form)
            else:
                found[name] = (
                    {} if where.get("shared") == "whole" else {d: last for p in inner for d in p.width}
                )
    return found


def _experts(part: Part, axes: tuple[str, ...], form: str) -> Lines:
    match form:
        case "experts over all axes":
            return {part.experts: axes}
        case "experts over the last axis":
            return {part.experts: axes[-1:]}
        case "widths over the last axis":
            return dict.fromkeys(part.width, axes[-1:])
        case _:
            return {}


RULES = (
    Rule(
        "disaggregate experts", "disaggregation",
        Documentation(
            "moves the routed experts to a pool of their own, with axes xp over experts and xt over widths",
            "experts see the tokens of many attention devices, so their weights are read once for a larger "
            "batch; each pool gets the number of devices and the sharding that it needs",
            "every layer sends its activations to the other pool and back, and each pool waits for the other "
            "unless micro-batches alternate",
            "MegaScale-Infer (arXiv 2504.02263), Step-3 AFD (arXiv 2507.19427)",
        ),
        _experts_apart, _move,
        "matrix FLOPs are kept (xt repeats biases of experts); two transfers between pools per layer take "
        "the place of dispatch and combine",
        frozenset(("memory", "capacity", "matrix")), inverse="merge pools",
    ),
    Rule(
        "disaggregate feed-forward", "disaggregation",
        Documentation(
            "moves the whole MoE or MLP section (norm, router, shared experts) to a pool of its own, with "
            "axes xp "
            "over tokens and experts and xt over widths",
            "attention devices keep attention alone; the router and the shared expert run on few devices",
            "the residual itself is sent both ways, all streams of it; xt repeats norm and router on its "
            "ranks",
            "Step-3 attention-FFN disaggregation (arXiv 2507.19427)",
        ),
        _layers_apart, _move,
        "FLOPs of experts are kept; norm and router are repeated on each rank of xt",
        frozenset(("memory", "capacity", "matrix")), same_matrix_work=False, inverse="merge pools",
    ),
    Rule(
        "merge pools", "disaggregation",
        Documentation(
            "brings a section back to the first pool, cut there by experts, by width, or not at all",
            "no transfer between pools, no pool waits for another",
            "expert weights are read for the tokens of one mesh only",
            "the conventional placement of vLLM, SGLang and TensorRT-LLM",
        ),
        _pools, _merge,
        "matrix FLOPs are kept, unless the section becomes replicated (form=whole)",
        frozenset(("latency", "scale-out", "scale-up")), same_matrix_work=False,
        inverse="disaggregate experts",
    ),
)  # fmt: skip
