"""Every model lowers under every conventional placement, with the collectives that it implies."""

from __future__ import annotations

from collections import Counter

import pytest

from catalogue.models import load_model, model_names
from rooflang.design import Design, Fusion, Mesh, Op, Placement, Pool, Section, Shard, walk
from rooflang.lower import lower
from rooflang.lowered import Lowered

SECTIONS = ("embed", "attention", "moe", "mlp", "head")
BATCH = [
    ("embed", "B", "dp"),
    ("attention", "B", "dp"),
    ("mixer", "B", "dp"),
    ("engram", "B", "dp"),
    ("draft_moe", "B", "dp"),
    ("mlp", "B", "dp"),
    ("head", "B", "dp"),
]
# Names that models of the catalogue give to what one axis may cut together.
HEADS = [("attention", dim, "tp") for dim in ("H", "IH", "K", "K2", "G")]
HEADS += [("mixer", "HK", "tp")]
WIDTHS = [("shared", "FS", "tp"), ("mlp", "FD", "tp"), ("head", "V", "tp")]
ROWS = [("attention", rows, "cp") for rows in ("S", "W", "W2", "N2", "N4", "N128")]


def shards(*lines: tuple[str, str, str]) -> tuple[Shard, ...]:
    return tuple(Shard(target, dim, tuple(axes.split())) for target, dim, axes in lines)


def placed(name: str, kind: str) -> Design:
    design = load_model(name)
    main = Pool("main", "b300-sxm", 8)
    one = {"dp": Mesh("main", (("dp", 8),)), "tp": Mesh("main", (("tp", 8),))}
    match kind:
        case "data":
            place = Placement((one["dp"],), shards(*BATCH, ("moe", "B", "dp")))
        case "tensor":
            place = Placement((one["tp"],), shards(*HEADS, *WIDTHS, ("experts", "E", "tp")))
        case "tensor, narrow experts":
            place = Placement((one["tp"],), shards(*HEADS, *WIDTHS, ("experts", "F", "tp")))
        case "data and expert":
            place = Placement((one["dp"],), shards(*BATCH, ("moe", "B", "dp"), ("experts", "E", "dp")))
        case "context":
            mesh = Mesh("main", (("dp", 4), ("cp", 2)))
            lines = shards(*BATCH, *ROWS, ("moe", "B", "dp cp"), ("experts", "E", "dp cp"))
            place = Placement((mesh,), lines)
        case "experts apart":
            meshes = (one["dp"], Mesh("far", (("ep", 8),)))
            lines = shards(*BATCH, ("moe", "B", "dp"), ("experts", "E", "ep"))
            place = Placement(meshes, lines, (("experts", "far"),))
            return design.with_(pools=(main, Pool("far", "b300-sxm", 8)), placement=place)
        case _:
            return design
    return design.with_(pools=(main,), placement=place)


KINDS = ("none", "data", "tensor", "tensor, narrow experts", "data and expert", "context", "experts apart")


def collectives(lowered: Lowered, path: str) -> Counter[str]:
    """Collectives of the unit with this path."""
    (unit,) = [u for _, u in lowered.units() if u.path == path]
    return Counter(op.operator for op in unit.ops if op.is_collective)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", model_names())
def test_lowers(name: str, kind: str) -> None:
    lowered = lower(placed(name, kind))
    ops = [op for _, unit in lowered.units() for op in unit.ops]
    written = sum(isinstance(s, Op) for _, s in walk(lowered.design.program.body))
    assert sum(not op.is_collective for op in ops) == written
    if kind in ("none", "data"):
        # Only the token ids and the noise, which enter whole, are cut.
        assert {op.operator for op in ops if op.is_collective} <= {"cut"}


def test_tensor_parallel_attention_ends_in_one_all_reduce() -> None:
    for name, path in (("llama-3.1-70b", "layer.attention"), ("deepseek-v3", "sparse.attention")):
        assert collectives(lower(placed(name, "tensor")), path) == Counter(all_reduce=1)
    # CSA adds the indexer's sum over its heads.
    v4 = lower(placed("deepseek-v4-pro", "tensor"))
    assert collectives(v4, "pair.hca.attention") == Counter(all_reduce=1)
    assert collectives(v4, "pair.csa.attention") == Counter(all_reduce=2)


def test_tensor_parallel_experts_share_one_all_reduce_with_the_shared_expert() -> None:
    for kind in ("tensor", "tensor, narrow experts"):
        assert collectives(lower(placed("deepseek-v4-pro", kind)), "pair.csa.moe") == Counter(all_reduce=1)


@pytest.mark.parametrize("kind", ["data and expert", "experts apart"])
def test_expert_parallel_dispatches_rows_ids_and_shares_and_combines_once(kind: str) -> None:
    for name, path in (("deepseek-v4-flash", "pair.hca.moe"), ("gpt-oss-120b", "pair.full.moe")):
        assert collectives(lower(placed(name, kind)), path) == Counter(dispatch=3, combine=1)


def test_context_parallel_attention_merges_log_sums() -> None:
    lowered = lower(placed("deepseek-v4-pro", "context"))
    (unit,) = [u for _, u in lowered.units() if u.path == "pair.csa.attention"]
    merged = [op for op in unit.ops if op.attribute("partial") == "lse"]
    assert [op.axes for op in merged] == [("cp",)]
    assert collectives(lowered, "pair.csa.attention")["gather_top"] == 1
    assert collectives(lowered, "pair.csa.attention")["dispatch"] == 0


def test_units_pass_on_only_what_is_read() -> None:
    lowered = lower(load_model("deepseek-v4-pro"))
    for _, unit in lowered.units():
        if unit.path.endswith(("attention", "moe")):
            assert [name for name, _ in unit.outputs] == ["x"]


@pytest.mark.parametrize("name", model_names())
def test_conventional_kernels_name_values_of_their_sections(name: str) -> None:
    design = load_model(name)
    results: dict[str, set[str]] = {}
    for path, statement in walk(design.program.body):
        if isinstance(statement, Op):
            # A kernel names its section by the name or, where two have the same, by its path.
            for section in (*path, *(".".join(path[: n + 1]) for n in range(len(path)))):
                results.setdefault(section, set()).add(statement.result)
    seen: set[tuple[str, str]] = set()
    for fusion in design.schedule.fusions:
        assert isinstance(fusion, Fusion)
        assert set(fusion.values) <= results[fusion.target]
        for value in fusion.values:
            assert (fusion.target, value) not in seen
            seen.add((fusion.target, value))


def test_equal_layers_have_equal_text() -> None:
    moes: dict[str, list[Section]] = {"pair": []}
    for path, statement in walk(load_model("deepseek-v4-pro").program.body):
        if isinstance(statement, Section) and statement.name == "moe" and path[0] == "pair":
            moes["pair"].append(statement)
    assert len(moes["pair"]) == 2
    assert moes["pair"][0] == moes["pair"][1]
