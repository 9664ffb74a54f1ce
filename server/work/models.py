"""What a catalogued model counts, and the measurements of the catalogue held against their bounds."""

from __future__ import annotations

from typing import Any

from catalogue.models import counts, load_model
from catalogue.models.registry import describe

CONTEXTS = (4096, 32768, 131072, 1048576)


def figures(name: str) -> dict[str, Any]:
    """Parameters, cache bytes and FLOPs of a model, and where its facts are from."""
    served, bf16, about = load_model(name), load_model(name, "bf16"), describe(name)
    return {
        "name": served.name,
        "source": about.source,
        "precision": about.precision,
        "inferred": list(about.inferred),
        "parameters": counts.parameters(served),
        "active_parameters": counts.active_parameters(served),
        "kv_bytes_per_token": {
            kind: {str(c): counts.kv_bytes_per_token(d, c) for c in CONTEXTS}
            for kind, d in (("bf16", bf16), ("served", served))
        },
        "state_bytes": counts.state_bytes(served),
        "flops_per_token": {str(c): counts.flops_per_token(served, c) for c in CONTEXTS},
    }


def validation(_: object) -> dict[str, Any]:
    """The catalogued measurements against their bounds."""
    from catalogue.measured import measured_files
    from evaluator.truth.rows import read
    from evaluator.truth.validation import validate
    from mutations.start import starting_designs

    found = validate([read(f) for f in measured_files()], starting_designs)
    return {
        "rows": found.rows,
        "placed": len(found.placed),
        "violations": [p.id for p in found.violations],
        "not_placed": [{"id": name, "reason": reason} for name, reason in found.not_placed],
        "fraction_of_bound": {
            by: {
                name: dict(zip(("first", "median", "third", "rows"), q, strict=True)) for name, q in g.items()
            }
            for by, g in found.quartiles().items()
        },
    }
