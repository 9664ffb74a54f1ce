"""Plans: what a person wants tried, read from a YAML or JSON file.

plan:
  - rule: micro-batches            # at every site, on every conventional structure
  - rule: shard mlp
    site: "mlp(axis=tp*"           # a pattern; `*` and `?` stand for anything
    from: best                     # conventional (the default), best, frontier or all
  - rules: [second stream, {rule: fuse, site: "attention*"}]   # in turn, each at its first site
  - file: mine.roof                # a design, beside the plan
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from agent.errors import ProblemError
from rooflang.errors import RoofLangError
from rooflang.parser import parse

LARGEST_BYTES = 1_000_000
PARENTS = ("conventional", "best", "frontier", "all")


@dataclass(frozen=True, slots=True)
class Line:
    """One entry: rules with patterns of sites, on members of a kind, or the text of a design.

    With `every`, each site that matches is a proposal of its own.
    """

    rules: tuple[tuple[str, str], ...] = ()
    on: str = "conventional"
    every: bool = True
    text: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Entries in order."""

    lines: tuple[Line, ...]

    @property
    def digest(self) -> str:
        """16 hexadecimal digits over all entries, texts of designs included."""
        facts = json.dumps([asdict(line) for line in self.lines], sort_keys=True)
        return hashlib.sha256(facts.encode()).hexdigest()[:16]


def read_plan(path: Path) -> Plan:
    """The plan of a file. Raises ProblemError, with the entry's number, for one that cannot be played."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ProblemError(
            f"a plan must be a file that can be read, but got {path} ({error.strerror}); check the path"
        ) from None
    if len(raw) > LARGEST_BYTES:
        raise ProblemError(f"a plan must have at most {LARGEST_BYTES:,} bytes, but {path} has {len(raw):,}")
    try:
        content = yaml.safe_load(raw.decode("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError(f"a plan must be YAML or JSON, but {path} is not: {_line(error)}") from None
    entries = content.get("plan") if isinstance(content, Mapping) else content
    if not isinstance(entries, list) or not entries:
        raise ProblemError(f"a plan must be a list of entries, or have one under `plan`, but {path} has none")
    return Plan(tuple(_entry(e, f"entry {n} of {path}", path.parent) for n, e in enumerate(entries, 1)))


def _entry(entry: Any, where: str, folder: Path) -> Line:
    if not isinstance(entry, Mapping):
        raise ProblemError(f"{where} must have `rule`, `rules` or `file`, but is {str(entry)[:60]!r}")
    kinds = [k for k in ("rule", "rules", "file") if k in entry]
    extra = set(entry) - {"rule", "site", "rules", "from", "file"}
    if len(kinds) != 1 or extra:
        what = f"has {', '.join(map(str, sorted(map(str, extra))))}" if extra else f"has {kinds or 'none'}"
        raise ProblemError(f"{where} must have exactly one of `rule`, `rules` and `file`, but {what}")
    if kinds == ["file"]:
        return Line(text=_text(folder / str(entry["file"]), where))
    on = str(entry.get("from", "conventional"))
    if on not in PARENTS:
        raise ProblemError(f"{where}: `from` must be one of {', '.join(PARENTS)}, but is {on!r}")
    if kinds == ["rule"]:
        return Line((_rule(entry, where),), on)
    if not isinstance(entry["rules"], list) or not entry["rules"]:
        raise ProblemError(f"{where}: `rules` must be a list of rules, but is {str(entry['rules'])[:60]!r}")
    return Line(tuple(_rule(r, where) for r in entry["rules"]), on, every=False)


def _rule(entry: Any, where: str) -> tuple[str, str]:
    from mutations.registry import rules

    name, site = (entry.get("rule"), entry.get("site", "*")) if isinstance(entry, Mapping) else (entry, "*")
    known = [rule.name for rule in rules()]
    if name not in known:
        near = difflib.get_close_matches(str(name), known, 1)
        hint = f"did you mean {near[0]!r}?" if near else "`seis explain` and the documentation name them"
        raise ProblemError(f"{where}: a rule must be one that is known, but is {str(name)[:60]!r}; {hint}")
    return str(name), str(site)


def _text(path: Path, where: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        parse(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"{where}: `file` must be a readable design, but {path} is not: {error}") from None
    except RoofLangError as error:
        raise ProblemError(f"{where}: {path} must be a RoofLang design, but is not: {_line(error)}") from None
    return text


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
