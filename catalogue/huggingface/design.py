"""Models that are named by the path of their config."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from catalogue.huggingface.reader import config_path, import_config

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
        return import_config(file).design(kv)  # which says what is wrong
    return _load(file, (stat.st_mtime_ns, stat.st_size), kv)


@lru_cache(maxsize=16)
def _load(file: Path, version: tuple[int, int], kv: Kv) -> Design:
    return import_config(file).design(kv)
