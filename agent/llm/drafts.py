"""Designs that a model may name: members of the archive, and drafts that it made of them in this round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.archive import Member
from agent.llm.toolkit import ToolError
from agent.proposer import View
from agent.steps import Step
from mutations.rule import Rule
from rooflang.design import Design
from rooflang.errors import RoofLangError
from rooflang.limits import MAX_TEXT_BYTES
from rooflang.parser import parse
from rooflang.printer import print_design

FREE = "edited text"
"""Stands in lineage where a rule would: the text was changed by hand."""

SHOWN_DIGITS = 10
MOST_DRAFTS = 64
MOST_STEPS = 24


@dataclass(frozen=True, slots=True)
class Draft:
    """A design on its way: the member that it was made from, the steps since, and what they declare."""

    parent: str
    steps: tuple[Step, ...]
    design: Design
    same_matrix_work: bool


class Drafts:
    """Names of designs within one round."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._made: dict[str, Draft] = {}

    def member(self, name: str) -> Member:
        """A member by the beginning of its hash. Raises ToolError for an unknown one."""
        members = self._view.archive.members()
        wanted = name.strip().lower()
        found = [m for m in members if len(wanted) >= 4 and m.design_hash.startswith(wanted)]
        if len(found) != 1:
            known = ", ".join(m.design_hash[:SHOWN_DIGITS] for m in self._view.archive.promising()[:6])
            raise ToolError(
                f"a design must be a member or a draft, but got {name[:40]!r}; members are {known}"
            )
        return found[0]

    def get(self, name: str) -> Draft:
        """A draft, or a member as one without steps. Raises ToolError for an unknown name."""
        found = self._made.get(name.strip().lower())
        if found is not None:
            return found
        member = self.member(name)
        return Draft(member.design_hash, (), self._view.design(member.design_hash), True)

    def apply(self, name: str, rule_name: str, site_name: str) -> str:
        """The name of the draft that a rule makes. Raises ToolError where it does not apply."""
        before = self.get(name)
        rule = find_rule(self._view.rules, rule_name)
        sites = rule.sites(before.design)
        site = next((s for s in sites if str(s) == site_name.strip()), None)
        if site is None:
            shown = "; ".join(str(s) for s in sites[:8]) or "none"
            raise ToolError(f"{rule.name} must be applied at one of its sites, which are: {shown}")
        try:
            design = rule.apply(before.design, site)
        except RoofLangError as error:
            raise ToolError(str(error)[:600]) from None
        step = Step(rule.name, str(site))
        return self._add(before, step, design, before.same_matrix_work and rule.same_matrix_work)

    def write(self, name: str, text: str) -> str:
        """The name of the draft of a whole text. Raises ToolError for a text that is no design."""
        if len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
            raise ToolError(f"a text must have at most {MAX_TEXT_BYTES:,} bytes, but has more")
        before = self.get(name)
        try:
            design = parse(text)
        except RoofLangError as error:
            raise ToolError(str(error)[:600]) from None
        return self._add(before, Step(FREE, "text"), design, same_matrix_work=True)

    def edit(self, name: str, edits: Sequence[dict[str, str]]) -> str:
        """The name of the draft that edits make. Raises ToolError for an edit without its one place."""
        text = print_design(self.get(name).design)
        for number, edit in enumerate(edits, 1):
            count = text.count(edit["find"]) if edit["find"] else 0
            if count != 1:
                raise ToolError(
                    f"the text to find must be there once, but edit {number} finds it {count} times"
                )
            text = text.replace(edit["find"], edit["replace"])
            if len(text) > MAX_TEXT_BYTES:
                raise ToolError(f"a text must have at most {MAX_TEXT_BYTES:,} bytes, but has more")
        return self.write(name, text)

    def _add(self, before: Draft, step: Step, design: Design, same_matrix_work: bool) -> str:
        if len(self._made) >= MOST_DRAFTS or len(before.steps) >= MOST_STEPS:
            raise ToolError(f"at most {MOST_DRAFTS} drafts of {MOST_STEPS} steps may be made in a round")
        name = f"draft-{len(self._made) + 1}"
        self._made[name] = Draft(before.parent, (*before.steps, step), design, same_matrix_work)
        return name


def find_rule(rules: Sequence[Rule], name: str) -> Rule:
    """An exact rule by its name. Raises ToolError for an unknown one."""
    found = next((r for r in rules if r.exact and r.name == name.strip()), None)
    if found is None:
        raise ToolError(
            f"a rule must be one of {', '.join(r.name for r in rules if r.exact)}, but got {name[:60]!r}"
        )
    return found
