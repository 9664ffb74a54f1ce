"""Recurrent mixers: parameters and states of published models, and their placement by heads."""

from __future__ import annotations

import pytest

from catalogue.architecture import Architecture, GatedDelta, KimiDelta, Layer, Lightning, Mamba2, Mixer
from catalogue.devices import load_device
from catalogue.models.compose import compose
from catalogue.models.counts import flops_per_token, kv_bytes_per_token, parameters, state_bytes
from evaluator.evaluate import evaluate
from evaluator.scenario import Scenario
from mutations.anatomy import kinds
from mutations.verify import verify
from rooflang.design import Design, Mesh, Placement, Pool, Shard
from rooflang.lower import lower
from rooflang.parser import parse
from rooflang.printer import print_design
from rooflang.work import unit_work

VOCABULARY, LAYERS = 1000, 2

# Width, mixer, and by the shapes of the transformers library: parameters of its projections, its
# convolutions, and its vectors; elements of its recurrent state, and channels of its convolutions.
PUBLISHED: dict[str, tuple[int, Mixer, tuple[int, int, int], int, int]] = {
    "Qwen3-Next": (
        2048, GatedDelta(key_heads=16, value_heads=32, key_dim=128, value_dim=128, conv=4),
        (2048 * (12288 + 64) + 4096 * 2048, 4 * 8192, 32 + 32 + 128), 32 * 128 * 128, 8192,
    ),
    "Kimi-Linear": (
        2304, KimiDelta(heads=32, key_dim=128, value_dim=128, conv=4, gate_rank=128),
        (2304 * (3 * 4096 + 2 * 128 + 32) + 2 * 128 * 4096 + 4096 * 2304, 4 * 12288, 4096 + 32 + 128),
        32 * 128 * 128, 12288,
    ),
    "Kimi-K3": (
        7168, KimiDelta(heads=96, key_dim=128, value_dim=128, conv=4, gate_rank=None),
        (7168 * (4 * 12288 + 128 + 96) + 128 * 12288 + 12288 * 7168, 4 * 36864, 12288 + 96 + 128),
        96 * 128 * 128, 36864,
    ),
    "MiniMax-01": (
        6144, Lightning(heads=64, head_dim=128), (6144 * 32768 + 8192 * 6144, 0, 8192), 64 * 128 * 128, 0,
    ),
    "Nemotron-3 Nano": (
        2688, Mamba2(heads=64, head_dim=64, state=128, groups=8, conv=4),
        (2688 * (4096 + 6144 + 64) + 4096 * 2688, 5 * 6144, 3 * 64 + 4096), 64 * 64 * 128, 6144,
    ),
}  # fmt: skip


def model(name: str) -> Design:
    width, mixer, *_ = PUBLISHED[name]
    return compose(name, Architecture(width, VOCABULARY, (Layer(mixer, None),) * LAYERS))


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_are_those_of_the_published_model(name: str) -> None:
    width, mixer, parts, state, channels = PUBLISHED[name]
    design = model(name)
    ends = 2 * VOCABULARY * width + width
    assert parameters(design) == ends + LAYERS * (sum(parts) + width)
    assert state_bytes(design) == LAYERS * (4 * state + 2 * 3 * channels)
    assert kv_bytes_per_token(design, 4096) == 0
    delta = isinstance(mixer, GatedDelta | KimiDelta)
    recurrence = flops_per_token(design, 4096) - 2 * VOCABULARY * width - 2 * LAYERS * parts[0]
    assert recurrence == LAYERS * (7 if delta else 5) * state


@pytest.mark.parametrize("name", PUBLISHED)
def test_text_of_the_model_reads_back(name: str) -> None:
    design = model(name)
    assert parse(print_design(design)) == design


def placed(design: Design) -> Design:
    ((heads, *_),) = {p.heads for same in kinds(design.program, "attention").values() for p in same}
    shards = (Shard("mixer", "B", ("dp",)), *(Shard("mixer", d, ("tp",)) for d in heads))
    mesh = Mesh("main", (("dp", 2), ("tp", 4)))
    return design.with_(pools=(Pool("main", "h100-sxm", 8),), placement=Placement((mesh,), shards))


@pytest.mark.parametrize("name", PUBLISHED)
def test_heads_are_cut_and_the_cut_is_verified(name: str) -> None:
    design = model(name)
    verdict = verify(design, placed(design))
    assert verdict.accepted, [str(r) for r in verdict.reasons]


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("setting", ["physical", "achievable"])
def test_clocks_keep_their_order(name: str, setting: str) -> None:
    devices = {"main": load_device("h100-sxm")}
    found = evaluate(placed(model(name)), devices, Scenario(context=8192), 64.0, setting=setting)
    limit, overlapped, serial = (float(found.seconds(c)) for c in ("limit", "overlapped", "serial"))
    assert 0 < limit <= overlapped <= serial


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_step_reads_and_writes_the_state_once(name: str) -> None:
    """What the state is after each token of the step stays on chip."""
    _, _, _, state, channels = PUBLISHED[name]
    lowered = lower(placed(model(name)))
    unit = next(u for _, u in lowered.units() if u.states)
    kernels = unit_work(unit, tuple(lowered.sizes.items()), lowered.meshes)
    at = {"B": 64, "Q": 3, "S": 8192, "dp": 2, "tp": 4, "domain": 8, "innet": 0}
    read, written = (
        sum(float(moved["state"].at(**at)) for k in kernels if "state" in (moved := getattr(k.work, kind)))
        for kind in ("reads", "writes")
    )
    assert read == 64 / 2 / 4 * (4 * state + 2 * 3 * channels)
    assert written == 64 / 2 / 4 * (4 * state + 2 * 3 * channels)  # three tokens, a row each
    left = [k.work.writes.get("activation") for k in kernels]
    assert max(float(size.at(**at)) for size in left if size is not None) < 4 * state  # of one sequence
