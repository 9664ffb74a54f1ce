"""Every code that the verifier can refuse with is explained, and every explained code is used."""

from __future__ import annotations

import re
from pathlib import Path

import mutations.verify
import rooflang.check
import rooflang.run
from mutations.verify.codes import CODES, table
from tests.docs.pages import ROOT
from tests.docs.pages import table as of_page

_CODE = re.compile(
    r'(?:Problem|Reason|ExecutionError|Failure)\(\s*"([a-z]+\.[a-z]+)"'
    r'|(?:return|else)\s+\(?\s*"((?:placement|graph|type)\.[a-z]+)",|^\s+"(placement\.[a-z]+)",\s*$',
    re.MULTILINE,
)


def used() -> set[str]:
    found: set[str] = set()
    for package in (rooflang.check, rooflang.run, mutations.verify):
        for file in Path(str(package.__file__)).parent.glob("*.py"):
            if file.name != "codes.py":
                text = file.read_text(encoding="utf-8")
                found |= {name for match in _CODE.findall(text) for name in match if name}
    return found


def test_codes_are_explained_and_used():
    assert used() == set(CODES)
    assert all(c.rule and c.hint for c in CODES.values())


def test_the_page_has_them():
    assert of_page((ROOT / "docs" / "verification.md").read_text(encoding="utf-8"), "code") == table()
