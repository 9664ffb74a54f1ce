"""Golden numbers: what the programs count, beside counts made independently from the configurations."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import pytest

from catalogue.errors import CatalogueError
from catalogue.models import describe, load_model, model_names
from catalogue.models.counts import (
    active_parameters,
    flops_per_token,
    kv_bytes_per_token,
    mtp_parameters,
    parameters,
    state_bytes,
)
from catalogue.models.layers import runs
from rooflang.design import Repeat, Weight, walk
from rooflang.dtype import format_of
from rooflang.parser import parse
from rooflang.printer import print_design
from rooflang.typing import type_program

# Total and active parameters, parameters of the draft (0: not counted), bytes of fixed states per sequence;
# cache bytes per token and FLOPs, one figure per context. V4.1 without its engram tables.
_FILE = json.loads((Path(__file__).parent / "golden.json").read_text())
CONTEXTS, GOLDEN = _FILE["contexts"], _FILE["models"]
# Published, for models that the independent count lacks: parameters in all, and active with the embedding.
PUBLISHED = {"gemma-4-26b-a4b": (25.2e9, 3.8e9)}
# The independent count takes a draft for one layer without an indexer, or for its stages' other norms.
OTHER_DRAFTS = {"glm-5.2", "glm-5.3", "deepseek-v4.1-flash"}


def test_every_model_has_golden_numbers() -> None:
    assert set(model_names()) == {*GOLDEN, *PUBLISHED}


@pytest.mark.parametrize("name", GOLDEN)
def test_parameters(name: str) -> None:
    """Exact but for what tells generations apart: norms of index keys and latents, gates of V4.1's rows."""
    design, golden = load_model(name), GOLDEN[name]
    assert parameters(design) == pytest.approx(golden["total"], rel=1e-5)
    assert active_parameters(design) == pytest.approx(golden["active"], rel=3e-4)
    if golden["draft"]:
        exact = 1e-2 if name in OTHER_DRAFTS else 1e-7
        assert mtp_parameters(design) == pytest.approx(golden["draft"], rel=exact)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_parameters(name: str) -> None:
    design, (total, active) = load_model(name), PUBLISHED[name]
    assert parameters(design) == pytest.approx(total, rel=2e-3)
    assert active_parameters(design) == pytest.approx(active, rel=1e-2)


@pytest.mark.parametrize("name", GOLDEN)
def test_cache_bytes(name: str) -> None:
    """V4.1 keeps two raw rows for each pair of tokens at three layers, which the other count leaves out."""
    golden = GOLDEN[name]
    served, plain = load_model(name), load_model(name, kv="bf16")
    assert [kv_bytes_per_token(served, c) for c in CONTEXTS] == pytest.approx(golden["kv_served"], rel=1e-9)
    assert [kv_bytes_per_token(plain, c) for c in CONTEXTS] == pytest.approx(golden["kv_bf16"], rel=1e-9)
    raw = 3 * 2 * 2 * (512 + 128) * 4 if name == "deepseek-v4.1-flash" else 0
    assert state_bytes(served) == state_bytes(plain) == golden["state"] + raw


@pytest.mark.parametrize("name", GOLDEN)
def test_flops(name: str) -> None:
    """To 0.03 %: the other count takes DeepSeek-V4's 5 offsets and scale of the head mix for matrices (10
    FLOPs), short convolutions too, and leaves out gpt-oss's down biases, which the program sums over the
    chosen experts as a product."""
    design = load_model(name)
    assert [flops_per_token(design, c) for c in CONTEXTS] == pytest.approx(GOLDEN[name]["flops"], rel=3e-4)


