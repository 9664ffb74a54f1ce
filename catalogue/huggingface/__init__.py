"""Published models by their Hugging Face `config.json`."""

from catalogue.huggingface.design import is_config, load_config
from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.reader import Imported, import_config, read_config
from catalogue.huggingface.view import NotUnderstood

__all__ = [
    "ConfigError",
    "Imported",
    "NotUnderstood",
    "import_config",
    "is_config",
    "load_config",
    "read_config",
]
