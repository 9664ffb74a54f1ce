"""Conventional placements of a model: the structures from which a search starts.

Axes of the one pool `main`, outermost first: `pp` pipeline stages, `dp` data, `tp` tensor parallel; expert
parallelism uses the ranks of dp and tp together. All run on engines of today (vLLM, SGLang, TensorRT-LLM):

    data-parallel attention, expert-parallel experts
    tensor-parallel attention, expert-parallel experts with tokens cut over tp between sections
    tensor-parallel attention, expert-parallel experts with tokens whole over tp (no dispatch along it)
    tensor-parallel attention, tensor-parallel experts

each with and without pipeline stages, with shared experts and dense MLPs cut over tp or replicated; and
tensor-parallel attention with its cache rows dealt out over the same ranks (decode context parallelism).
Where several query heads share one key/value head, tensor parallelism goes on beyond the key/value heads: an
inner axis `qp` cuts query heads, and its ranks hold equal caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutations.anatomy import kinds
from mutations.edit import Lines, ordered
from mutations.registry import rule
from mutations.rule import site
from rooflang.design import Design, Mesh, Placement, Pool, Shard

_FORMS = (
    ("DP attention + EP", False, "spread"),
    ("TP attention + EP", True, "spread"),
    ("TP attention + EP on whole tokens", True, "whole"),
    ("TP attention + TP experts", True, "narrow"),
)


def starting_designs(model: Design) -> tuple[Design, ...]:
    """Conventional structures of a model, each once; all mesh sizes are 1 as placeholders."""
    found: dict[Placement, Design] = {}
    for stages in (False, True):
        for title, heads, experts in _FORMS:
            for narrow in (True, False):
                name = f"{title}{'' if narrow else ', MLP replicated'}{' + PP' if stages else ''}"
                lines = _lines(model, heads, experts, narrow)
                design = _placed(model, name, ("pp", "dp", "tp") if stages else ("dp", "tp"), lines)
                found.setdefault(design.placement, design)
    shared = _beyond(model) if _grouped(model) else ()
    return (*found.values(), *_context_parallel(tuple(found.values())), *shared)


def _placed(model: Design, title: str, axes: tuple[str, ...], lines: list[tuple[str, Lines]]) -> Design:
    shards = tuple(Shard(t, d, axes) for t, line in lines for d, axes in ordered(model.program, line).items())
    mesh = Mesh("main", tuple((a, 1) for a in axes))
    placement = Placement((mesh,), shards, pipeline="pp" if "pp" in axes else None)
    return replace(model, name=f"{model.name}: {title}", pools=(Pool("main", "any", 1),), placement=placement)


def _grouped(model: Design) -> bool:
    """Whether some attention has query heads that share a key/value head."""
    return any(len(p.heads) > 1 for same in kinds(model.program, "attention").values() for p in same)


def _beyond(model: Design) -> Iterator[Design]:
    """Tensor parallelism beyond the key/value heads; each placement once."""
    inside = {
        name: dict.fromkeys(d for part in same if len(part.heads) > 1 for d in part.heads[1])
        for name, same in kinds(model.program, "attention").items()
    }
    seen: set[Placement] = set()
    for title, heads, experts in _FORMS:
        if not heads:
            continue
        lines: list[tuple[str, Lines]] = []
        for name, said in _lines(model, heads, experts, True):
            more = inside.get(name)
            wide = {d: _then(axes, "qp") for d, axes in said.items()}
            if more:
                wide = {**said, **dict.fromkeys(more, ("qp",))}
            lines.append((name, wide))
        design = _placed(model, f"{title} beyond KV heads", ("dp", "tp", "qp"), lines)
        if design.placement not in seen:
            seen.add(design.placement)
            yield design


def _then(axes: tuple[str, ...], inner: str) -> tuple[str, ...]:
    return (*axes, inner) if "tp" in axes else axes


def _context_parallel(designs: tuple[Design, ...]) -> Iterator[Design]:
    """Decode context parallelism on the tensor-parallel ranks, as engines offer it: projections by heads."""
    spread = rule("context parallel")
    for design in designs:
        if (
            design.placement.pipeline is not None
            or "MLP replicated" in design.name
            or "TP" not in design.name
        ):
            continue
        changed = design
        for name in kinds(design.program, "attention"):
            where = site(name, axis="tp", projections="heads", windows="whole")
            if where in spread.sites(changed):
                changed = spread.apply(changed, where)
        if changed is not design:
            yield replace(changed, name=f"{design.name} + CP")


def _lines(model: Design, heads: bool, experts: str, narrow: bool) -> list[tuple[str, Lines]]:
    """The lines of every section, by kind."""
    program = model.program
    result: list[tuple[str, Lines]] = []
    everywhere: Lines = {"B": ("dp", "tp")}
    tied = _tied(model)
    for name in kinds(program, "embed"):
        result.append((name, {"B": ("dp",), **tied} if heads or tied else everywhere))
    for name, same in kinds(program, "attention").items():
        cut = dict.fromkeys(d for part in same for d in (part.heads[0] if part.heads else ()))
        result.append((name, {"B": ("dp",), **dict.fromkeys(cut, ("tp",))} if heads else everywhere))
    for name in kinds(program, "moe"):
        result.append((name, everywhere if experts == "spread" else {"B": ("dp",)}))
    for name, same in kinds(program, "shared").items():
        inner = {d: ("tp",) for part in same for d in part.width}
        # Inside tokens that are cut over tp, a shared expert that is cut too sees them whole.
        result.append((name, inner if narrow else {}))
    for name, same in kinds(program, "experts").items():
        if experts == "narrow":
            result.append((name, {d: ("tp",) for part in same for d in part.width}))
        else:
            result.append((name, {part.experts: ("dp", "tp") for part in same}))
    for name, same in kinds(program, "mlp").items():
        inner = {d: ("tp",) for part in same for d in part.width}
        result.append((name, {"B": ("dp",), **inner} if narrow else everywhere))
    for name, same in kinds(program, "head").items():
        result.append((name, {"B": ("dp",), **{part.vocabulary: ("tp",) for part in same}}))
    return result


def _tied(model: Design) -> Lines:
    """How an embedding is cut that the head reads too: by the vocabulary, as the head needs it."""
    heads = [p for same in kinds(model.program, "head").values() for p in same if not p.draft]
    own = any(p.vocabulary in w.dims for p in heads for w in p.weights.values())
    return {} if own else {p.vocabulary: ("tp",) for p in heads}
