"""In which formats a model's matrices and caches are stored, part by part."""

from __future__ import annotations

from rooflang.design import Design, State, Weight, walk


def formats_by_part(design: Design) -> dict[str, str]:
    """The formats of each section's matrices, by its last name, and of `caches`, commonest first.

    Draft layers are left out.
    """
    sizes = design.program.sizes
    found: dict[str, dict[str, float]] = {}
    for path, statement in walk(design.program.body):
        if path and path[0] == "mtp":
            continue
        if isinstance(statement, State) and statement.rows != "last":
            part = "caches"
        elif (
            isinstance(statement, Weight) and len(statement.dims) > 1 and not statement.dtype.startswith("i")
        ):
            part = path[-1]
        else:
            continue
        volume = 1.0
        for d in statement.dims:
            volume *= float(sizes[d].at(B=1, Q=1, S=4096))
        formats = found.setdefault(part, {})
        formats[statement.dtype] = formats.get(statement.dtype, 0.0) + volume
    return {part: "/".join(sorted(f, key=lambda d: -f[d])) for part, f in found.items()}
