"""A comparison as a file: CSV, Parquet or JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from agent.comparison.result import Comparison
from agent.errors import ProblemError

FORMATS = (".csv", ".parquet", ".json")


def write_table(comparison: Comparison, path: Path) -> None:
    """One row per model, device and context; columns as `Result.row`. The suffix chooses the format.

    Raises ProblemError for another suffix.
    """
    rows = [r.row() for r in comparison.results]
    match path.suffix.lower():
        case ".csv":
            out = io.StringIO()
            writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            content = out.getvalue().encode()
        case ".json":
            content = (json.dumps(rows, indent=2) + "\n").encode()
        case ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as parquet

            sink = pa.BufferOutputStream()
            parquet.write_table(pa.Table.from_pylist(rows), sink)
            content = sink.getvalue().to_pybytes()
        case other:
            raise ProblemError(
                f"a table's file must end in {', '.join(FORMATS)}, but got {other or 'no suffix'}"
            )
    path.write_bytes(content)
