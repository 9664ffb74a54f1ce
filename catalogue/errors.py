"""Errors of the catalogue.

ValueError
└── CatalogueError          a name that is not catalogued
    └── CatalogueFileError  a file that does not say what it must
"""

from collections.abc import Iterable
from difflib import get_close_matches


class CatalogueError(ValueError):
    """A catalogue entry is unknown or malformed; the message is one sentence for the user."""


class CatalogueFileError(CatalogueError):
    """A file of the catalogue, or a user's own, cannot be read or does not say what it must."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint such as `; did you mean b300-sxm?`, or nothing when no known name is similar."""
    similar = get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""
