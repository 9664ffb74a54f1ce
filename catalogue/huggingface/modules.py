"""Matching names of modules (`layers.3.self_attn.q_proj`) against the patterns of quantization configs.

Patterns are exact names, names of an enclosing module, shell globs (`*.attn.*`), or regular expressions with
the prefix `re:`. Prefixes above the layers (`model.`, `language_model.model.`, `backbone.`) differ by
wrapper, so they are cut off; a glob or expression is tried with and without the common ones.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator

_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)(?=[.*]|$)")
_PREFIXES = ("model.", "model.language_model.", "language_model.model.", "backbone.", "")
_SPECIAL = re.compile(r"[*?\[]")
_QUANTIFIED_GROUP = re.compile(r"\)[*+{?]")
_DIGITS = re.compile(r"[0-9]|\\d")
MAXIMUM_PATTERN = 300
MAXIMUM_QUANTIFIERS = 4
MAXIMUM_EXPRESSIONS = 100


class Patterns:
    """A set of patterns; `in` asks whether a module, written from `layers.` on, is meant by one."""

    def __init__(self, patterns: Iterable[object]) -> None:
        self._exact: set[str] = set()
        self._components: set[str] = set()
        self._globs: dict[str, list[re.Pattern[str]]] = {}
        self._expressions: list[tuple[re.Pattern[str], bool]] = []
        self._known: dict[tuple[str, int], bool] = {}
        self.refused: list[str] = []
        for pattern in patterns:
            if isinstance(pattern, str):
                self._add(pattern)

    def __contains__(self, module: str) -> bool:
        return self._named(module) or self._globbed(module) or self._expressed(module)

    def __bool__(self) -> bool:
        return bool(self._exact or self._components or self._globs or self._expressions)

    def _add(self, pattern: str) -> None:
        if pattern.startswith("re:"):
            self._add_expression(pattern[3:])
        elif not _SPECIAL.search(pattern):
            (self._exact if "." in pattern else self._components).add(_from_layers(pattern))
        elif len(pattern) <= MAXIMUM_PATTERN:
            found = _LAYER.search(pattern)
            number = found.group(1) if found else ""
            if found and pattern[found.end() : found.end() + 1] == "*":
                number = ""  # `layers.1*` means layers 10 to 19 as well
            cut = _from_layers(pattern)
            self._globs.setdefault(number, []).extend(
                re.compile(fnmatch.translate(p)) for p in (cut, f"{cut}.*")
            )
        else:
            self.refused.append(pattern)

    def _add_expression(self, text: str) -> None:
        """Only expressions that cannot run away are tried: few repetitions, none of a group."""
        text = re.sub(r"(\.\*)+", ".*", text)
        costly = len(re.findall(r"[*+{]", text)) > MAXIMUM_QUANTIFIERS or _QUANTIFIED_GROUP.search(text)
        if costly or len(text) > MAXIMUM_PATTERN or len(self._expressions) >= MAXIMUM_EXPRESSIONS:
            self.refused.append(f"re:{text}")
            return
        try:
            self._expressions.append((re.compile(text), bool(_DIGITS.search(text))))
        except (re.error, OverflowError, RecursionError):
            self.refused.append(f"re:{text}")

    def _named(self, module: str) -> bool:
        if self._components and not self._components.isdisjoint(module.split(".")):
            return True
        return bool(self._exact) and any(part in self._exact for part in _enclosing(module))

    def _globbed(self, module: str) -> bool:
        found = _LAYER.search(module)
        for number in {"", found.group(1) if found else ""}:
            for glob in self._globs.get(number, ()):
                if any(glob.match(prefix + module) for prefix in ("", "model.")):
                    return True
        return False

    def _expressed(self, module: str) -> bool:
        return any(self._matches(i, module) for i in range(len(self._expressions)))

    def _matches(self, index: int, module: str) -> bool:
        expression, numbered = self._expressions[index]
        name = module if numbered else _LAYER.sub("layers.0", module)
        key = (name, index)
        if key not in self._known:
            self._known[key] = any(expression.match(prefix + name) for prefix in _PREFIXES)
        return self._known[key]


def _from_layers(name: str) -> str:
    """The name from `layers.` on; names without a layer lose the wrapper's prefix alone."""
    found = re.search(r"(?:^|\.)((?:mtp\.)?layers\..*)", name)
    if found:
        return found.group(1)
    for prefix in (
        "model.language_model.",
        "language_model.model.",
        "language_model.",
        "model.",
        "backbone.",
    ):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def _enclosing(module: str) -> Iterator[str]:
    """The module's own name, then those of the modules around it."""
    yield module
    while "." in module:
        module = module.rpartition(".")[0]
        yield module
