"""The door to SEIS: what users import, and the command line.

>>> from seis import load_model
>>> load_model("llama-3.1-70b").name
'llama-3.1-70b'

Each name is imported when it is first used, so that importing `seis` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent import Budget, Problem, search
    from catalogue.devices import device_names, load_device
    from catalogue.huggingface import import_config as import_model
    from catalogue.models import load_model, model_names
    from catalogue.systems import load_system, system_names
    from evaluator.baseline import baseline
    from evaluator.evaluate import evaluate
    from evaluator.report import rows as report
    from evaluator.scenario import Scenario
    from evaluator.sweep import standard_grid, sweep
    from mutations.start import starting_designs
    from mutations.verify import verify
    from rooflang.parser import parse, parse_file
    from rooflang.printer import print_design

__all__ = [
    "Budget",
    "Problem",
    "Scenario",
    "baseline",
    "device_names",
    "evaluate",
    "import_model",
    "load_device",
    "load_model",
    "load_system",
    "model_names",
    "parse",
    "parse_file",
    "print_design",
    "report",
    "search",
    "standard_grid",
    "starting_designs",
    "sweep",
    "system_names",
    "verify",
]

# name: (module, name in it)
_HOMES = {
    "Budget": ("agent", "Budget"),
    "Problem": ("agent", "Problem"),
    "Scenario": ("evaluator.scenario", "Scenario"),
    "baseline": ("evaluator.baseline", "baseline"),
    "device_names": ("catalogue.devices", "device_names"),
    "evaluate": ("evaluator.evaluate", "evaluate"),
    "import_model": ("catalogue.huggingface", "import_config"),
    "load_device": ("catalogue.devices", "load_device"),
    "load_model": ("catalogue.models", "load_model"),
    "load_system": ("catalogue.systems", "load_system"),
    "model_names": ("catalogue.models", "model_names"),
    "parse": ("rooflang.parser", "parse"),
    "parse_file": ("rooflang.parser", "parse_file"),
    "print_design": ("rooflang.printer", "print_design"),
    "report": ("evaluator.report", "rows"),
    "search": ("agent", "search"),
    "standard_grid": ("evaluator.sweep", "standard_grid"),
    "starting_designs": ("mutations.start", "starting_designs"),
    "sweep": ("evaluator.sweep", "sweep"),
    "system_names": ("catalogue.systems", "system_names"),
    "verify": ("mutations.verify", "verify"),
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'seis' has no attribute {name!r}")
    found = getattr(import_module(home[0]), home[1])
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
