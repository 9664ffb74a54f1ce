"""Versions of what produces results: a digest of the sources, so that no old score outlives a change."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_KINDS = (".py", ".yaml", ".json", ".lark")


def evaluator_version() -> str:
    """Changes with anything that a frontier depends on beside its inputs."""
    return fingerprint("rooflang", "catalogue", "evaluator")


def verifier_version() -> str:
    """Changes with anything that a verdict depends on beside its inputs."""
    return fingerprint("rooflang", "mutations")


@cache
def fingerprint(*packages: str) -> str:
    """16 hexadecimal digits over the sources and data of packages."""
    digest = hashlib.sha256()
    for package in packages:
        for name, content in sorted(_contents(files(package), package)):
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def _contents(folder: Traversable, name: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name != "__pycache__":
                found.extend(_contents(entry, f"{name}/{entry.name}"))
        elif entry.name.endswith(_KINDS):
            found.append((f"{name}/{entry.name}", entry.read_bytes()))
    return found
