"""How long the import of a config.json takes, from the file to the design: CPU time per file.

    python -m benchmarks.import_model [PATH ...]

Without paths, the configs of the catalogue's own tests are written to a temporary folder and imported.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from catalogue.huggingface import import_config

LIMIT_SECONDS = 0.2


def main(paths: list[Path]) -> None:
    """Print the slowest imports and the median."""
    found: list[tuple[float, str]] = []
    for path in paths:
        began = time.process_time()
        import_config(path).design()
        found.append((time.process_time() - began, path.stem))
    found.sort(reverse=True)
    for seconds, name in found[:5]:
        print(f"{name:40} {seconds * 1e3:6.1f} ms")
    print(f"{'median of ' + str(len(found)):40} {found[len(found) // 2][0] * 1e3:6.1f} ms")
    over = sum(seconds > LIMIT_SECONDS for seconds, _ in found)
    print(f"{over} take more than {LIMIT_SECONDS * 1e3:.0f} ms")


def examples(folder: Path) -> list[Path]:
    """The configs of the tests as files."""
    from tests.catalogue.published import PUBLISHED

    for name, published in PUBLISHED.items():
        (folder / f"{name}.json").write_text(json.dumps(published.config), encoding="utf-8")
    return sorted(folder.iterdir())


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as place:
        main(given or examples(Path(place)))
