"""Devices: golden figures, names and prefixes, a user's own file, and refusal of every malformed one."""

import copy
import dataclasses
import math
import pickle
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalogue.devices import FAMILIES, FORMATS, Device, device_names, load_device
from catalogue.devices.figures import FIGURES
from catalogue.errors import CatalogueError

NAMES = device_names()

# Typed from the vendors' tables in SI units, not computed from the files.
# bf16, fp8, fp6, fp4, int8, memory bytes, memory B/s, scale-up B/s, domain, scale-out B/s, watts
GOLDEN: dict[str, tuple[float | None, ...]] = {
    "h100-sxm": (9.894e14, 1.979e15, None, None, 1.979e15, 85899345920, 3.35e12, 4.5e11, 8, 5e10, 700),
    "h200-sxm": (9.894e14, 1.979e15, None, None, 1.979e15, 149250113536, 4.8e12, 4.5e11, 8, 5e10, 700),
    "b200-sxm": (2.25e15, 4.5e15, 4.5e15, 9e15, 4.5e15, 193273528320, 8e12, 9e11, 8, 5e10, 1000),
    "b300-sxm": (2.25e15, 4.5e15, 4.5e15, 1.35e16, 1.535e14, 288400343040, 8e12, 9e11, 8, 1e11, 1100),
    "gb300-nvl72": (2.5e15, 5e15, 5e15, 1.5e16, 1.65e14, 298013687808, 8e12, 9e11, 72, 1e11, 1400),
    "mi355x": (2.5166e15, 5.033e15, 1.0066e16, 1.0066e16, 5.033e15, 288e9, 8e12, 5.376e11, 8, 5e10, 1400),
}  # fmt: skip

# vector FLOP/s, exponentials/s, L2 bytes, host B/s, host bytes, in-network reduction, rent and cost per hour
GOLDEN_MORE = {
    "h100-sxm": (6.7e13, 3.87e12, 52428800, 6.3e10, 256000000000, True, 1.99, 1.69),
    "h200-sxm": (6.7e13, 3.87e12, 52428800, 6.3e10, 256000000000, True, 2.5, 1.74),
    "b200-sxm": (7.5e13, 4.65e12, 132120576, 6.3e10, 225000000000, True, 4.89, 2.34),
    "b300-sxm": (7.5e13, 9.6e12, 132120576, 1.28e11, 256000000000, True, 6.99, 2.808),
    "gb300-nvl72": (8e13, 1.07e13, 132120576, 2.25e11, 240000000000, True, 3.96, 3.3),
    "mi355x": (1.573e14, None, 33554432, 6.3e10, 375000000000, False, 2.1, 1.9),
}


def content(name: str = "b300-sxm") -> dict[str, Any]:
    """The parsed file of a catalogued device."""
    parsed = yaml.safe_load((files("catalogue.devices") / f"{name}.yaml").read_text(encoding="utf-8"))
    assert isinstance(parsed, dict)
    return parsed


