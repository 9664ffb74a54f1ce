"""Which methods a path has, by the OpenAPI document: what 405 and its Allow header say."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any


def allowed(app: Any, path: str) -> tuple[str, ...]:
    """The methods of a path; one without parameters comes before templates that match it too."""
    schema = app.openapi()
    exact = schema["paths"].get(path)
    if exact is not None:
        return _methods(exact)
    found: set[str] = set()
    for template, operations in schema["paths"].items():
        if "{" in template and _pattern(template).match(path):
            found.update(_methods(operations))
    return tuple(sorted(found))


def _methods(operations: dict[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(m.upper() for m in operations if m != "parameters"))


@lru_cache(maxsize=512)
def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{[^}]*\}", template)
    return re.compile("[^/]+".join(map(re.escape, parts)) + r"\Z")
