"""The gate: every kind of fault in the result of every rule on every workload, and right rewrites."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mutations.faults.fault import Fault, WholeFault
from mutations.faults.judge import CAUGHT, EQUIVALENT, REAL, Judgement, judge, judge_whole
from mutations.faults.kinds import FAULTS, WHOLE
from mutations.registry import rule as named
from mutations.rule import Rule, RuleError, Site, site
from mutations.verify.verifier import verify_lowered
from rooflang.design import Design
from rooflang.lower import lower
from rooflang.lowered import Lowered, Unit, fused

__all__ = ["CAUGHT", "EQUIVALENT", "REAL", "Case", "Injected", "case", "composed", "inject", "right"]

_TRIES = 3  # places of a rule that may say no


@dataclass(frozen=True, slots=True)
class Case:
    """A rule applied at a site: its result, and the units that it changed."""

    rule: str
    workload: str
    site: Site
    reference: Design
    result: Lowered
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Injected:
    """One injection and what became of it."""

    rule: str
    workload: str
    site: str
    fault: str
    judgement: Judgement


def case(rule: Rule, workload: str, reference: Design, starts: Sequence[Design], seed: int) -> Case | None:
    """The rule at a site of one of the designs, or of what its inverse makes of one, chosen by the seed;
    None if it has no site in any."""
    rng = random.Random(f"{rule.name}/{workload}/{seed}")
    order = rng.sample(list(starts), len(starts))
    inverse = None if rule.inverse is None else named(rule.inverse)
    for source in (*order, *_made(inverse, order, rng)):
        sites = rule.sites(source)
        if sites:
            where = rng.choice(sites)
            result = lower(rule.apply(source, where))
            return Case(rule.name, workload, where, reference, result, _changed(lower(source), result))
    return None


def composed(
    rules: Sequence[Rule], workload: str, reference: Design, starts: Sequence[Design], seed: int, length: int
) -> tuple[Case, str]:
    """A random composition: `length` rules drawn by the seed, each at a site of what those before it made;
    and the rules with their sites, in words."""
    rng = random.Random(f"composed/{workload}/{seed}")
    source = design = rng.choice(list(starts))
    done: list[str] = []
    where = site("nowhere")
    for r in rng.sample(list(rules), len(rules)):
        if len(done) == length:
            break
        sites = r.likely_sites(design)
        for where in rng.sample(sites, min(len(sites), _TRIES)):
            try:
                design = r.apply(design, where)
            except RuleError:
                continue
            done.append(f"{r.name} at {where}")
            break
    result = lower(design)
    return Case(
        "composition", workload, where, reference, result, _changed(lower(source), result)
    ), "; ".join(done)


def _made(inverse: Rule | None, starts: Sequence[Design], rng: random.Random) -> Iterator[Design]:
    for start in starts if inverse is not None else ():
        sites = inverse.sites(start) if inverse is not None else ()
        if sites and inverse is not None:
            yield inverse.apply(start, rng.choice(sites))


def _changed(before: Lowered, after: Lowered) -> tuple[Unit, ...]:
    """Units that the rule made; all, if it changed the schedule alone."""
    old = {fused(u) for _, u in before.units()}
    units = [u for _, u in after.units() if u.ops]
    made = tuple(u for u in units if fused(u) not in old)
    return made or tuple(units)


def right(case: Case, seed: int) -> str:
    """Why the verifier refuses the rule's result, or nothing: it must accept it."""
    verdict = verify_lowered(case.reference, case.result, seed)
    return "" if verdict.accepted else "; ".join(str(r) for r in verdict.reasons)


def inject(
    case: Case,
    seed: int,
    faults: Sequence[Fault | WholeFault] = (*FAULTS, *WHOLE),
    most: int | None = 1,
) -> Iterator[Injected]:
    """Up to `most` injections of each kind into the changed units, at places chosen by the seed; faults of
    whole designs into the design."""
    for fault in faults:
        rng = random.Random(f"{case.rule}/{case.workload}/{fault.name}/{seed}")
        if isinstance(fault, WholeFault):
            found = _whole(case, fault, rng, seed, most)
        else:
            found = _in_units(case, fault, rng, seed, most)
        for judgement in found:
            yield Injected(case.rule, case.workload, str(case.site), fault.name, judgement)


def _whole(
    case: Case, fault: WholeFault, rng: random.Random, seed: int, most: int | None
) -> Iterator[Judgement]:
    places = list(fault.find(case.result))
    rng.shuffle(places)
    for where, bad in places[:most]:
        yield judge_whole(case.reference, where, bad, seed)


def _in_units(
    case: Case, fault: Fault, rng: random.Random, seed: int, most: int | None
) -> Iterator[Judgement]:
    meshes = dict(case.result.meshes)
    done = 0
    for unit in rng.sample(case.units, len(case.units)):
        places = fault.places(unit, meshes)
        rng.shuffle(places)
        for where, bad in places[: None if most is None else most - done]:
            done += 1
            yield judge(case.reference, case.result, unit, fault, where, bad, seed)
        if most is not None and done >= most:
            return
