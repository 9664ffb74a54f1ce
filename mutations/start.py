"""Conventional placements of a model: the structures from which a search starts.

Axes of the one pool `main`, outermost first: `pp` pipeline stages, `dp` data, `tp` tensor parallel; expert
parallelism uses the ranks of dp and tp together. All run on engines of today (vLLM, SGLang, TensorRT-LLM):

    data-parallel attention, expert-parallel experts
    tensor-parallel attention, expert-parallel experts with tokens cut over tp between sections
    tensor-parallel attention, expert-parallel experts with tokens whole over tp (no dispatch along it)
    tensor-parallel attention, tensor-parallel experts

each with and without pipeline stages, with shared experts and dense MLPs cut over tp or replicated; and
tensor-parallel attention with its cache rows dealt out over the same ranks (decode context parallelism).
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
    found: dict[tuple[Placement, tuple[Pool, ...]], Design] = {}
    for stages in (False, True):
        for title, heads, experts in _FORMS:
            for narrow in (True, False):
                lines = _lines(model, heads, experts, narrow)
                shards = tuple(
                    Shard(t, d, axes) for t, line in lines for d, axes in ordered(model.program, line).items()
                )
                names = ("pp", "dp", "tp") if stages else ("dp", "tp")
                mesh = Mesh("main", tuple((a, 1) for a in names))
                placement = Placement((mesh,), shards, pipeline="pp" if stages else None)
                name = (
                    f"{model.name}: {title}{'' if narrow else ', MLP replicated'}{' + PP' if stages else ''}"
                )
                pools = (Pool("main", "any", 1),)
                design = replace(model, name=name, pools=pools, placement=placement)
                found.setdefault((placement, pools), design)
    return (*found.values(), *_context_parallel(tuple(found.values())))


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
    for name in kinds(program, "embed"):
        result.append((name, {"B": ("dp",)} if heads else everywhere))
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
            result.append((name, {same[0].experts: ("dp", "tp")}))
    for name, same in kinds(program, "mlp").items():
        inner = {d: ("tp",) for part in same for d in part.width}
        result.append((name, {"B": ("dp",), **inner} if narrow else everywhere))
    for name, same in kinds(program, "head").items():
        result.append((name, {"B": ("dp",), **{part.vocabulary: ("tp",) for part in same}}))
    return result
