"""The verifier: pairs the parts of two designs, compares what changed, and certifies the candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import thread_time

from mutations.verify.cache import Cache, Results
from mutations.verify.certificate import certificate
from mutations.verify.degree import bound, degree, trials
from mutations.verify.execute import Job, WorkFormula, compare
from mutations.verify.pairing import Pair, pair
from mutations.verify.verdict import Reason, Verdict
from mutations.verify.work import work_differences
from rooflang.check import check
from rooflang.design import Design, Placement, Schedule
from rooflang.errors import DesignError, RoofLangError
from rooflang.lower import lower
from rooflang.lowered import Lowered, Unit, bare, used_axes
from rooflang.run import ExecutionError, shrink_units

Meshes = tuple[tuple[str, tuple[str, ...]], ...]
_RESULTS = Results()
_DEGREES: dict[tuple[object, ...], int] = {}


def verify(
    reference: Design,
    candidate: Design,
    seed: int = 0,
    *,
    cache: Cache | None = None,
    hashes: Mapping[str, str] | None = None,
    work_formula: WorkFormula | None = work_differences,
) -> Verdict:
    """Whether the candidate computes what the reference computes.

    The reference runs on one device: its placement does not matter. `hashes` go into the certificate;
    `work_formula` compares executed work with the cost formulas (None leaves that layer out). User errors
    are reasons, never exceptions.
    """
    began = thread_time()
    try:
        lowered = lower(candidate)
    except RoofLangError as error:
        where = error.where if isinstance(error, DesignError) else ""
        return _refused((Reason("placement.lowering", where, str(error)),), ("lower",), began)
    return verify_lowered(
        reference, lowered, seed, cache=cache, hashes=hashes, work_formula=work_formula, began=began
    )


def verify_lowered(
    reference: Design,
    candidate: Lowered,
    seed: int = 0,
    *,
    cache: Cache | None = None,
    hashes: Mapping[str, str] | None = None,
    work_formula: WorkFormula | None = work_differences,
    began: float | None = None,
) -> Verdict:
    """The same for a candidate that is already lowered."""
    began = thread_time() if began is None else began
    plain = _lowered_alone(reference)
    problems = check(candidate, numbers=False)
    if problems:
        return _refused(
            tuple(Reason(p.code, p.where, p.message, p.hint) for p in problems), ("static",), began
        )
    pairs, wrong = pair(plain, candidate)
    wrong = (*_sizes(plain, candidate), *_constants(candidate), *wrong)
    if wrong:
        return _refused(wrong, ("static",), began)
    job = Job(plain, candidate, seed, candidate.design.schedule.microbatches, work_formula)
    layers = ("static", "executed") if work_formula is None else ("static", "executed", "work")
    found: list[Reason] = []
    changed = [
        p
        for p in pairs
        if job.microbatches > 1 or p.reference is None or not identical(p.reference, p.candidate)
    ]
    degrees = [_degree(job, p) for p in changed]
    counts = [trials(d, len(changed)) for d in degrees]
    for p, count in zip(changed, counts, strict=True):
        found.extend(_compared(job, p, count, cache))
    if found:
        return _refused(tuple(found), layers, began)
    chance = bound(degrees, counts)
    milliseconds = (thread_time() - began) * 1e3
    record = certificate(
        plain, candidate, seed, changed, len(pairs), degrees, counts, chance, layers, hashes or {}
    )
    return Verdict(True, (), layers, chance, milliseconds, record)


def alone(design: Design) -> Design:
    """The design on one device."""
    return replace(design, pools=(), placement=Placement(), schedule=Schedule())


_ALONE: dict[int, tuple[Design, Lowered]] = {}


def _lowered_alone(reference: Design) -> Lowered:
    """The reference on one device, lowered once per object: to hash a whole model costs milliseconds."""
    found = _ALONE.get(id(reference))
    if found is None:
        if len(_ALONE) >= 64:
            _ALONE.clear()
        found = _ALONE[id(reference)] = (reference, lower(alone(reference)))
    return found[1]


def _refused(reasons: tuple[Reason, ...], layers: tuple[str, ...], began: float) -> Verdict:
    return Verdict(False, reasons, layers, 0.0, (thread_time() - began) * 1e3)


def _sizes(reference: Lowered, candidate: Lowered) -> tuple[Reason, ...]:
    """Shared dimensions keep their sizes; new ones are fixed, or equal to one of the reference."""
    ours = reference.sizes
    known = set(ours.values())
    found = []
    for name, size in candidate.sizes.items():
        if name in ours and ours[name] is not size:
            message = f"dimension {name} must have the size {ours[name]}, but has {size}"
            found.append(Reason("type.size", "dims", message))
        elif name not in ours and size.constant is None and size not in known:
            message = (
                f"a new dimension must have a fixed size or one of the reference's, but {name} has {size}"
            )
            found.append(Reason("type.size", "dims", message))
    return tuple(found)


# Far above any constant of a model, and below the primes: none can be chosen to vanish modulo a prime.
LARGEST_CONSTANT = 1e9


def _constants(candidate: Lowered) -> tuple[Reason, ...]:
    """Constants that multiply must be small beside the primes."""
    return tuple(
        Reason(
            "type.constant",
            f"{unit.path}.{op.result.name}",
            f"{key} must be at most 1e9 in size, but got {value:g}",
        )
        for _, unit in candidate.units()
        for op in unit.ops
        if op.operator == "scale"
        for key, value in op.attributes
        if isinstance(value, int | float) and not abs(value) <= LARGEST_CONSTANT
    )


def identical(a: Unit, b: Unit) -> bool:
    """Whether two units are the same but for their place and their kernels."""
    return bare(a) == bare(b)


def _compared(job: Job, p: Pair, count: int, cache: Cache | None) -> tuple[Reason, ...]:
    context = (*_sized(job, p), job.seed, count, min(job.microbatches, 2), job.work_formula is not None)
    first = p.candidate if p.reference is None else p.reference
    known = _RESULTS.get(first, p.candidate, context, cache)
    if known is None:
        known = compare(job, p, count)
        _RESULTS.put(first, p.candidate, context, known, cache)
    return known


def used_meshes(unit: Unit, meshes: Meshes) -> Meshes:
    """The meshes without axes that do not matter to the unit, and without pools that have no others."""
    used = used_axes(unit)
    kept = ((pool, tuple(a for a in axes if a in used)) for pool, axes in meshes)
    return tuple((pool, axes) for pool, axes in kept if axes)


def _sized(job: Job, p: Pair) -> tuple[object, ...]:
    """What decides the test sizes of a pair, beside its units."""
    dims = (job.reference.design.program.dims, job.candidate.design.program.dims)
    return (*dims, used_meshes(p.candidate, job.candidate.meshes))


def _degree(job: Job, p: Pair) -> int:
    key = (bare(p.candidate), *_sized(job, p))
    found = _DEGREES.get(key)
    if found is None:
        try:
            trial = shrink_units((job.reference, job.candidate), [p.candidate], 0)
        except ExecutionError:
            return 10**6
        found = degree(p.candidate, trial)
        if len(_DEGREES) > 20000:
            _DEGREES.clear()
        _DEGREES[key] = found
    return found
