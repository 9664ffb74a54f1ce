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
from rooflang.canonical import structure_hash
from rooflang.design import Design, Mesh, Pool
from rooflang.parser import parse
from rooflang.size import Size, rebuild


@dataclass(frozen=True, slots=True)
class Problem:
    """One search. Names of model and device may be abbreviated; a model may be the path of a config.json,
    a device a `.yaml` file.

    `setting` and `clock` are those that designs are ranked by; `kv` is the caches' storage.
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

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "model", full_name(self.model))
        if not str(self.device).endswith((".yaml", ".yml")):
            object.__setattr__(self, "device", load_device(self.device).name)
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
        if is_config(self.model):  # a file of the user's, which may change
            facts["config"] = structure_hash(self.reference())
        return _digest(facts)

    @property
    def conditions_hash(self) -> str:
        """SHA-256 of what a structure's frontier depends on beside device, setting and clock."""
        facts = {
            "scenario": asdict(self.scenario),
            "kv": self.kv,
            "count": self.count,
            "grid": asdict(self.grid()),
            "evaluator": evaluator_version(),
        }
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
        device = self.accelerator
        return {pool.name: device for pool in design.pools}

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
    pools = tuple(Pool(p.name, "any", 1) for p in design.pools)
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
    """The structure hash, which is what candidates are told apart by."""
    return structure_hash(design)


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
