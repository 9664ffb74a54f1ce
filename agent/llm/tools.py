"""The tools that a model is given. Each answers with plain JSON that depends on nothing but the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from agent.archive import Member, gain_of, point_from_json
from agent.llm.drafts import SHOWN_DIGITS, Drafts, find_rule
from agent.llm.laboratory import Trials
from agent.llm.outside import MOST_NOTE_CHARACTERS, Outside
from agent.llm.reply import Json
from agent.llm.toolkit import EDITS, TEXT, Tool, ToolError
from agent.problem import identity, structure_of
from agent.proposer import Proposal, View
from agent.trial import Judgement, analyses_of
from evaluator.frontier import Point, simultaneous_gain
from rooflang.errors import RoofLangError
from rooflang.printer import print_design

MOST_SITES = 40
MOST_POINTS = 16
MOST_TRIALS = 12
"""Verifications, evaluations and sensitivities in one round."""


class Workbench:
    """The tools of one round and what they leave: `proposals`, and whether the model said that it is done."""

    def __init__(self, view: View, trials: Trials, outside: Outside, places: int) -> None:
        self.proposals: list[Proposal] = []
        self.finished = False
        self._view = view
        self._trials = trials
        self._outside = outside
        self._places = places
        self._drafts = Drafts(view)
        self._tried = 0
        self._known = {m.structure_hash for m in view.archive.members()}

    def tools(self) -> tuple[Tool, ...]:
        """All of them, in a fixed order."""
        design = {"design": TEXT}
        return (
            Tool("read_scenario", "What is searched for.", {}, self.scenario),
            Tool("read_frontier", "The conventional and the joint frontier, and the best members.", {},
                 self.frontier),
            Tool("read_report", "Where the step of a member's best point goes.", design,
                 self.report),
            Tool("read_sensitivity", "How a member's gain changes with each assumption.", design,
                 self.sensitivity),
            Tool("read_text", "The RoofLang text of a member or draft.", design, self.text),
            Tool("list_rules", "Every rule: what it rewrites, helps, costs and relieves.", {},
                 self.rules),
            Tool("list_sites", "Where a rule applies.", {**design, "rule": TEXT}, self.sites),
            Tool("apply_rule", "Apply a rule at a site; gives the name of a draft.",
                 {**design, "rule": TEXT, "site": TEXT}, self.apply),
            Tool("edit_text", "Replace parts of a design's text, each found exactly once; gives a draft.",
                 {**design, "edits": EDITS}, self.edit),
            Tool("write_text", "A whole RoofLang text, made from a member or draft; gives a draft.",
                 {**design, "text": TEXT}, self.write),
            Tool("verify", "Whether a draft computes the same model; reasons if not.", design, self.verify),
            Tool("evaluate", "Verify a draft and sweep it: gain, points, where the time goes.", design,
                 self.evaluate),
            Tool("submit", "Propose a draft to the search, with what it should gain and why.",
                 {**design, "prediction": TEXT}, self.submit),
            Tool("search_notes", "Notes of earlier rounds and searches.", {"query": TEXT}, self.search_notes),
            Tool("write_note", "Keep what was learnt, for later rounds.", {"text": TEXT}, self.write_note),
            Tool("finish", "End this round.", {}, self.finish),
        )  # fmt: skip

    def scenario(self) -> Json:
        p = self._trials.problem
        return {
            "model": p.model, "device": p.device, "count": p.count, "scenario": asdict(p.scenario),
            "clock": p.clock, "setting": p.setting, "caches": p.kv, "places": self._places,
        }  # fmt: skip

    def frontier(self) -> Json:
        archive = self._view.archive
        gain, _, _ = simultaneous_gain(archive.baseline, archive.frontier)
        return {
            "simultaneous_gain": _gain(gain),
            "conventional": _points(archive.baseline),
            "joint": _points(archive.frontier),
            "best_members": [_summary(m) for m in archive.promising()[:8]],
        }

    def report(self, design: str) -> Json:
        member = self._drafts.member(design)
        point = member.points[member.best]
        return {
            **_summary(member),
            "best_point": _point(point),
            "share_by_resource": dict(member.analysis.resources),
            "share_by_section": {k: dict(v) for k, v in member.analysis.sections.items()},
            "steps": [f"{s.rule} at {s.site}" for s in member.steps],
        }

    def sensitivity(self, design: str) -> Json:
        member = self._drafts.member(design)
        _, old, _ = simultaneous_gain(self._view.archive.baseline, member.points)
        if old is None or old.design not in self._view.archive:
            raise ToolError("a conventional point to compare with must be a member, but there is none")
        self._count()
        new = (self._view.design(member.design_hash), member.points[member.best])
        try:
            found = self._trials.sensitivity((self._view.design(old.design), old), new)
        except (ValueError, KeyError) as error:
            raise ToolError(str(error)[:300]) from None
        return {name: _gain(gain) for name, gain in found.items()}

    def text(self, design: str) -> Json:
        return {"text": print_design(self._drafts.get(design).design)}

    def rules(self) -> list[Json]:
        return [
            {
                "rule": r.name, "family": r.family, "rewrites": r.documentation.rewrites,
                "helps": r.documentation.helps, "costs": r.documentation.costs,
                "relieves": sorted(r.relieves),
            }
            for r in self._view.rules
            if r.exact
        ]  # fmt: skip

    def sites(self, design: str, rule: str) -> Json:
        found = find_rule(self._view.rules, rule).sites(self._drafts.get(design).design)
        return {"sites": [str(s) for s in found[:MOST_SITES]], "of": len(found)}

    def apply(self, design: str, rule: str, site: str) -> Json:
        return {"draft": self._drafts.apply(design, rule, site)}

    def edit(self, design: str, edits: Sequence[dict[str, str]]) -> Json:
        return {"draft": self._drafts.edit(design, edits)}

    def write(self, design: str, text: str) -> Json:
        return {"draft": self._drafts.write(design, text)}

    def verify(self, design: str) -> Json:
        self._count()
        found = self._trials.verify(self._drafts.get(design).design)
        if not isinstance(found, Judgement):
            return {"verdict": "failed", "reasons": [found[:400]]}
        verdict = "accepted" if found.accepted else "refused"
        return {"verdict": verdict, "reasons": [text[:400] for _, text in found.reasons[:6]]}

    def evaluate(self, design: str) -> Json:
        self._count()
        draft = self._drafts.get(design)
        same = draft.same_matrix_work and self._view.archive[draft.parent].same_matrix_work
        found = self._trials.evaluate(draft.design, same)
        if found.status != "accepted":
            return {"status": found.status, "reasons": list(found.reasons), "detail": found.detail[:600]}
        points = tuple(point_from_json(p) for p in found.points)
        gain, best = gain_of(self._view.archive.baseline, points)
        analyses = analyses_of(found.points)
        near = analyses[min(analyses, key=lambda i: (abs(i - best), i))] if analyses else None
        return {
            "status": "accepted",
            "gain": _gain(gain),
            "best_point": _point(points[best]),
            "points": _points(points),
            "share_by_resource": dict(near.resources) if near else {},
        }

    def submit(self, design: str, prediction: str) -> Json:
        if len(self.proposals) >= self._places:
            raise ToolError(f"a round has {self._places} places, and all are taken; finish")
        draft = self._drafts.get(design)
        if not draft.steps:
            raise ToolError(
                "a proposal must differ from a member, but this is one; apply a rule or edit first"
            )
        try:
            name = identity(structure_of(draft.design))
        except RoofLangError as error:
            raise ToolError(str(error)[:600]) from None
        if name in self._known:
            raise ToolError("this structure is known already; propose another one")
        self._known.add(name)
        self.proposals.append(
            Proposal(draft.parent, draft.steps, draft.design, prediction[:500], draft.same_matrix_work)
        )
        left = self._places - len(self.proposals)
        self.finished = left == 0
        return {"submitted": len(self.proposals), "places_left": left}

    def search_notes(self, query: str) -> Json:
        return {"notes": [n[:MOST_NOTE_CHARACTERS] for n in self._outside.search_notes(query[:400])]}

    def write_note(self, text: str) -> Json:
        if not text.strip():
            raise ToolError("a note must say something, but is empty")
        self._outside.write_note(text[:MOST_NOTE_CHARACTERS])
        return {"kept": True}

    def finish(self) -> Json:
        self.finished = True
        return {"finished": True}

    def _count(self) -> None:
        if self._tried >= MOST_TRIALS:
            raise ToolError(f"a round has {MOST_TRIALS} trials, and all are used; submit or finish")
        self._tried += 1


def _summary(member: Member) -> Json:
    return {
        "design": member.design_hash[:SHOWN_DIGITS],
        "gain": _gain(member.gain),
        "binding": member.binding,
        "pools": member.pools,
        "changes": len(member.steps),
    }


def _points(points: Sequence[Point]) -> list[Json]:
    step = max(1, -(-len(points) // MOST_POINTS))
    return [_point(p) for p in points[::step]]


def _point(point: Point) -> Json:
    return {
        "tokens_per_second_per_user": _short(point.tokens_per_second_per_user),
        "tokens_per_second_per_gpu": _short(point.tokens_per_second_per_gpu),
        "batch": point.batch,
        "sizes": dict(point.configuration),
        "design": point.design[:SHOWN_DIGITS],
        "binding": point.binding,
    }


def _gain(value: float) -> float:
    return round(value, 5)


def _short(value: float) -> float:
    return float(f"{value:.5g}")
