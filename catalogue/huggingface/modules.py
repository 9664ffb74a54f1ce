"""Matching names of modules (`layers.3.self_attn.q_proj`) against the patterns of quantization configs.

Patterns are exact names, names of an enclosing module, shell globs (`*.attn.*`), or regular expressions with
the prefix `re:`. Prefixes above the layers (`model.`, `language_model.model.`, `backbone.`) differ by
wrapper, so they are cut off; an expression is tried with and without the common ones.

Patterns are a stranger's, so what they may cost is bounded: few expressions, none that could run away, and a
budget of trials. What is not tried is kept in `refused`.
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
MAXIMUM_EXPRESSIONS = 16
MAXIMUM_REPETITIONS = 3  # in one expression; one less if it tells layers apart and so is tried for each
MAXIMUM_GLOBS = 300  # for all layers
MAXIMUM_TRIALS = 100_000


class Patterns:
    """A set of patterns; `in` asks whether a module, written from `layers.` on, is meant by one."""

    def __init__(self, patterns: Iterable[object]) -> None:
        self.refused: list[str] = []
        self._exact: set[str] = set()
        self._components: set[str] = set()
        self._beginnings: dict[str, tuple[str, ...]] = {}
        self._tried: dict[str, list[_Tried]] = {}
        self._trials = 0
        self._expressions = 0
        begin: dict[str, list[str]] = {}
        for pattern in patterns:
            if isinstance(pattern, str):
                self._add(pattern, begin)
        self._beginnings = {number: tuple(found) for number, found in begin.items()}

    def __contains__(self, module: str) -> bool:
        return self._named(module) or self._begun(module) or self._matched(module)

    def __bool__(self) -> bool:
        return bool(self._exact or self._components or self._beginnings or self._tried)

    def _add(self, pattern: str, begin: dict[str, list[str]]) -> None:
        if pattern.startswith("re:"):
            self._add_expression(pattern)
        elif not _SPECIAL.search(pattern):
            (self._exact if "." in pattern else self._components).add(_from_layers(pattern))
        else:
            self._add_glob(pattern, begin)

    def _add_glob(self, pattern: str, begin: dict[str, list[str]]) -> None:
        """Globs by the layer that they name; most only say how a name begins."""
        found = _LAYER.search(pattern)
        number = found.group(1) if found else ""
        if found and pattern[found.end() : found.end() + 1] == "*":
            number = ""  # `layers.1*` means layers 10 to 19 as well
        cut = _from_layers(pattern)
        simple = cut.endswith("*") and not _SPECIAL.search(cut[:-1])
        held = len(begin.get("", ())) if simple else sum(map(len, self._tried.values()))
        full = held >= MAXIMUM_GLOBS and not (simple and number)
        if full or len(pattern) > MAXIMUM_PATTERN:
            self.refused.append(pattern)
        elif simple:
            begin.setdefault(number, []).append(cut[:-1])
        else:
            text = "|".join(fnmatch.translate(p) for p in (cut, f"{cut}.*"))
            self._tried.setdefault(number, []).append(_Tried(text, ("", "model.")))

    def _add_expression(self, pattern: str) -> None:
        text = re.sub(r"(\.\*)+", ".*", pattern[3:])
        most = MAXIMUM_REPETITIONS - bool(_DIGITS.search(text))
        costly = len(re.findall(r"[*+{]", text)) > most or _QUANTIFIED_GROUP.search(text)
        if costly or len(text) > MAXIMUM_PATTERN or self._expressions >= MAXIMUM_EXPRESSIONS:
            self.refused.append(pattern)
            return
        try:
            tried = _Tried(text, ("model.",) if text.startswith(".*") else _PREFIXES)
        except (re.error, OverflowError, RecursionError):
            self.refused.append(pattern)
            return
        self._expressions += 1
        self._tried.setdefault("", []).append(tried)

    def _named(self, module: str) -> bool:
        if self._components and not self._components.isdisjoint(module.split(".")):
            return True
        return bool(self._exact) and any(part in self._exact for part in _enclosing(module))

    def _begun(self, module: str) -> bool:
        return any(module.startswith(self._beginnings.get(n, ())) for n in _buckets(module))

    def _matched(self, module: str) -> bool:
        if not self._tried:
            return False
        if self._trials >= MAXIMUM_TRIALS:
            for tried in (t for found in self._tried.values() for t in found):
                self.refused.append(tried.expression.pattern)
            self._tried = {}
            return False
        plain = _LAYER.sub(".layers.0" if module.startswith("mtp.") else "layers.0", module)
        return any(
            self._try(t, module if t.numbered else plain)
            for n in _buckets(module)
            for t in self._tried.get(n, ())
        )

    def _try(self, tried: _Tried, name: str) -> bool:
        """Whether it matches, tried once for each name."""
        if name not in tried.known:
            self._trials += len(tried.prefixes)
            tried.known[name] = any(tried.expression.match(p + name) for p in tried.prefixes)
        return tried.known[name]


class _Tried:
    """A compiled pattern, the prefixes to try it with, and what it said of names so far.

    One without digits says the same of all layers.
    """

    __slots__ = ("expression", "known", "numbered", "prefixes")

    def __init__(self, text: str, prefixes: tuple[str, ...]) -> None:
        self.expression = re.compile(text)
        self.numbered = bool(_DIGITS.search(text))
        self.prefixes = prefixes
        self.known: dict[str, bool] = {}


def _buckets(module: str) -> tuple[str, ...]:
    found = _LAYER.search(module)
    return ("", found.group(1)) if found else ("",)


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
