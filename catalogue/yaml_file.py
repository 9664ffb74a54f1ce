"""Reading a YAML file as one mapping, with every fault told as a CatalogueFileError."""

from collections.abc import Hashable
from importlib.resources.abc import Traversable
from pathlib import Path
from reprlib import repr as short_repr

import yaml

from catalogue.errors import CatalogueFileError

MAXIMUM_BYTES = 1_000_000


class _Loader(yaml.SafeLoader):
    """The safe loader, which also refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            text = key.value if isinstance(key, yaml.ScalarNode) else None
            if text in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {text!r} is given twice", problem_mark=key.start_mark
                )
            if text is not None:
                seen.add(text)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path | Traversable) -> dict[str, object]:
    """The mapping at the top of a YAML file.

    Raises CatalogueFileError when the file cannot be read, is not YAML, or is not a mapping with text keys.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise CatalogueFileError(
            f"{path} must be a readable file, but got: {reason}; check the path"
        ) from error
    if len(data) > MAXIMUM_BYTES:
        raise CatalogueFileError(
            f"{path} must hold at most {MAXIMUM_BYTES} bytes, but got {len(data)}; is it a catalogue file?"
        )
    try:
        content: object = yaml.load(data, Loader=_Loader)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CatalogueFileError(
            f"{path} must be YAML, but got: {reason[:300]}; correct that line"
        ) from error
    return text_keys(content, str(path))


def text_keys(content: object, where: str) -> dict[str, object]:
    """`content` itself, once it is known to be a mapping whose keys are all text."""
    if not isinstance(content, dict):
        raise CatalogueFileError(
            f"{where} must be a mapping of keys to values, "
            f"but got {short_repr(content)}; write `key: value` lines"
        )
    for key in content:
        if not isinstance(key, str):
            raise CatalogueFileError(
                f"{where} must have text as keys, but got {short_repr(key)}; put it in quotes"
            )
    return content