def write(folder: Path, data: object, name: str = "own.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_figures(name: str) -> None:
    device = load_device(name)
    rates = tuple(device.flops_per_second.get(form) for form in FORMATS)
    assert (
        *rates, device.memory_bytes, device.memory_bytes_per_second, device.scale_up_bytes_per_second,
        device.scale_up_domain, device.scale_out_bytes_per_second, device.power_watts,
    ) == GOLDEN[name]  # fmt: skip
    assert (
        device.vector_flops_per_second, device.exp_per_second, device.onchip_bytes,
        device.host_bytes_per_second, device.host_memory_bytes, device.in_network_reduction,
        device.price_dollars_per_hour, device.owner_cost_dollars_per_hour,
    ) == GOLDEN_MORE[name]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_a_source_or_a_reason_why_it_is_unknown(name: str) -> None:
    device = load_device(name)
    assert device.name == name
    assert device.family in FAMILIES
    assert not set(device.sources) & set(device.unknown)
    for key in {figure.field for figure in FIGURES} | {"in_network_reduction"}:
        if key.startswith("flops_per_second."):
            known = key.partition(".")[2] in device.flops_per_second
        else:
            known = getattr(device, key) is not None
            assert known != (key in device.unknown), key
        assert known == (key in device.sources), key
        told = device.sources if known else device.unknown
        assert len(told.get(key, "a format that it lacks")) > 3
        assert known or key not in device.alternatives
    assert all(other.source for others in device.alternatives.values() for other in others)


def numbers(device: Device) -> list[float]:
    """Every number that a device states."""
    values = [getattr(device, f.name) for f in dataclasses.fields(device)]
    found = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return [*found, *device.flops_per_second.values()]


@pytest.mark.parametrize("name", NAMES)
def test_no_figure_is_zero_or_infinite(name: str) -> None:
    assert all(0 < value < math.inf for value in numbers(load_device(name)))


def test_recollection_is_said() -> None:
    """Figures that nobody could check say so in their source."""
    for name, key in (("tpu-v5p", "price_dollars_per_hour"), ("rtx-5090", "flops_per_second.bf16"),
                      ("h20", "power_watts")):  # fmt: skip
        assert "recollection" in load_device(name).sources[key]


def test_a_format_of_unknown_rate_is_told_from_one_that_is_missing() -> None:
    h100, mi455x = load_device("h100"), load_device("mi455x")
    assert "flops_per_second.fp4" not in h100.unknown  # it has no such tensor cores
    assert "sparse" in mi455x.unknown["flops_per_second.fp4"]
    assert "fp4" not in mi455x.flops_per_second


@pytest.mark.parametrize("name", NAMES)
def test_sources_name_no_address(name: str) -> None:
    text = (files("catalogue.devices") / f"{name}.yaml").read_text(encoding="utf-8")
    assert "://" not in text
    assert "www." not in text


@pytest.mark.parametrize("name", NAMES)
def test_onchip_total_holds_the_cache(name: str) -> None:
    device = load_device(name)
    if device.onchip_bytes is not None:
        assert device.onchip_total_bytes is not None
        assert device.onchip_bytes <= device.onchip_total_bytes < 1e9


def test_the_label_stands_in_for_unknown_usable_memory(tmp_path: Path) -> None:
    data = content()
    data["figures"]["usable_memory_gb"]["value"] = None
    assert load_device(write(tmp_path, data)).memory_bytes == 288_000_000_000
    assert load_device("b300").alternatives["memory_bytes"][0].value == 288e9


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("b300", "b300-sxm"),
        ("gb300", "gb300-nvl72"),
        ("H200", "h200-sxm"),
        ("mi355", "mi355x"),
        ("b2", "b200-sxm"),
        ("h100", "h100-sxm"),
        ("cer", "cerebras-wse3"),
    ],
)
def test_unique_prefix(prefix: str, name: str) -> None:
    assert load_device(prefix) is load_device(name)


def test_ambiguous_prefix() -> None:
    with pytest.raises(CatalogueError, match="must match one device, but 'b' matches b200-sxm, b300-sxm"):
        load_device("b")


@pytest.mark.parametrize("name", ["", "  ", "b400-sxm", "../b300-sxm", "h100-sxm\n1", "*"])
def test_unknown_name(name: str) -> None:
    with pytest.raises(CatalogueError, match="a device must be one that `seis devices` lists"):
        load_device(name)


def test_unknown_name_suggests_nearest() -> None:
    with pytest.raises(CatalogueError, match=r"did you mean .*b200-sxm"):
        load_device("b20-sxm")


def test_own_file(tmp_path: Path) -> None:
    data = content()
    data |= {"name": "my-device", "family": "other"}
    data["figures"]["memory_tb_per_s"] = {"value": 16, "source": "a wish"}
    path = write(tmp_path, data)
    device = load_device(path)
    assert device == load_device(str(path))
    assert (device.name, device.memory_bytes_per_second) == ("my-device", 16e12)
    assert device.sources["memory_bytes_per_second"] == "a wish"
    assert device.content_hash != load_device("b300").content_hash


