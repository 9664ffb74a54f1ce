"""A view over a config: finds the language model inside wrappers, resolves synonyms, remembers what was read.

Values are asked for by role (`keys.SYNONYMS`) or by key. Keys of nested objects are joined by dots. What is
never asked for, is not known to be irrelevant and is not off (null, false, 0, empty) was not understood.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from reprlib import repr as short_repr

from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.keys import SYNONYMS, TEXT_PARTS, VALUES_ONLY, irrelevant

MAXIMUM_SIZE = 1_000_000_000
MAXIMUM_LAYERS = 1_000
MAXIMUM_NUMBER = 1e15


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A key that may change the computation and that no reader knows, with its value."""

    key: str
    value: object


class View:
    """The keys of one language model. Methods raise ConfigError where a value is not what it must be.

    `defaults` are what the family's own code takes for keys that are absent, by key.
    """

    def __init__(
        self, values: Mapping[str, object], name: str, family: str, defaults: Mapping[str, object]
    ) -> None:
        self.name = name
        self.family = family
        self.assumptions: list[str] = []
        self._values = flatten(values)
        self._defaults = defaults
        self._used: set[str] = set()

    def has(self, role: str) -> bool:
        """Whether the config states it (null does not count); reading is left to others."""
        return any(self._values.get(key) is not None for key in _names(role))

    def off(self, key: str) -> bool:
        """Whether the key is absent, null, false, 0 or empty; reading is left to others."""
        return _off(self._values.get(key))

    def assume(self, sentence: str) -> None:
        """Note what the config does not say and was inferred."""
        if sentence not in self.assumptions:
            self.assumptions.append(sentence)

    def use(self, *keys: str) -> None:
        """These keys need no reading: what they say is known already."""
        self._used.update(keys)

    def raw(self, role: str) -> object:
        """The value as it stands, or the family's default, or None."""
        found: list[tuple[str, object]] = []
        for key in _names(role):
            value = self._values.get(key)
            if key in self._values:
                self._used.add(key)
            if value is not None:
                found.append((key, value))
        if len(found) > 1 and any(v != found[0][1] for _, v in found[1:]):
            told = ", ".join(f"{k} = {short_repr(v)}" for k, v in found)
            self.assume(f"Keys for one thing disagree ({told}); the first is taken.")
        if found:
            return found[0][1]
        for key in _names(role):
            if key in self._defaults:
                value = self._defaults[key]
                if value is not None:
                    self.assume(
                        f"{key} is not stated; {_spell(value)} is taken, as in code of {self.family}."
                    )
                return value
        return None

    def size(self, role: str, default: int | None = None, why: str = "") -> int:
        """A positive whole number; `default` stands in for an absent one, for the reason given."""
        value = self.size_or_none(role)
        if value is not None:
            return value
        if default is None:
            names = _names(role)
            more = f" (or {', '.join(names[1:4])})" if len(names) > 1 else ""
            raise ConfigError(
                f"{self.name} must state {names[0]}{more}, but it does not; is this the config of a "
                "language model?"
            )
        if why:
            self.assume(f"{_names(role)[0]} is not stated; {default} is taken, {why}.")
        return default

    def size_or_none(self, role: str) -> int | None:
        """A positive whole number, or None when absent."""
        value = self.raw(role)
        return None if value is None else self.whole(role, value, 1)

    def count(self, role: str) -> int:
        """A whole number from 0; 0 when absent."""
        value = self.raw(role)
        return 0 if value is None else self.whole(role, value, 0)

    def number(self, role: str, default: float) -> float:
        """A finite number."""
        value = self.raw(role)
        return default if value is None else self.finite(role, value)

    def positive(self, role: str, default: float) -> float:
        """A finite number above 0."""
        value = self.number(role, default)
        if value <= 0:
            raise self._wrong(role, "above 0", value)
        return value

    def finite(self, role: str, value: object) -> float:
        """`value` as a finite number within limits."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise self._wrong(role, "a finite number", value)
        if abs(value) > MAXIMUM_NUMBER:
            raise self._wrong(role, f"at most {MAXIMUM_NUMBER:g} in size", value)
        return float(value)

    def flag(self, role: str, default: bool = False) -> bool:
        """True or false."""
        value = self.raw(role)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if value in (0, 1):
            return bool(value)
        raise self._wrong(role, "true or false", value)

    def word(self, role: str, default: str = "") -> str:
        """A text."""
        value = self.raw(role)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self._wrong(role, "a text", value)
        return value

    def items(self, role: str) -> list[object] | None:
        """A list, or None when absent; a text of numbers with commas counts as one."""
        value = self.raw(role)
        if value is None:
            return None
        if isinstance(value, str) and all(part.strip().isdigit() for part in value.split(",")):
            return [int(part) for part in value.split(",")]
        if not isinstance(value, list):
            raise self._wrong(role, "a list", value)
        return value

    def indices(self, role: str) -> set[int] | None:
        """A list of layer numbers from 0."""
        found = self.items(role)
        return None if found is None else {self.whole(role, v, 0) for v in found}

    def per_layer(self, role: str, count: int) -> list[object] | None:
        """A list with an entry per layer; longer ones go on with draft layers, shorter ones are refused."""
        found = self.items(role)
        if found is not None and len(found) < count:
            raise ConfigError(
                f"{self.name}: {self.spelt(role)} must have an entry for each of {count} layers, "
                f"but has {len(found)}"
            )
        return found

    def size_at(self, role: str, index: int) -> int | None:
        """A positive whole number, the same for all layers or listed by layer."""
        value = self.raw(role)
        if isinstance(value, list):
            if not value:
                return None
            value = value[min(index, len(value) - 1)]
        return None if value is None else self.whole(role, value, 1)

    def whole(self, role: str, value: object, least: int) -> int:
        """`value` as a whole number within limits."""
        if isinstance(value, float) and _finite(value) and value == int(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(role, "a whole number", value)
        if not least <= value <= MAXIMUM_SIZE:
            raise self._wrong(role, f"from {least} to {MAXIMUM_SIZE}", value)
        return value

    def spelt(self, role: str) -> str:
        """The key under which the config states it."""
        return next((k for k in _names(role) if self._values.get(k) is not None), _names(role)[0])

    def not_understood(self) -> tuple[NotUnderstood, ...]:
        """What nobody asked for and may matter; an object of which nothing was used is told whole."""
        left: dict[str, object] = {}
        known = {key.split(".")[0] for key in self._used if "." in key}
        for key, value in self._values.items():
            if key in self._used or _off(value) or irrelevant(key) or key in VALUES_ONLY:
                continue
            top, dot, rest = key.partition(".")
            if dot and top not in known:
                held = left.setdefault(top, {})
                if isinstance(held, dict):
                    held[rest] = value
            else:
                left[key] = value
        return tuple(NotUnderstood(k, v) for k, v in left.items())

    def left_out(self) -> list[str]:
        """Keys that only scale or clip values, as far as they are set to something."""
        return [
            k for k, v in self._values.items()
            if k in VALUES_ONLY and k not in self._used and not _off(v) and v != 1
        ]  # fmt: skip

    def _wrong(self, role: str, wanted: str, value: object) -> ConfigError:
        key = self.spelt(role)
        return ConfigError(f"{self.name}: {key} must be {wanted}, but is {short_repr(value)}")


def text_part(config: Mapping[str, object]) -> dict[str, object]:
    """The keys of the language model: those of nested text configs, over those around them."""
    found = {k: v for k, v in config.items() if k not in TEXT_PARTS}
    for part in TEXT_PARTS:
        inner = config.get(part)
        if isinstance(inner, Mapping):
            below = text_part(inner)
            found.update((k, v) for k, v in below.items() if v is not None or k not in found)
    return found


def flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested objects with their keys joined by dots; irrelevant ones and quantization stay whole."""
    flat: dict[str, object] = {}
    for key, value in values.items():
        path = prefix + key
        if isinstance(value, Mapping) and value and (path.startswith("rope") or not irrelevant(path)):
            flat.update(flatten(value, path + "."))
        else:
            flat[path] = value
    return flat


def _names(role: str) -> tuple[str, ...]:
    return SYNONYMS.get(role, (role,))


def _off(value: object) -> bool:
    return value is None or value is False or value == 0 or value in ("", [], {})


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _spell(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
