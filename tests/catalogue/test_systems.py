"""Systems: they resolve to devices with links of their own, and malformed ones are refused."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogue.devices import device_names, load_device
from catalogue.efficiency import efficiency_for
from catalogue.errors import CatalogueError, CatalogueFileError
from catalogue.systems import load_system, system_names


@pytest.mark.parametrize("name", system_names())
def test_a_system_is_devices_with_links(name: str) -> None:
    system = load_system(name)
    device, base = system.accelerator, load_device(system.device)
    assert (system.name, device.name, device.chip) == (name, name, base.name)
    assert name not in device_names()
    assert device.scale_up_domain is not None
    assert device.scale_up_domain <= system.devices
    assert device.scale_up_bytes_per_second is not None
    assert device.flops_per_second == base.flops_per_second
    assert device.memory_bytes == base.memory_bytes
    assert not set(device.sources) & set(device.unknown)
    assert all(device.sources[key] for key in system.stated if getattr(device, key) is not None)
    assert len(system.source) > 3
    assert "://" not in (files("catalogue.systems") / f"{name}.yaml").read_text(encoding="utf-8")


def test_what_a_system_states_replaces_the_device() -> None:
    rack, chip = load_system("nvl72-rubin").accelerator, load_device("rubin-r200")
    assert (rack.memory_bytes_per_second, chip.memory_bytes_per_second) == (19.2e12, 22e12)
    assert [a.value for a in rack.alternatives["memory_bytes_per_second"]] == [22e12]
    assert "NVL72" in rack.sources["memory_bytes_per_second"]
    assert rack.content_hash != chip.content_hash
    instance = load_device("instance-trn2")
    assert (instance.scale_up_domain, load_device("ultraserver-trn2").scale_up_domain) == (16, 64)


def test_a_system_is_a_device_by_name_and_prefix() -> None:
    assert load_device("hgx-h100") is load_system("hgx-h100").accelerator
    assert load_device("spark") is load_system("spark-pair").accelerator
    assert efficiency_for(load_device("nvl72-gb300")) == efficiency_for(load_device("gb300"))


def test_unknown_system() -> None:
    with pytest.raises(CatalogueError, match="did you mean hgx-h100"):
        load_system("hgx-h1000")


def own(**changes: Any) -> dict[str, Any]:
    found = {
        "name": "own", "device": "l40s", "devices": 4, "topology": "pcie", "layout": "one host",
        "source": "a wish",
        "figures": {"scale_up_domain": {"value": 4, "source": "a wish"},
                    "scale_out_gb_per_s": {"value": 25, "source": "a wish"}},
    } | changes  # fmt: skip
    return {k: v for k, v in found.items() if v is not None}


def write(folder: Path, data: object) -> Path:
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def test_own_system(tmp_path: Path) -> None:
    device = load_device(write(tmp_path, own()))
    assert (device.name, device.chip, device.scale_up_domain) == ("own", "l40s", 4)
    assert device.scale_out_bytes_per_second == 25e9
    assert device.sources["scale_out_bytes_per_second"] == "a wish"
    assert "scale_out_bytes_per_second" not in device.unknown


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices": 0}, "devices must be a whole number of at least 1"),
        ({"devices": True}, "devices must be a whole number"),
        ({"devices": 2}, "scale_up_domain must be known and at most devices = 2, but is 4"),
        ({"device": "groq-lpu-v1", "figures": {}}, "scale_up_domain must be known"),
        ({"topology": "star"}, "topology must be one of switched, mesh"),
        ({"layout": None}, "layout must be text"),
        ({"source": None}, "source must be text"),
        ({"figures": {"scale_up_domain": {"value": 4}}}, "source must be text"),
        ({"figures": {"bf16_tflops": {"value": 4, "source": "x"}}}, "figures of a system must be links"),
        ({"figures": {"nominal_memory_gb": {"value": 4, "source": "x"}}}, "figures of a system must be"),
        ({"domain": 8}, "must use the keys"),
    ],
)
def test_malformed_system(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CatalogueFileError, match=message) as caught:
        load_device(write(tmp_path, own(**changes)))
    assert "own.yaml" in str(caught.value)


def test_a_system_of_an_unknown_device(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="did you mean l40s"):
        load_device(write(tmp_path, own(device="l40t")))