def test_own_file_needs_only_the_capacity(tmp_path: Path) -> None:
    data = content()
    data["figures"] = {"nominal_memory_gb": data["figures"]["nominal_memory_gb"]}
    del data["notes"], data["as_of"], data["title"], data["family"]
    device = load_device(write(tmp_path, data))
    assert numbers(device) == [288e9]
    assert (device.family, device.title) == ("other", "b300-sxm")
    assert device.lacks("power_watts") == "b300-sxm has no known power (not published)"
    assert set(device.unknown) == {f.field for f in FIGURES if "flops_per_second." not in f.field} - {
        "memory_bytes"
    } | {"in_network_reduction"}


def test_null_says_why(tmp_path: Path) -> None:
    device = load_device(write(tmp_path, edited("power_watts", {"value": None, "source": "under wraps"})))
    assert device.power_watts is None
    assert device.lacks("power_watts") == "b300-sxm has no known power (under wraps)"


def test_scaled_leaves_the_unknown_unknown() -> None:
    device = load_device("tpu-8t")
    assert device.scaled("scale_up_bytes_per_second", 0.5) == device
    assert device.scaled("flops_per_second", 0.5).flops_per_second == {"fp4": 6.3e15}
    assert device.scaled("memory_bytes_per_second", 0.5).memory_bytes_per_second == 3.264e12


def figure(value: object) -> dict[str, object]:
    return {"value": value, "source": "x"}


def edited(key: str, entry: object) -> dict[str, Any]:
    data = content()
    data["figures"][key] = entry
    return data


