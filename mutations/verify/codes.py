"""Every code that the verifier refuses with: what must hold, and what to do where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """`layer` is the one that gives the code; `rule` says what must hold, `hint` what to do."""

    layer: str
    rule: str
    hint: str


_STATIC, _EXECUTED, _WORK = "static", "executed", "work"

CODES: Final[Mapping[str, Code]] = {
    "placement.lowering": Code(
        _STATIC, "the candidate lowers", "read the message: it names section and value"
    ),
    "structure.segments": Code(
        _STATIC, "layers and their counts are the reference's", "keep repeats and their counts"
    ),
    "structure.outputs": Code(_STATIC, "the outputs are the reference's", "give the reference's outputs"),
    "type.size": Code(
        _STATIC,
        "shared dimensions keep their sizes, new ones have fixed or known ones",
        "use a dimension of the reference",
    ),
    "type.constant": Code(
        _STATIC, "constants that multiply are small beside the primes", "write the model's constant"
    ),
    "type.operator": Code(
        _STATIC, "operands fit their operator", "compare with the operator's row in the reference"
    ),
    "type.dims": Code(
        _STATIC, "dims follow from operands, and are the reference's", "write the dims that follow"
    ),
    "type.dtype": Code(_STATIC, "formats follow from operands", "leave the format out, or cast"),
    "placement.axis": Code(_STATIC, "axes are those of the pool, in order", "name the pool's axes"),
    "placement.dim": Code(
        _STATIC, "an axis cuts a dimension of the value, the same in all operands", "cut all or none"
    ),
    "placement.pool": Code(_STATIC, "an operator reads what lives on its pool", "send the value first"),
    "placement.partial": Code(
        _STATIC,
        "partial values pass only through what is linear in them",
        "reduce it first (all_reduce or reduce_scatter)",
    ),
    "placement.over": Code(_STATIC, "what an operator acts on as a whole is not cut", "gather it first"),
    "placement.result": Code(
        _STATIC, "the result's layout follows from the operands'", "claim the layout that follows"
    ),
    "placement.collective": Code(
        _STATIC,
        "a collective meets the layout that it expects, and leaves other axes alone",
        "use the collective that the layouts ask for",
    ),
    "placement.divides": Code(
        _STATIC, "sizes and blocks divide by the axes that cut them", "shorten an axis"
    ),
    "graph.undefined": Code(_STATIC, "a value is computed before it is read", "move it up"),
    "graph.twice": Code(_STATIC, "a value is defined once", "use another name"),
    "graph.version": Code(_STATIC, "a value is read as it was made", "convert it by a collective"),
    "graph.stale": Code(
        _STATIC, "a version of a cache is not read after it was replaced", "read the newest version"
    ),
    "graph.boundary": Code(
        _STATIC, "a value enters a section as it left the one before", "convert it by a collective first"
    ),
    "graph.flow": Code(
        _STATIC, "sections take inputs from where the reference takes them", "rewire the section"
    ),
    "microbatch.count": Code(_STATIC, "there is at least one micro-batch", "write microbatches 1"),
    "placement.target": Code(
        _STATIC, "a line of placement names a section or value", "name one of the program"
    ),
    "schedule.target": Code(
        _STATIC, "a stream, prefetch or cascade names a section", "name a section of the program"
    ),
    "fusion.section": Code(_STATIC, "a fusion names a section", "name a section of the program"),
    "fusion.value": Code(
        _STATIC, "a fusion names values of its section", "name values that the section computes"
    ),
    "fusion.twice": Code(_STATIC, "a value is in one fusion", "leave it in one fusion"),
    "graph.unknown": Code(
        _EXECUTED, "weights and states are the reference's, or derived", "derive it from the reference's"
    ),
    "graph.state": Code(
        _EXECUTED,
        "the reference's caches are kept and appended to, and no others",
        "append as the reference does",
    ),
    "graph.output": Code(
        _EXECUTED, "a section gives what the reference's gives", "compute it, under its name"
    ),
    "type.state": Code(_EXECUTED, "a cache keeps its kind and span", "declare it as the reference does"),
    "type.narrowed": Code(
        _EXECUTED,
        "nothing is stored narrower than in the reference",
        "widen it; narrowing is an approximation",
    ),
    "type.carrier": Code(_EXECUTED, "only softmax and logsumexp take a log-sum-exp", "use softmax"),
    "placement.append": Code(_EXECUTED, "the tokens of an append are whole", "gather Q first"),
    "value.differs": Code(
        _EXECUTED, "every output equals the reference's", "start at the first value that differs"
    ),
    "state.differs": Code(_EXECUTED, "every cache equals the reference's", "start at what is appended"),
    "replica.mismatch": Code(
        _EXECUTED, "ranks that hold the same value hold the same data", "add the missing collective"
    ),
    "microbatch.partition": Code(
        _EXECUTED, "micro-batches cover the batch once and in order", "split it in order"
    ),
    "execution.axis": Code(_EXECUTED, "axes belong to the pool", "name an axis of the pool"),
    "execution.levels": Code(
        _EXECUTED, "exponentials are nested no deeper than the chain of primes", "cut the section in two"
    ),
    "execution.mesh": Code(_EXECUTED, "a mesh has few enough axes to be simulated", "join axes"),
    "execution.names": Code(_EXECUTED, "values have the dims of their type", "write the dims that follow"),
    "execution.operator": Code(_EXECUTED, "an operator's operands fit when executed", "read the message"),
    "execution.shape": Code(_EXECUTED, "local shapes fit", "check that every operand is cut alike"),
    "execution.sizes": Code(
        _EXECUTED,
        "small sizes keep the relations of the real ones",
        "use fewer different literals in the section",
    ),
    "work.differs": Code(
        _WORK, "what is executed costs what the formulas say", "report it: a formula is wrong"
    ),
}


def table() -> list[list[str]]:
    """Code, layer, what must hold, what to do: the rows of the documentation."""
    return [[name, c.layer, c.rule, c.hint] for name, c in CODES.items()]
