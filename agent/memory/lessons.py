"""What a run leaves behind: verdicts on open hypotheses, new ones, and a note on what it found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import db
    from agent.archive import Archive
    from agent.store import SearchStore

TRIALS = 3
"""Trials of a rule in one search before a verdict on it."""

KEPT = 0.5
"""Share of a prediction that must be measured for it to be confirmed."""

WORTH = 0.01
"""Mean gain per trial from which a rule is worth a hypothesis, and gain on both axes that is worth a note."""


def learn(store: SearchStore, archive: Archive) -> None:
    """Write lessons in one transaction; doing it again changes nothing."""
    from db import Hypothesis, utc_now

    database, model = store.database, store.problem.model
    counted = database.rule_statistics(store.search_id)
    known = database.list_hypotheses()
    names = {h.hypothesis_id for h in known}
    judged = [
        found
        for h in known
        if h.rule and h.model in ("", model) and h.search_id != store.search_id
        and (found := judge(h, counted)) is not None
    ]  # fmt: skip
    stated = [
        Hypothesis(
            statement=f"{row.rule} gains where {row.resource} binds", author="search", rule=row.rule,
            resource=row.resource, model=model, search_id=store.search_id,
            prediction=row.gained / row.proposed,
        )
        for row in counted
        if row.resource and row.proposed >= TRIALS and row.gained >= WORTH * row.proposed
    ]  # fmt: skip
    note = _note(store, archive)
    with database.transaction() as tx:
        for found in judged:
            tx.save_hypothesis(replace(found, updated_at=utc_now()))
        for new in stated:
            if new.hypothesis_id not in names:
                tx.save_hypothesis(new)
        if note is not None:
            tx.save_note(note)


def judge(hypothesis: db.Hypothesis, counted: Iterable[db.RuleStatistics]) -> db.Hypothesis | None:
    """The hypothesis with what was measured; None where too little was.

    Confirmed if the mean gain per trial is at least half of the prediction (or, without one, above 0).
    """
    rows = [r for r in counted if r.rule == hypothesis.rule and hypothesis.resource in ("", r.resource)]
    trials = sum(r.proposed for r in rows)
    if trials < TRIALS:
        return None
    measured = sum(r.gained for r in rows) / trials
    wanted = KEPT * hypothesis.prediction if hypothesis.prediction is not None else 0.0
    verdict: db.HypothesisVerdict = "confirmed" if measured >= wanted and measured > 0 else "refuted"
    return replace(hypothesis, verdict=verdict, measurement=measured, trials=trials)


def _note(store: SearchStore, archive: Archive) -> db.Note | None:
    """What the best design is, in one sentence."""
    from db import Note

    best = max(archive.members(), key=lambda m: (m.gain, -m.sequence), default=None)
    if best is None or best.gain < WORTH or not best.steps:
        return None
    p = store.problem
    steps = " + ".join(f"{s.rule} at {s.site}" for s in best.steps)
    text = (
        f"{best.gain:+.1%} on both axes for {p.model} on {p.count} x {p.accelerator.name} at a context of "
        f"{p.scenario.context:,}: {steps} (design {best.design_hash[:12]}; {best.binding or 'nothing'} binds)"
    )
    tags = ("discovery", *({best.binding} - {""}))
    return Note(text=text, author="search", tags=tags, model=p.model, search_id=store.search_id)
