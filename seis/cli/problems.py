"""What can go wrong at the command line, how it is said, and the exit codes.

0    an answer, also "does not fit"
1    refused: the verifier did not accept
2    unusable input
70   a fault of SEIS itself
130  interrupted (Ctrl-C)
"""

from __future__ import annotations

import json
import sys
from typing import Final

REFUSED: Final = 1
UNUSABLE: Final = 2
FAULT: Final = 70
INTERRUPTED: Final = 130

# Errors that a user's input causes, by the module that defines them: looked up only where it is loaded.
_USERS: Final = (
    ("catalogue.errors", "CatalogueError"),
    ("rooflang.errors", "RoofLangError"),
    ("evaluator.errors", "EvaluatorError"),
    ("db.errors", "DatabaseError"),
    ("agent.errors", "SearchError"),
    ("seis.client", "ServiceError"),
)
_KINDS: Final = {
    "BadParameter": "usage",
    "MissingParameter": "usage",
    "NoSuchOption": "usage",
    "NoSuchCommand": "usage",
    "UsageError": "usage",
    "KeyboardInterrupt": "interrupted",
    "CatalogueError": "unknown_name",
    "CatalogueFileError": "catalogue_file",
    "RoofLangSyntaxError": "syntax",
    "LocatedDesignError": "design",
    "DesignError": "design",
    "LoweringError": "placement",
    "ScenarioError": "scenario",
    "UnavailableError": "unavailable",
    "ConfigurationError": "configuration",
    "NewerDatabaseError": "newer_database",
    "ServiceError": "service",
}


class UsageError(ValueError):
    """Input that cannot be used; the message is one sentence for the user."""


def is_users(error: BaseException) -> bool:
    """Whether the user's input, and no fault of SEIS, caused the error."""
    if isinstance(error, UsageError | OSError | UnicodeDecodeError) or hasattr(error, "format_message"):
        return True
    for module, name in _USERS:
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(error, getattr(loaded, name)):
            return True
    return False


def report(error: BaseException, as_json: bool) -> None:
    """Say an error on stderr: a sentence, or one JSON object with `kind` and `message`."""
    message = _sentence(error)
    if not as_json:
        sys.stderr.write(f"seis: {message}\n")
        return
    # In a terminal a problem of a text shows its line and a caret; here that line is a key of its own.
    found: dict[str, object] = {"kind": _kind(error), "message": message.partition("\n")[0]}
    for key, kind in (("line", int), ("column", int), ("source_line", str)):
        if isinstance(getattr(error, key, None), kind):
            found[key] = getattr(error, key)
    sys.stderr.write(json.dumps({"error": found}) + "\n")


def _kind(error: BaseException) -> str:
    if not is_users(error) and not isinstance(error, KeyboardInterrupt):
        return "fault"
    for kind in type(error).__mro__:
        if kind.__name__ in _KINDS:
            return _KINDS[kind.__name__]
        if kind.__name__ == "DatabaseError":
            return "database"
    return "file" if isinstance(error, OSError | UnicodeDecodeError) else "usage"


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; nothing that was stored is lost"
    if hasattr(error, "format_message"):
        from seis.cli.wording import of_usage

        return of_usage(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{(error.strerror or str(error)).lower()}"
    if is_users(error):
        return str(error)
    return (
        f"a fault of SEIS, not of your input: {type(error).__name__}: {error}; "
        "set SEIS_TRACEBACK=1 to see where, and please report it"
    )
