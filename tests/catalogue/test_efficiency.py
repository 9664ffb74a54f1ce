"""Efficiency: golden values, order of overrides, and every value within its spread and with a source."""

import dataclasses
import pickle
from pathlib import Path

import pytest

import catalogue.efficiency
from catalogue.devices import FAMILIES, FORMATS, device_names, load_device
from catalogue.efficiency import PHYSICAL, Efficiency, efficiency_for
from catalogue.errors import CatalogueError

PROSE = ("sources", "spreads", "scopes")
NUMBERS = [field.name for field in dataclasses.fields(Efficiency) if field.name not in PROSE]


def flat(efficiency: Efficiency) -> dict[str, float]:
    """Every number by its key in `sources`."""
    found: dict[str, float] = {}
    for name in NUMBERS:
        value = getattr(efficiency, name)
        found |= (
            {f"{name}.{form}": v for form, v in value.items()} if isinstance(value, dict) else {name: value}
        )
    return found


@pytest.mark.parametrize("name", device_names())
def test_every_value_has_a_source_and_lies_in_its_spread(name: str) -> None:
    efficiency = efficiency_for(load_device(name))
    values = flat(efficiency)
    assert set(values) == set(efficiency.sources) == set(efficiency.spreads)
    for key, value in values.items():
        low, high = efficiency.spreads[key]
        assert 0 < low <= value <= high <= 1
        assert len(efficiency.sources[key]) > 3


def test_golden_values() -> None:
    b300, b200 = efficiency_for(load_device("b300")), efficiency_for(load_device("b200"))
    h100, gb300 = efficiency_for(load_device("h100")), efficiency_for(load_device("gb300"))
    mi355x = efficiency_for(load_device("mi355x"))
    assert b300.gemm_flops_fraction == {"bf16": 0.73, "fp8": 0.62, "fp6": 0.62, "fp4": 0.38, "int8": 0.62}
    assert (b200.gemm_flops_fraction["fp4"], h100.gemm_flops_fraction["bf16"]) == (0.5, 0.79)
    assert (h100.gemm_flops_fraction["fp8"], mi355x.gemm_flops_fraction["bf16"]) == (0.65, 0.62)
    assert [b300.weight_stream_fraction[form] for form in ("bf16", "fp8", "fp4")] == [0.83, 0.78, 0.69]
    assert (b300.stream_fraction, b300.grouped_weight_stream_fraction) == (0.9, 0.67)
    assert (b200.attention_flops_fraction, b300.attention_flops_fraction) == (0.6, 0.65)
    assert (b300.scale_up_fraction, b300.scale_out_fraction) == (0.7, 0.85)
    assert (b300.scale_up_latency_seconds, b300.scale_out_latency_seconds) == (5e-6, 20e-6)
    assert (b300.kernel_gap_seconds, b300.kernel_floor_seconds) == (1e-6, 4e-6)
    assert (b300.host_fraction, gb300.host_fraction) == (0.88, 0.8)


def test_in_network_all_reduce_matches_measured_bus_bandwidth() -> None:
    """134,217,728 bytes on eight H100 take about 577 us, on eight B300 about 397 us."""
    for name, seconds in (("h100", 577e-6), ("b300", 397e-6)):
        device = load_device(name)
        efficiency = efficiency_for(device)
        rate = efficiency.in_network_all_reduce_fraction * device.scale_up_bytes_per_second
        predicted = efficiency.scale_up_latency_seconds + 134_217_728 / rate
        assert predicted == pytest.approx(seconds, rel=0.2)


def test_unknown_device_gets_the_defaults() -> None:
    own = dataclasses.replace(load_device("h100"), name="own", family="other")
    assert efficiency_for(own) == efficiency_for(load_device("b200"))


def test_physical_is_the_published_limit() -> None:
    for key, value in flat(PHYSICAL).items():
        assert value == (0.0 if key.endswith("_seconds") else 1.0)
    assert set(PHYSICAL.gemm_flops_fraction) == set(FORMATS)
    assert pickle.loads(pickle.dumps(PHYSICAL)) == PHYSICAL


GOOD = '{value: 0.5, spread: [0.4, 0.6], source: "x"}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default: {}\n", "default must have"),
        ("default: []\n", "default must be a mapping"),
        (
            f"default: {{host_fractoin: {GOOD}}}\n",
            "known keys, but got 'host_fractoin'; did you mean host_fraction",
        ),
        ("default: {host_fraction: 0.5}\n", "host_fraction must be a mapping"),
        ("default: {host_fraction: {value: 0.5, spread: [0.4, 0.6]}}\n", "must have a source"),
        ("default: {host_fraction: {value: 0.7, spread: [0.4, 0.6], source: x}}\n", "within its spread"),
        ("default: {host_fraction: {value: 1.5, spread: [0.4, 1.6], source: x}}\n", "a fraction up to 1.0"),
        ("default: {host_fraction: {value: .nan, spread: [0.4, 0.6], source: x}}\n", "within its spread"),
        ("default: {kernel_gap_seconds: {value: 1.0, spread: [0.5, 2.0], source: x}}\n", "seconds up to"),
    ],
)
def test_malformed_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    (tmp_path / "efficiency.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(catalogue.efficiency, "files", lambda _: tmp_path)
    with pytest.raises(CatalogueError, match=message):
        catalogue.efficiency._table.__wrapped__()


def test_every_family_has_entries_of_its_own() -> None:
    """`default` is what Blackwell reaches; elsewhere it must be said whose measurement is taken."""
    table = catalogue.efficiency._table()
    families = {name.partition(".")[2] for name in table if name.startswith("families.")}
    assert families == set(FAMILIES) - {"blackwell", "other"}
    devices = {name.partition(".")[2] for name in table if name.startswith("devices.")}
    assert devices <= set(device_names())


def test_what_nobody_measured_has_a_wide_spread() -> None:
    measured, tpu = efficiency_for(load_device("b200")), efficiency_for(load_device("tpu-v5p"))
    assert set(tpu.scopes.values()) == {"families.tpu"}
    assert all("no measurement" in source for source in tpu.sources.values())
    for key, (low, high) in measured.spreads.items():
        assert tpu.spreads[key][0] <= low
        assert high <= tpu.spreads[key][1] or key.startswith("attention")
