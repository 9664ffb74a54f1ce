"""Placed designs that several evaluator tests share."""

from __future__ import annotations

from catalogue.models import load_model
from rooflang.design import Design, Mesh, Placement, Pool, Shard


def single(name: str) -> Design:
    """A model on one device."""
    mesh = Mesh("main", (("dp", 1),))
    return load_model(name).with_(pools=(Pool("main", "b300-sxm", 1),), placement=Placement((mesh,)))


def expert_parallel(name: str, dp: int, tp: int = 1) -> Design:
    """Data-parallel attention (heads over tp), experts over all ranks."""
    shards = (
        Shard("embed", "B", ("dp",)),
        Shard("head", "B", ("dp",)),
        Shard("attention", "B", ("dp",)),
        Shard("attention", "H", ("tp",)),
        Shard("attention", "G", ("tp",)),
        Shard("attention", "IH", ("tp",)),
        Shard("moe", "B", ("dp", "tp")),
        Shard("experts", "E", ("dp", "tp")),
    )
    mesh = Mesh("main", (("dp", dp), ("tp", tp)))
    return load_model(name).with_(
        pools=(Pool("main", "b300-sxm", dp * tp),), placement=Placement((mesh,), shards)
    )


def separate_experts(name: str, dp: int, xp: int) -> Design:
    """Attention on one pool, routed experts on another."""
    shards = (
        Shard("embed", "B", ("dp",)),
        Shard("head", "B", ("dp",)),
        Shard("attention", "B", ("dp",)),
        Shard("moe", "B", ("dp",)),
        Shard("experts", "E", ("xp",)),
    )
    meshes = (Mesh("main", (("dp", dp),)), Mesh("experts", (("xp", xp),)))
    pools = (Pool("main", "b300-sxm", dp), Pool("experts", "b300-sxm", xp))
    return load_model(name).with_(pools=pools, placement=Placement(meshes, shards, (("experts", "experts"),)))
