"""The design of an imported model, and of a model that is named by the path of its config."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from catalogue.architecture import Architecture
from catalogue.huggingface.reader import Imported, config_path, import_config

if TYPE_CHECKING:
    from catalogue.models.caches import Kv
    from rooflang.design import Design


def is_config(name: str) -> bool:
    """Whether the name of a model is the path of a config: it ends in .json, or a directory holds one."""
    if name.endswith(".json"):
        return True
    if not name:
        return False
    try:
        path = Path(name)
        return path.is_dir() and (
            os.sep in name or name in (os.curdir, os.pardir) or (path / "config.json").is_file()
        )
    except (OSError, ValueError):
        return False


def full_path(name: str) -> str:
    """The absolute path of the config that is named."""
    return str(config_path(Path(name)).absolute())


def load_config(path: str, kv: Kv = "served") -> Design:
    """The design of the model that a config describes. Raises ConfigError as `import_config` does."""
    file = config_path(Path(path)).absolute()
    try:
        stat = file.stat()
    except OSError:
        return design_of(import_config(file), kv)  # which says what is wrong
    return _load(file, (stat.st_mtime_ns, stat.st_size), kv)


@lru_cache(maxsize=16)
def _load(file: Path, version: tuple[int, int], kv: Kv) -> Design:
    return design_of(import_config(file), kv)


def design_of(imported: Imported, kv: Kv = "served") -> Design:
    """The design of one decode step, as `load_model` gives it: no pools and no placement."""
    from catalogue.models.compose import compose
    from catalogue.models.deepseek_v4 import build

    facts = imported.architecture
    if isinstance(facts, Architecture):
        return compose(imported.name, facts, kv)
    return build(imported.name, facts, kv)
