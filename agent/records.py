"""Where a search stands, and what an entry of a round leaves in the database."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, cast

from agent.rounds import Entry
from agent.trial import Json, Judgement, Outcome
from agent.versions import verifier_version

if TYPE_CHECKING:
    import db


@dataclass
class Position:
    """From where a search continues; the stored cursor.

    `memory` is what was recalled of other searches when this one began, and `quiet` how many structures were
    tried since the frontier last grew. `began` is how many were tried when the budget that leads to `target`
    began. `runs` are those of `agent.companion`.
    """

    round: int = 0
    sequence: int = 0
    target: int = 0
    began: int = 0
    proposers: Json = field(default_factory=dict)
    rules: str = ""
    memory: Json = field(default_factory=dict)
    quiet: int = 0
    runs: list[Json] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Result:
    """One entry of a round with its outcome.

    `gain` compares with the baseline, `change` is the gain less the parent's, and `improved` says that the
    entry beats its parent or extends the frontier; `contribution` is the hypervolume that it added to it.
    """

    entry: Entry
    outcome: Outcome
    sequence: int
    gain: float | None
    change: float
    improved: bool
    contribution: float = 0.0


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the entries of one search."""

    search_id: str
    model: str
    reference_hash: str
    conditions: db.Conditions

    def write(self, tx: db.Transaction, round_number: int, result: Result) -> None:
        """Everything about one entry."""
        from db import Candidate, Design, Evaluation

        item, outcome, proposal = result.entry, result.outcome, result.entry.proposal
        name = outcome.design_hash
        tx.save_design(
            Design(
                design_hash=name,
                structure_hash=item.structure_hash,
                text=outcome.text,
                model=self.model,
                rule=proposal.rule if proposal else "",
                summary=f"{proposal.rule} at {proposal.site}" if proposal else item.design.name,
            )
        )
        step = lineage_of(item, outcome)
        if step is not None:
            tx.save_lineage(step)
        self._count(tx, result)
        certificate = None
        if outcome.judgement is not None:
            certificate = tx.save_certificate(
                certificate_of(self.reference_hash, item.structure_hash, outcome.judgement)
            )
        if outcome.status == "accepted":
            tx.save_evaluation(
                Evaluation(
                    design_hash=name,
                    conditions=self.conditions,
                    points=outcome.points,
                    seconds=outcome.seconds,
                )
            )
        tx.record_candidate(
            Candidate(
                search_id=self.search_id,
                design_hash=name,
                status=cast("db.CandidateStatus", outcome.status),
                round_number=round_number,
                sequence_number=result.sequence,
                proposer=item.proposer,
                reasons=outcome.reasons,
                detail=outcome.detail,
                certificate_hash=certificate,
                gain=result.gain,
                parent_hash=step.parent_hash if step else "",
                rule=step.rule if step else "",
            )
        )

    def _count(self, tx: db.Transaction, result: Result) -> None:
        accepted, improved = int(result.outcome.status == "accepted"), int(result.improved)
        steps = result.entry.proposal.steps if result.entry.proposal else ()
        for step in steps:
            tx.count_rule(
                step.rule,
                result.entry.resource,
                proposed=1,
                accepted=accepted,
                improved=improved,
                gained=max(0.0, result.change) / len(steps),
                search_id=self.search_id,
            )


def certificate_of(reference: str, structure: str, judgement: Judgement) -> db.Certificate:
    """What the verifier said of a pair of structures, named by their hashes, as it is stored."""
    from db import Certificate

    hashes = {"reference": reference, "candidate": structure}
    body = {**judgement.certificate, "hashes": hashes, "reasons": [list(r) for r in judgement.reasons]}
    named = [reference, structure, verifier_version(), judgement.accepted, body]
    return Certificate(
        certificate_hash=hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest(),
        verdict="accepted" if judgement.accepted else "refused",
        reference_structure_hash=reference,
        candidate_structure_hash=structure,
        verifier_version=verifier_version(),
        body=body,
    )


def lineage_of(item: Entry, outcome: Outcome) -> db.Lineage | None:
    """The step that made an entry from its parent; None for one without."""
    from db import Lineage

    proposal = item.proposal
    if proposal is None or not proposal.parent:
        return None
    parameters = {
        "steps": [asdict(s) for s in proposal.steps],
        "prediction": proposal.prediction,
        "same_matrix_work": proposal.same_matrix_work,
    }
    return Lineage(
        child_hash=outcome.design_hash,
        parent_hash=proposal.parent,
        rule=proposal.rule,
        site=proposal.site,
        parameters=parameters,
    )
