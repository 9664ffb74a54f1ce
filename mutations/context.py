"""Context parallelism: rows of caches dealt out over an axis, attention merged by its log-sums."""

from __future__ import annotations

from mutations.anatomy import Part, kinds
from mutations.edit import add_axis, all_axes, drop_axis, fresh, lines, mesh_axes, with_lines
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design

_NEW = "new"


def _rows(same: tuple[Part, ...], windows: bool) -> tuple[str, ...]:
    """Rows of caches that grow with the context, and of sliding windows where asked for."""
    found = dict.fromkeys(d for p in same for d, rows, _ in p.rows if rows != "window")
    if windows:
        found.update(dict.fromkeys(d for p in same for d, rows, _ in p.rows if rows == "window"))
    return tuple(found)


def _heads(same: tuple[Part, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(d for p in same if p.heads for d in p.heads[0]))


def _places(design: Design) -> tuple[Site, ...]:
    found: list[Site] = []
    for name, same in kinds(design.program, "attention").items():
        grown, all_rows = _rows(same, False), _rows(same, True)
        said = lines(design, name)
        pool = dict(design.placement.homes).get(name)
        if not all_rows:
            continue
        for axis in (*mesh_axes(design, pool), _NEW):
            if any(axis in said.get(d, ()) for d in all_rows):
                continue
            # Blocks of heads leave an axis from the inside out: none may be cut further within it.
            inner = (all_axes(design)[all_axes(design).index(axis) + 1 :]) if axis != _NEW else ()
            free = not any(a in inner for d in _heads(same) for a in said.get(d, ()))
            for form in ("heads", "replicated") if free else ("replicated",):
                for windows in (["whole"] if grown else []) + (["cut"] if grown != all_rows else []):
                    found.append(site(name, axis=axis, projections=form, windows=windows))
    return tuple(found)


def _spread(design: Design, where: Site) -> Design | None:
    """The axis cuts rows of caches instead of sequences; projections stay cut by heads on it, or are "
    "whole."""
    if where not in _places(design):
        return None
    same = kinds(design.program, "attention")[where.target]
    axis = where.get("axis")
    result = design
    if axis == _NEW:
        axis = fresh("cp", set(all_axes(design)))
        result = _everywhere(
            add_axis(design, axis, dict(design.placement.homes).get(where.target)), where.target, axis
        )
    order = all_axes(result)
    said = {d: tuple(a for a in axes if a != axis) for d, axes in lines(result, where.target).items()}
    added = _rows(same, where.get("windows") == "cut")
    if where.get("projections") == "heads":
        added = (*added, *_heads(same))
    for dim in added:
        said[dim] = tuple(sorted((*said.get(dim, ()), axis), key=order.index))
    return with_lines(result, where.target, said)


def _everywhere(design: Design, attention: str, axis: str) -> Design:
    """Other sections spread over the ranks of a new axis what they spread already: tokens or experts."""
    result = design
    found = kinds(design.program, "embed", "moe", "mlp", "experts", "head")
    for name, same in found.items():
        said = lines(design, name)
        wide = "B" if same[0].kind != "experts" else same[0].experts
        if name != attention and (wide in said or same[0].kind != "experts"):
            result = with_lines(result, name, {**said, wide: (*said.get(wide, ()), axis)})
    return result


def _spreads(design: Design) -> tuple[Site, ...]:
    found: list[Site] = []
    for name, same in kinds(design.program, "attention").items():
        said = lines(design, name)
        for axis in dict.fromkeys(a for d in _rows(same, True) for a in said.get(d, ())):
            found.extend(site(name, axis=axis, to=to) for to in ("heads", "tokens", "nothing"))
            others = {s.target for s in design.placement.shards if axis in s.axes} - {name}
            if not _tokens_over(design, others, axis):
                found.append(site(name, axis=axis, to="no axis"))
    return tuple(found)


def _tokens_over(design: Design, targets: set[str], axis: str) -> bool:
    """Whether some section uses the axis for itself alone, so that it cannot simply go."""
    return any(s.axes == (axis,) for s in design.placement.shards if s.target in targets)


def _gathered(design: Design, where: Site) -> Design | None:
    if where not in _spreads(design):
        return None
    axis, to = where.get("axis"), where.get("to")
    if to == "no axis":
        return drop_axis(design, axis)
    same = kinds(design.program, "attention")[where.target]
    said = {d: tuple(a for a in axes if a != axis) for d, axes in lines(design, where.target).items()}
    added = {"heads": _heads(same), "tokens": ("B",)}.get(to, ())
    for dim in added:
        said[dim] = tuple(sorted((*said.get(dim, ()), axis), key=all_axes(design).index))
    return with_lines(design, where.target, said)


RULES = (
    Rule(
        "context parallel", "sharding",
        Documentation(
            "deals the rows of attended caches out over an axis (one that is there, which other sections "
            "may use for "
            "experts, or a new one); each rank attends to its rows and log-sums merge the results; "
            "projections stay "
            "cut by heads on the same axis (projections=heads) or are whole on it",
            "long contexts at few sequences; latent caches, which heads cannot divide; cache capacity",
            "queries are gathered and partial outputs reduced over the axis; whole projections repeat "
            "their work",
            "Helix parallelism (arXiv 2507.07120); flash-decoding; decode context parallelism in vLLM and "
            "SGLang",
        ),
        _places, _spread,
        "cache reads and scores are divided by the axis; with projections whole, their FLOPs are repeated "
        "on it",
        frozenset(("memory", "capacity", "exponential", "matrix")), same_matrix_work=False,
        inverse="context whole",
    ),
    Rule(
        "context whole", "sharding",
        Documentation(
            "gives an axis of context parallelism to heads, to sequences, to nothing, or removes it",
            "short contexts and many sequences",
            "caches are read whole by every rank, or need more sequences",
            "the inverse of `context parallel`",
        ),
        _spreads, _gathered, "the inverse of `context parallel`",
        frozenset(("latency", "scale-up")), same_matrix_work=False, inverse="context parallel",
    ),
)  # fmt: skip