def without(*keys: str) -> dict[str, Any]:
    data = content()
    for key in keys:
        del data["figures"][key]
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (without("nominal_memory_gb", "usable_memory_gb"), "nominal_memory_gb or usable_memory_gb must be"),
        (edited("power_watts", figure(-5)), "power_watts must lie between"),
        (edited("power_watts", figure(math.nan)), "power_watts must be a finite number"),
        (edited("power_watts", figure(math.inf)), "power_watts must be a finite number"),
        (edited("power_watts", figure("700 W")), "power_watts must be a number of W"),
        (edited("power_watts", figure(True)), "power_watts must be a number of W"),
        (edited("power_watts", figure(10**400)), "power_watts must lie between"),
        (edited("power_watts", {"value": 700}), "power_watts: source must be text"),
        (edited("power_watts", {"value": 700, "source": "  "}), "power_watts: source must be text"),
        (edited("power_watts", {"source": "x"}), "power_watts must have value, source"),
        (
            edited("power_watts", {"value": 700, "source": "x", "unit": "W"}),
            "power_watts must have value, source",
        ),
        (edited("power_watts", 700), "power_watts must be a mapping"),
        (
            edited("power_watts", {"value": 7, "source": "x", "alternatives": 8}),
            "must have a list of alternatives",
        ),
        (
            edited("power_watts", {"value": 7, "source": "x", "alternatives": [8]}),
            "an alternative must be a mapping",
        ),
        (
            edited("price_usd_per_hour", {"value": 2, "source": "x", "alternatives": [{"source": "y"}]}),
            "null",
        ),
        (edited("scale_up_domain", figure(7.5)), "whole number of devices"),
        (edited("in_network_reduction", figure("yes")), "must be true or false"),
        # Slips of units.
        (edited("memory_gb_per_s", figure(8000)), "did you mean .*memory_tb_per_s"),
        (edited("memory_tb_per_s", figure(8000)), "bf16_tflops / memory_tb_per_s must lie between"),
        (edited("memory_tb_per_s", figure(8e12)), "check the unit"),
        (edited("bf16_tflops", figure(2.25)), "vector_fp32_tflops must not exceed bf16_tflops"),
        (edited("fp8_tflops", figure(4.5)), "bf16_tflops must not exceed fp8_tflops"),
        (edited("usable_memory_gb", figure(400)), "usable_memory_gb must not exceed"),
        (edited("l2_cache_mib", figure(300)), "l2_cache_mib must not exceed onchip_total_mib"),
        (edited("scale_up_pair_gb_per_s", figure(1800)), "scale_up_pair_gb_per_s must not exceed"),
        (edited("vector_fp32_tflops", figure(0.1)), None),
        ({**content(), "figures": []}, "figures must be a mapping"),
        ({**content(), "figure": {}}, "but got 'figure'; did you mean figures"),
        ({**content(), "name": "B 300"}, "name must use lower-case"),
        ({**content(), "name": 3}, "name must be text"),
        ({**content(), "title": 3}, "title must be text"),
        ({**content(), "as_of": 3}, "as_of must be text"),
        ({**content(), "family": "hoper"}, "family must be one of"),
        ({**content(), "notes": "none"}, "notes must be a list"),
        (edited("power_watts", figure(0)), "leave out what is not known"),
        ({**content(), "notes": [1]}, "each of notes must be text"),
        ({"name": "own", 7: 8}, "must have text as keys"),
        ([], "must be a mapping"),
        (None, "must be a mapping"),
    ],
)
def test_malformed_file(tmp_path: Path, data: object, message: str | None) -> None:
    path = write(tmp_path, data)
    if message is None:
        assert isinstance(load_device(path), Device)
        return
    with pytest.raises(CatalogueError, match=message) as caught:
        load_device(path)
    assert "own.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_flops_per_byte_must_be_believable(tmp_path: Path) -> None:
    data = edited("bf16_tflops", {"value": 0.2, "source": "x"})
    data["figures"]["vector_fp32_tflops"]["value"] = 0.1
    with pytest.raises(CatalogueError, match="FLOP per byte"):
        load_device(write(tmp_path, data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "must be YAML"),
        ("name: a\nname: b\n", "the key 'name' is given twice"),
        ("a: !!python/object:os.system {}", "must be YAML"),
        ("as_of: 2026-13-45", "must be YAML"),
        ("? [a, b]\n: c", "must be"),
        ("? {a: b}\n: c", "must be YAML"),
        ("&a [*a]", "must be a mapping"),
        ("[" * 5000, "must be YAML"),
        ("", "must be a mapping"),
        ("\x00", "must be YAML"),
        ("x" * 1_000_001, "must hold at most"),
    ],
)
def test_text_that_is_no_device(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError, match=message):
        load_device(path)


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="must be a readable file, but got: No such file"):
        load_device(tmp_path / "absent.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(CatalogueError, match="must be a readable file, but got: Is a directory"):
        load_device(tmp_path / "folder.yaml")
    with pytest.raises(CatalogueError, match="embedded null"):
        load_device("nul\0.yaml")


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mutated_file_is_loaded_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """One byte range of the text, or one node of the content, replaced: a Device or a CatalogueError."""
    path = tmp_path / "own.yaml"
    if data.draw(st.booleans(), label="mutate the text"):
        raw = (files("catalogue.devices") / "mi355x.yaml").read_bytes()
        start = data.draw(st.integers(0, len(raw)))
        length = data.draw(st.integers(0, 40))
        path.write_bytes(raw[:start] + data.draw(st.binary(max_size=12)) + raw[start + length :])
    else:
        tree = copy.deepcopy(content("mi355x"))
        scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
        value = data.draw(
            st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(scalars, inner))
        )
        node: dict[Any, Any] = tree
        while True:
            key = data.draw(st.sampled_from(list(node)))
            if not isinstance(node[key], dict) or data.draw(st.booleans()):
                node[key] = value
                break
            node = node[key]
        write(tmp_path, tree)
    with suppress(CatalogueError):
        device = load_device(path)
        assert all(0 < number < math.inf for number in numbers(device))
        assert len(device.content_hash) == 64


def test_content_hash_follows_figures_alone() -> None:
    device = load_device("b300")
    assert dataclasses.replace(device, notes=("new",), sources={}).content_hash == device.content_hash
    faster = dataclasses.replace(device, memory_bytes_per_second=9e12)
    assert faster.content_hash != device.content_hash
    assert len({load_device(name).content_hash for name in NAMES}) == len(NAMES)


def test_device_is_a_plain_value() -> None:
    device = load_device("b300")
    assert pickle.loads(pickle.dumps(device)) == copy.deepcopy(device) == device
    assert hash(device) == hash(copy.deepcopy(device))
    assert dataclasses.asdict(device)["name"] == "b300-sxm"
    with pytest.raises(dataclasses.FrozenInstanceError):
        device.power_watts = 1.0  # type: ignore[misc]
