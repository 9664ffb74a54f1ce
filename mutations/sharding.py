"""What an axis cuts in a section; axes and pipeline stages added and removed."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from mutations.anatomy import Part, kinds
from mutations.edit import (
    add_axis,
    all_axes,
    drop_axis,
    fresh,
    lines,
    mesh_axes,
    with_lines,
    with_placement,
)
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Mesh, Shard

_NONE = "-"


def _choices(same: tuple[Part, ...]) -> tuple[str, ...]:
    """What an axis may cut in sections of one name; names joined by a blank are cut together."""
    found: dict[str, None] = {}
    if same[0].kind != "experts":
        found["B"] = None
    most = max(len(p.heads) for p in same)
    for n in range(most):
        names = dict.fromkeys(d for p in same if p.heads for d in p.heads[min(n, len(p.heads) - 1)])
        found[" ".join(names)] = None
    if same[0].kind == "experts":
        found[same[0].experts] = None
    for part in same:
        found.update(dict.fromkeys(part.width))
        if part.vocabulary:
            found[part.vocabulary] = None
    found[_NONE] = None
    return tuple(found)


def _now(said: dict[str, tuple[str, ...]], axis: str) -> str:
    names = [d for d, axes in said.items() if axis in axes]
    return " ".join(names) or _NONE


def _pool_of(design: Design, name: str) -> str | None:
    return dict(design.placement.homes).get(name)


def _cuts(*wanted: str) -> tuple[object, object]:
    """(sites, rewrite) of the rule that changes what one axis cuts in sections of these kinds."""

    def sites(design: Design) -> tuple[Site, ...]:
        found: list[Site] = []
        for name, same in kinds(design.program, *wanted).items():
            said = lines(design, name)
            for axis in mesh_axes(design, _pool_of(design, name)):
                now = _now(said, axis)
                found.extend(
                    site(name, axis=axis, cut=c) for c in _choices(same) if set(c.split()) != set(now.split())
                )
        return tuple(found)

    def apply(design: Design, where: Site) -> Design | None:
        if where not in sites(design):
            return None
        axis = where.get("axis")
        said = {d: tuple(a for a in axes if a != axis) for d, axes in lines(design, where.target).items()}
        order = all_axes(design)
        for dim in where.words("cut"):
            if dim != _NONE:
                said[dim] = tuple(sorted((*said.get(dim, ()), axis), key=order.index))
        return with_lines(design, where.target, said)

    return sites, apply


def _stages(design: Design) -> tuple[Site, ...]:
    return () if design.placement.pipeline else (site("pipeline", axis=fresh("pp", set(all_axes(design)))),)


def _pipeline(design: Design, where: Site) -> Design | None:
    if where not in _stages(design):
        return None
    return with_placement(add_axis(design, where.get("axis"), inner=False), pipeline=where.get("axis"))


def _staged(design: Design) -> tuple[Site, ...]:
    return (site("pipeline"),) if design.placement.pipeline else ()


def _unstaged(design: Design, where: Site) -> Design | None:
    axis = design.placement.pipeline
    return drop_axis(design, axis) if axis and where in _staged(design) else None


def _factors(design: Design) -> tuple[Site, ...]:
    """Axes that may become two; not those that came of it."""
    pools = {
        m.pool: [a for a, _ in m.axes if a != design.placement.pipeline] for m in design.placement.meshes
    }
    return tuple(site(axis, pool=pool) for pool, axes in pools.items() if len(axes) < 4 for axis in axes)


def _factor(design: Design, where: Site) -> Design | None:
    return factored(design, where.target) if where in _factors(design) else None


def factored(design: Design, axis: str) -> Design:
    """`a` becomes `a` and, inside it, a new axis; both cut what it cut."""
    inner = fresh(axis + "i", set(all_axes(design)))

    def twice(axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(b for a in axes for b in ((a, inner) if a == axis else (a,)))

    meshes = tuple(
        Mesh(m.pool, tuple(b for a in m.axes for b in ((a, (inner, 1)) if a[0] == axis else (a,))))
        for m in design.placement.meshes
    )
    shards = tuple(replace(s, axes=twice(s.axes)) for s in design.placement.shards)
    return with_placement(design, meshes=meshes, shards=shards)


def neighbours(design: Design) -> tuple[tuple[str, str], ...]:
    """Neighbouring axes (outer, inner) that cut the same everywhere."""
    found: list[tuple[str, str]] = []
    for mesh in design.placement.meshes:
        names = [a for a, _ in mesh.axes if a != design.placement.pipeline]
        for outer, inner in pairwise(names):
            if all(_adjacent(s, outer, inner) for s in design.placement.shards):
                found.append((outer, inner))
    return tuple(found)


def _alike(design: Design) -> tuple[Site, ...]:
    return tuple(site(outer, inner=inner) for outer, inner in neighbours(design))


def _adjacent(shard: Shard, outer: str, inner: str) -> bool:
    return (outer in shard.axes) == (inner in shard.axes)


def _join(design: Design, where: Site) -> Design | None:
    return drop_axis(design, where.get("inner")) if where in _alike(design) else None


def _rule(name: str, rewrites: str, helps: str, costs: str, source: str, relieves: str, *wanted: str) -> Rule:
    find, apply = _cuts(*wanted)
    return Rule(
        name, "sharding", Documentation(rewrites, helps, costs, source), find, apply,  # type: ignore[arg-type]
        "FLOPs are kept where an axis cuts something before and after; an axis that cuts nothing repeats "
        "the work "
        "on each of its ranks",
        frozenset(relieves.split()), same_matrix_work=False, inverse=name,
    )  # fmt: skip


RULES = (
    _rule(
        "shard attention", "changes what one axis cuts in attention: sequences, heads, or nothing",
        "by sequences: caches and their reads are divided, no collective; by heads: weights and their "
        "reads are",
        "by sequences every rank reads all weights; by heads a latent cache is read on every rank",
        "Megatron-LM (arXiv 1909.08053); DP attention in SGLang and vLLM for MLA models",
        "memory capacity matrix scale-up latency", "attention",
    ),
    _rule(
        "shard experts",
        "changes what one axis cuts in routed experts: experts, their width, or nothing of its own",
        "experts (EP): whole experts per rank, few and large products; width (TP inside EP): even load, no "
        "dispatch",
        "EP dispatches tokens and waits for the fullest rank; width makes narrow products and sums",
        "GShard (arXiv 2006.16668); DeepSeek-V3 report section 3.4; TensorRT-LLM's moe_tp and moe_ep",
        "memory capacity scale-up scale-out matrix", "experts",
    ),
    _rule(
        "shard mlp",
        "changes what one axis cuts in a shared expert or dense MLP: its width, tokens, or nothing of its "
        "own",
        "width: weights and their reads are divided; tokens: no collective",
        "width: a gather and a sum of activations; replicated: every rank reads all of its weights",
        "Megatron-LM; DeepSeek-V3 keeps the shared expert replicated or as one more routed expert",
        "memory capacity scale-up latency", "shared", "mlp",
    ),
    _rule(
        "shard moe tokens",
        "whether one axis cuts the tokens of a MoE section (norm, router, dispatch) or leaves them whole",
        "cut: the router's work is divided; whole: chosen experts on the axis need no dispatch",
        "cut: dispatch and combine along the axis; whole: router and norm on every rank",
        "SGLang and vLLM: DP + EP against TP + EP",
        "vector scale-up latency memory", "moe",
    ),
    _rule(
        "shard ends", "changes what one axis cuts in embedding and head: the vocabulary, tokens, or nothing",
        "vocabulary: the largest single weight is read in parts; tokens: no gather of logits",
        "vocabulary: tokens are gathered before and candidates after; tokens: every rank reads the whole "
        "table",
        "Megatron-LM's vocabulary-parallel embedding; SGLang's dp-lm-head",
        "memory capacity matrix latency", "embed", "head",
    ),
    Rule(
        "add pipeline", "sharding",
        Documentation(
            "adds an outermost axis over which layers are split into stages",
            "weights and caches are divided with one small transfer per stage; works over slow links",
            "as many micro-batches as stages are needed, and each reads its weights again; no gain in "
            "latency",
            "GPipe (arXiv 1811.06965); every engine's pipeline parallelism",
        ),
        _stages, _pipeline, "none per token; a transfer of the residual per stage",
        frozenset(("capacity", "scale-up", "scale-out")), inverse="remove pipeline",
    ),
    Rule(
        "remove pipeline", "sharding",
        Documentation(
            "removes the pipeline axis", "latency, and small batches", "weights must fit on fewer devices",
            "the inverse of `add pipeline`",
        ),
        _staged, _unstaged, "none per token", frozenset(("latency", "memory")), inverse="add pipeline",
    ),
    Rule(
        "factor axis", "sharding",
        Documentation(
            "splits an axis in two, the new one inside it; both cut what it cut",
            "a step towards sections of different widths: attention over the inner axis only, experts over "
            "both",
            "nothing by itself",
            "factored mesh axes of GSPMD (arXiv 2105.04663); Tutel and Helix (arXiv 2507.07120)",
        ),
        _factors, _factor, "none", frozenset(("scale-up", "memory")), inverse="join axes",
    ),
    Rule(
        "join axes", "sharding",
        Documentation(
            "makes one axis of two neighbours that cut the same everywhere", "a smaller structure to sweep",
            "nothing", "the inverse of `factor axis`",
        ),
        _alike, _join, "none", frozenset(("latency",)), inverse="factor axis",
    ),
)  # fmt: skip
