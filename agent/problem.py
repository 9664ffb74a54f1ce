"""What is searched for: a model on a number of devices under a scenario."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any

from agent.errors import ProblemError
from agent.versions import evaluator_version
from catalogue.devices import Device, load_device
from catalogue.huggingface import is_config
from catalogue.models import load_model
from catalogue.models.caches import Kv
from catalogue.models.facts import full_name
from evaluator.clocks import CLOCKS
from evaluator.rates import SETTINGS
from evaluator.scenario import Scenario
from evaluator.sweep import Grid, standard_grid
from mutations.device_kinds import SAME, device_kind
from mutations.registry import rules
from mutations.rule import Rule
from rooflang.canonical import structure_hash
from rooflang.design import Design, Mesh, Pool
from rooflang.parser import parse
from rooflang.size import Size, rebuild


@dataclass(frozen=True, slots=True)
class Problem:
    """One search. Names of model and device may be abbreviated; a model may be the path of a config.json,
    a device a `.yaml` file.

    `setting` and `clock` are those that designs are ranked by; `kv` is the caches' storage. `others` are
    further kinds of devices that pools beyond a design's first may have; devices then count by their price.
    With `text`, the RoofLang text of what must be computed, `model` is only its name, which must be its own.
    Raises CatalogueError for an unknown name and ProblemError for anything else that does not exist.
    """

    model: str
    device: str
    count: int = 8
    scenario: Scenario = field(default_factory=Scenario)
    setting: str = "achievable"
    clock: str = "overlapped"
    seed: int = 0
    kv: Kv = "served"
    text: str = field(default="", repr=False)
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "model", full_name(self.model))
        if not str(self.device).endswith((".yaml", ".yml")):
            object.__setattr__(self, "device", load_device(self.device).name)
        object.__setattr__(self, "others", tuple(load_device(d).name for d in self.others))
        if self.count < 1:
            raise ProblemError(f"a search must have at least 1 device, but got {self.count}; give more")
        if self.clock not in CLOCKS:
            raise ProblemError(f"a clock must be one of {', '.join(CLOCKS)}, but got {self.clock!r}")
        if self.setting not in SETTINGS:
            raise ProblemError(f"a setting must be one of {', '.join(SETTINGS)}, but got {self.setting!r}")

    @property
    def hash(self) -> str:
        """SHA-256 of everything that the result depends on."""
        facts = asdict(self) | {"device": self.accelerator.content_hash, "conditions": self.conditions_hash}
        facts |= {"others": [load_device(name).content_hash for name in self.others]}
        if not self.others:
            del facts["others"]
        if is_config(self.model):  # a file of the user's, which may change
            facts["config"] = structure_hash(self.reference())
        return _digest(facts)

    @property
    def conditions_hash(self) -> str:
        """SHA-256 of what a structure's frontier depends on beside device, setting and clock."""
        facts: dict[str, Any] = {
            "scenario": asdict(self.scenario),
            "kv": self.kv,
            "count": self.count,
            "grid": asdict(self.grid()),
            "evaluator": evaluator_version(),
        }
        if self.others:  # a structure of one search may name devices that another does not have
            facts["others"] = [load_device(name).content_hash for name in self.others]
        return _digest(facts)

    @property
    def accelerator(self) -> Device:
        return load_device(self.device)

    def under(self, setting: str) -> Problem:
        """The same problem under another setting."""
        return replace(self, setting=setting)

    def reference(self) -> Design:
        """The model itself, without placement: what every candidate must compute."""
        return _parsed(self.text) if self.text else load_model(self.model, self.kv)

    def devices(self, design: Design) -> Mapping[str, Device]:
        """The device of each pool of a design."""
        others = {name: load_device(name) for name in self.others}
        return {pool.name: others.get(pool.device, self.accelerator) for pool in design.pools}

    def device_names(self, design: Design) -> Mapping[str, str]:
        """The name of each pool's device."""
        return {pool: device.name for pool, device in self.devices(design).items()}

    def rules(self) -> tuple[Rule, ...]:
        """The rules that a search of this problem uses: all but those that have nothing to do in it."""
        idle = set()
        if not self.scenario.prefix or self.scenario.sharers < 2:
            idle |= {"cascade attention", "one-pass attention"}
        if self.accelerator.host_bytes_per_second is None or self.accelerator.host_memory_bytes is None:
            idle |= {"keep in host", "keep in device"}
        further = (device_kind(self.others),) if self.others else ()
        return (*(r for r in rules() if r.name not in idle), *further)

    def grid(self) -> Grid:
        """The sizes that every structure is swept over."""
        return standard_grid(self.count)


@lru_cache(maxsize=4)
def _parsed(text: str) -> Design:
    return parse(text)


def structure_of(design: Design) -> Design:
    """The design with its numbers replaced by placeholders, so that equal structures are equal designs.

    Pipeline stages need micro-batches, so a design with stages has several.
    """
    meshes = tuple(Mesh(m.pool, tuple((axis, 1) for axis, _ in m.axes)) for m in design.placement.meshes)
    same = {SAME, *(p.device for p in design.pools[:1])}
    pools = tuple(Pool(p.name, SAME if p.device in same else p.device, 1) for p in design.pools)
    several = design.schedule.microbatches > 1 or design.placement.pipeline is not None
    schedule = replace(design.schedule, microbatches=2 if several else 1)
    return design.with_(pools=pools, placement=replace(design.placement, meshes=meshes), schedule=schedule)


def settled(design: Design) -> Design:
    """The same design with the sizes of this process.

    Equal sizes are one object within a process, whose operands are in an order of that process; those that
    come from another one are built again.
    """
    dims = tuple((name, _settled(size)) for name, size in design.program.dims)
    return design.with_(program=replace(design.program, dims=dims))


def _settled(size: Size) -> Size:
    return rebuild(size, [_settled(a) for a in size.arguments]) if size.arguments else size


def identity(design: Design) -> str:
    """What candidates are told apart by: the structure hash, and the kinds of devices where they differ."""
    kinds = [p.device for p in structure_of(design).pools]
    found = structure_hash(design)
    return found if set(kinds) <= {SAME} else _digest({"structure": found, "devices": kinds})


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
