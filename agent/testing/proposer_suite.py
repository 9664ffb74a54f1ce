"""What every proposer must do, as one function: `check_proposer(factory)` raises where one does not.

>>> from agent.exhaustive import Exhaustive
>>> check_proposer(Exhaustive)                                                      # doctest: +SKIP
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence

from agent.proposer import Factory, Json, Proposal, Proposer, Told, View
from agent.testing.views import small_view
from rooflang.canonical import design_hash
from rooflang.errors import RoofLangError
from rooflang.parser import parse
from rooflang.printer import print_design

SEED = 5
PLACES = 6
LONGEST_SECONDS = 60.0
"""An `ask` that has yielded nothing for so long is hung."""


class ConformanceError(AssertionError):
    """A proposer does not do what it must; the message says what."""


def check_proposer(factory: Factory, view: View | None = None) -> None:
    """Run every check on fresh proposers. Raises ConformanceError."""
    seen = view or small_view()
    for check in CHECKS:
        check(factory, seen)


def has_a_name(factory: Factory, view: View) -> None:
    """It has one name, whatever its state and seed."""
    names = {factory(None, 0).name, factory(None, SEED).name, factory(factory(None, 0).state(), 0).name}
    _must(len(names) == 1 and all(names), f"a proposer must have one name, but has {sorted(names)}")


def survives_an_empty_archive(factory: Factory, view: View) -> None:
    """With nothing to start from it may propose nothing, and must not fail."""
    proposer = factory(None, SEED)
    list(itertools.islice(proposer.ask(small_view(0), PLACES), PLACES))
    proposer.tell([])
    _saved(proposer)


def proposes_what_can_be_read(factory: Factory, view: View) -> None:
    """Every design prints as text that parses to the same design; its parent is a member or none."""
    for proposal in _round(factory(None, SEED), view):
        _must(
            not proposal.parent or proposal.parent in view.archive,
            f"a parent must be a member of the archive or empty, but is {proposal.parent[:16]!r}",
        )
        try:
            again = parse(print_design(proposal.design))
        except RoofLangError as error:
            raise ConformanceError(f"a proposal must parse, but {error}") from None
        _must(
            design_hash(again) == design_hash(proposal.design),
            "a proposal's text must give the same design again, but gives another one",
        )


def is_deterministic(factory: Factory, view: View) -> None:
    """Two proposers of one seed propose the same, whatever the budget is said to be."""
    first, second = _rounds(factory(None, SEED), view, 2), _rounds(factory(None, SEED), view, 2)
    _must(first == second, "two proposers of one seed must propose the same, but do not")


def keeps_its_state_in_json(factory: Factory, view: View) -> None:
    """Made again from its state between rounds, it goes on as if it had never stopped."""
    whole, broken = factory(None, SEED), factory(None, SEED)
    for _ in range(3):
        expected, got = _told(whole, view), _told(broken, view)
        _must(expected == got, "a proposer made again from its state must go on alike, but does not")
        broken = factory(_saved(broken), SEED)


def resumes_in_the_middle_of_a_round(factory: Factory, view: View) -> None:
    """A round that was lost is asked again from the state before it, and is the same; an old state stays."""
    proposer = factory(None, SEED)
    _told(proposer, view)
    before = _saved(proposer)
    copy = json.dumps(before, sort_keys=True)
    lost = _names(_round(factory(before, SEED), view))
    again = _names(_round(factory(before, SEED), view))
    _must(lost == again, "a lost round must be proposed again, but another one is")
    _must(
        copy == json.dumps(before, sort_keys=True),
        "a proposer must not change the state that it was made from, but does; copy lists and dicts",
    )


def yields_one_by_one(factory: Factory, view: View) -> None:
    """The search takes as many as it has places for: what was not taken is not lost."""
    taken = factory(None, SEED)
    first = _names(list(itertools.islice(taken.ask(view, 1), 1)))
    rest = _names(list(itertools.islice(taken.ask(view, PLACES), PLACES)))
    _must(
        not first or first != rest[:1],
        "the state must move with every proposal, but the same one comes again",
    )


CHECKS: Sequence[Callable[[Factory, View], None]] = (
    has_a_name,
    survives_an_empty_archive,
    proposes_what_can_be_read,
    is_deterministic,
    keeps_its_state_in_json,
    resumes_in_the_middle_of_a_round,
    yields_one_by_one,
)


def _round(proposer: Proposer, view: View) -> list[Proposal]:
    started = time.monotonic()
    found = list(itertools.islice(proposer.ask(view, PLACES), PLACES))
    seconds = time.monotonic() - started
    _must(seconds < LONGEST_SECONDS, f"a round must be proposed in seconds, but took {seconds:.0f} s")
    return found


def _told(proposer: Proposer, view: View) -> list[str]:
    """A round, told alternately as accepted and refused."""
    found = _round(proposer, view)
    proposer.tell(
        [
            Told(p, *(("accepted", 0.02, True, 0.01) if n % 2 else ("refused", 0.0, False, 0.0)))
            for n, p in enumerate(found)
        ]
    )
    return _names(found)


def _rounds(proposer: Proposer, view: View, count: int) -> list[list[str]]:
    return [_told(proposer, view) for _ in range(count)]


def _names(found: Sequence[Proposal]) -> list[str]:
    return [f"{p.parent}/{design_hash(p.design)}" for p in found]


def _saved(proposer: Proposer) -> Json:
    """The state after a way through JSON."""
    try:
        text = json.dumps(proposer.state(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConformanceError(f"a state must be plain JSON, but is not: {error}") from None
    again: Json = json.loads(text)
    _must(json.dumps(again) == text, "a state must come back from JSON as it was, but does not")
    return again


def _must(held: bool, message: str) -> None:
    if not held:
        raise ConformanceError(message)