def test_v4_cache_against_v32() -> None:
    """One sequence of 1,048,576 tokens: 9.62 GiB against 83.9 GiB in bf16 (vLLM blog, 2026-04-24); served,
    about 10 % (Pro) and 7 % (Flash) of V3.2; about 2 % of a bf16 GQA-8 cache of the same depth (arXiv
    2606.19348)."""
    context, gib = 1 << 20, 1 << 30
    pro, flash = load_model("deepseek-v4-pro"), load_model("deepseek-v4-flash")
    plain = load_model("deepseek-v4-pro", kv="bf16")
    v32_plain, v32_served = 61 * (576 * 2 + 128 * 2), 61 * (656 + 132)
    assert kv_bytes_per_token(plain, context) * context / gib == pytest.approx(9.62, abs=0.01)
    assert v32_plain * context / gib == pytest.approx(83.9, abs=0.05)
    assert kv_bytes_per_token(pro, context) / v32_served == pytest.approx(0.10, abs=0.006)
    assert kv_bytes_per_token(flash, context) / v32_served == pytest.approx(0.07, abs=0.006)
    for design, depth in ((pro, 61), (flash, 43)):
        assert kv_bytes_per_token(design, context) / (depth * 8 * 128 * 2 * 2) == pytest.approx(
            0.02, abs=0.001
        )


@pytest.mark.parametrize(("name", "gigabytes"), [("deepseek-v4-pro", 864.7), ("deepseek-v4-flash", 159.6)])
def test_weight_bytes_are_those_of_the_checkpoint(name: str, gigabytes: float) -> None:
    """Published sizes are about 865 GB and 160 GB, draft layer included."""
    program = load_model(name).program
    counts = {s.name: s.count for s in program.body if isinstance(s, Repeat)}
    total = 0.0
    for path, statement in walk(program.body):
        if isinstance(statement, Weight):
            sizes = [program.sizes[d].at() for d in statement.dims]
            layers = counts.get(path[0], 1)
            total += layers * float(prod(sizes) * format_of(statement.dtype).bytes)
    assert total / 1e9 == pytest.approx(gigabytes, abs=0.05)


def test_layers_are_grouped_by_the_shortest_spelling() -> None:
    assert runs(tuple("aabcbcbcd")) == [(("a",), 2), (("b", "c"), 3), (("d",), 1)]
    assert runs(tuple("aaab" * 5)) == [(("a", "a", "a", "b"), 5)]
    assert runs(()) == []
    layers = {
        "deepseek-v4-pro": [("hca_hash", 2), ("csa_hash", 1), ("pair", 29), ("mtp", 1)],
        "deepseek-v4-flash": [("swa_hash", 2), ("csa_hash", 1), ("pair", 20), ("mtp", 1)],
        "deepseek-v3": [("dense", 3), ("sparse", 58), ("mtp", 1)],
        "gpt-oss-120b": [("pair", 18)],
        "llama-3.1-70b": [("layer", 80)],
        "mimo-v2-flash": [
            ("full_dense", 1),
            ("sliding_sparse", 4),
            ("full_sparse", 1),
            ("group", 7),
        ],
        "qwen3-next-80b-a3b": [("group", 12)],
    }
    for name, expected in layers.items():
        body = load_model(name).program.body
        assert [(r.name, r.count) for r in body if isinstance(r, Repeat)] == expected


@pytest.mark.parametrize("kv", ["served", "bf16"])
@pytest.mark.parametrize("name", model_names())
def test_programs_are_well_typed_and_print(name: str, kv: str) -> None:
    design = load_model(name, kv=kv)  # type: ignore[arg-type]
    types = type_program(design.program)
    assert types["next"].dtype == "index<V>"
    assert not design.pools
    assert not design.placement.meshes
    assert parse(print_design(design)) == design


@pytest.mark.parametrize("name", model_names())
def test_every_model_states_source_precision_and_what_is_inferred(name: str) -> None:
    found = describe(name)
    assert found.source
    assert found.precision
    assert all(sentence.endswith(".") for sentence in found.inferred)


def test_names() -> None:
    assert load_model("step") is load_model("step-3")
    assert load_model("deepseek-v4-f") is load_model("deepseek-v4-flash")
    with pytest.raises(CatalogueError, match=r"llama-3.1-405b, llama-3.1-70b, .*; write more"):
        load_model("llama")
    with pytest.raises(CatalogueError, match="did you mean deepseek-v4-pro"):
        load_model("deepsek-v4-pro")
    with pytest.raises(CatalogueError, match="seis models"):
        load_model("")
    with pytest.raises(CatalogueError, match="'served' or 'bf16'"):
        load_model("llama-3.1-8b", kv="int4")  # type: ignore[arg-type]
