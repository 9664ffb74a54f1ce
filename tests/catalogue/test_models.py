"""Golden numbers: what the programs count, beside counts made independently from the configurations."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import pytest

from catalogue.errors import CatalogueError
from catalogue.models import load_model, model_names
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
from rooflang.typing import type_program

CONTEXTS = (4096, 32768, 131072, 1048576)


@dataclass(frozen=True)
class Golden:
    """Typed from an independent count; `kv_*` in bytes per token and `flops`, one figure per context."""

    total: int
    active: int
    draft: int
    fixed: int
    kv_bf16: tuple[float, ...]
    kv_served: tuple[float, ...]
    flops: tuple[int, ...]


GOLDEN = {
    "deepseek-v4-pro": Golden(
        1572997201763,
        48852402019,
        25840145979,
        18710528,
        (11800.0, 10092.0, 9909.0, 9855.625),
        (6144.6875, 5170.59375, 5066.2265625, 5035.7861328125),
        (108561530890, 113905074186, 132225794058, 303219179530),
    ),
    "deepseek-v4-flash": Golden(
        284332240471,
        13270101591,
        6610048891,
        12206080,
        (8256.0, 7052.0, 6923.0, 6885.375),
        (4299.0, 3612.34375, 3538.7734375, 3517.3154296875),
        (29103357962, 32156811274, 42625794058, 140336300042),
    ),
    "deepseek-v3": Golden(
        671026419200,
        36625618432,
        11610068224,
        0,
        (70272.0,) * 4,
        (35136.0,) * 4,
        (142841085952, 629984329728, 2300189736960, 17888773537792),
    ),
    "gpt-oss-120b": Golden(
        116829156672,
        5132849472,
        0,
        0,
        (38016.0, 37008.0, 36900.0, 36868.5),
        (19008.0, 18504.0, 18450.0, 18434.25),
        (11507908608, 19963625472, 48954654720, 319537594368),
    ),
    "llama-3.1-70b": Golden(
        70553706496,
        69503033344,
        0,
        0,
        (327680.0,) * 4,
        (163840.0,) * 4,
        (149740847104, 224902774784, 482600812544, 2887782498304),
    ),
}


def test_every_model_has_golden_numbers() -> None:
    assert set(model_names()) == set(GOLDEN)


@pytest.mark.parametrize("name", GOLDEN)
def test_parameters(name: str) -> None:
    design, golden = load_model(name), GOLDEN[name]
    assert parameters(design) == golden.total
    assert active_parameters(design) == golden.active
    assert mtp_parameters(design) == golden.draft


@pytest.mark.parametrize("name", GOLDEN)
def test_cache_bytes(name: str) -> None:
    golden = GOLDEN[name]
    served, plain = load_model(name), load_model(name, kv="bf16")
    assert [kv_bytes_per_token(served, c) for c in CONTEXTS] == pytest.approx(golden.kv_served, rel=1e-9)
    assert [kv_bytes_per_token(plain, c) for c in CONTEXTS] == pytest.approx(golden.kv_bf16, rel=1e-9)
    assert state_bytes(served) == state_bytes(plain) == golden.fixed


@pytest.mark.parametrize("name", GOLDEN)
def test_flops(name: str) -> None:
    """Exact but for two things: the golden count takes the 5 offsets and the scale of DeepSeek-V4's head mix
    for matrices (10 FLOPs), and leaves out gpt-oss's down biases, which the program sums over the chosen
    experts as a product (36 layers x 4 experts x 2880 x 2)."""
    design = load_model(name)
    extra = {"deepseek-v4-pro": -10, "deepseek-v4-flash": -10, "gpt-oss-120b": 36 * 4 * 2880 * 2}.get(name, 0)
    assert [flops_per_token(design, c) - extra for c in CONTEXTS] == list(GOLDEN[name].flops)


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


def test_layers_are_grouped_by_the_longest_period() -> None:
    assert runs(tuple("aabcbcbcd")) == [(("a",), 2), (("b", "c"), 3), (("d",), 1)]
    assert runs(()) == []
    layers = {
        "deepseek-v4-pro": [("hca_hash", 2), ("csa_hash", 1), ("pair", 29), ("mtp", 1)],
        "deepseek-v4-flash": [("swa_hash", 2), ("csa_hash", 1), ("pair", 20), ("mtp", 1)],
        "deepseek-v3": [("dense", 3), ("sparse", 58), ("mtp", 1)],
        "gpt-oss-120b": [("pair", 18)],
        "llama-3.1-70b": [("layer", 80)],
    }
    for name, expected in layers.items():
        body = load_model(name).program.body
        assert [(r.name, r.count) for r in body if isinstance(r, Repeat)] == expected


@pytest.mark.parametrize("kv", ["served", "bf16"])
@pytest.mark.parametrize("name", GOLDEN)
def test_programs_are_well_typed(name: str, kv: str) -> None:
    design = load_model(name, kv=kv)  # type: ignore[arg-type]
    types = type_program(design.program)
    assert types["next"].dtype == "index<V>"
    assert not design.pools
    assert not design.placement.meshes


def test_names() -> None:
    assert load_model("llama") is load_model("llama-3.1-70b")
    with pytest.raises(CatalogueError, match=r"deepseek-v4-flash, deepseek-v4-pro; write more"):
        load_model("deepseek-v4")
    with pytest.raises(CatalogueError, match="did you mean deepseek-v4-pro"):
        load_model("deepsek-v4-pro")
    with pytest.raises(CatalogueError, match="known are deepseek-v3"):
        load_model("")
    with pytest.raises(CatalogueError, match="'served' or 'bf16'"):
        load_model("llama", kv="int4")  # type: ignore[arg-type]
