"""`seis verify CERTIFICATE`: a certificate from a file, or from the database by its hash, replayed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seis.cli.sources import open_database

if TYPE_CHECKING:
    import db
    from mutations.verify.replay import Replay
    from rooflang.design import Design


def again(name: str, place: str) -> Replay:
    """The verdict of a certificate, found out anew."""
    from mutations.verify.replay import compared, replay

    if Path(name).is_file() or name.endswith(".json"):
        return replay(read(Path(name)))
    with open_database(place, create=False) as database:
        record = database.get_certificate(name)
        candidate, model = _stored(database, record.candidate_structure_hash)
        reference = _reference(database, record.reference_structure_hash, model)
    return compared(reference, candidate, record.body)


def read(path: Path) -> Mapping[str, Any]:
    """The document in a file. Raises CertificateError for what is none."""
    from mutations.verify.replay import CertificateError

    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CertificateError(
            f"a certificate must be readable, but {path} is not: {error.strerror}"
        ) from None
    except ValueError as error:
        raise CertificateError(f"a certificate must be JSON, but {path} is not: {error}") from None
    if not isinstance(said, dict):
        raise CertificateError(f"a certificate must be a JSON object, but {path} holds another value")
    return said


def _stored(database: db.Database, structure: str) -> tuple[Design, str]:
    """A stored design of this structure, and its model."""
    from mutations.verify.replay import CertificateError
    from rooflang.parser import parse

    found = database.list_designs(structure_hash=structure, limit=1)
    if not found:
        raise CertificateError(
            f"to be replayed, a certificate's designs must be stored, but none has the structure {structure}"
        )
    return parse(found[0].text), found[0].model


def _reference(database: db.Database, structure: str, model: str) -> Design:
    """The design that a search held its candidates to: a stored one, or the model as the catalogue has it."""
    from catalogue.errors import CatalogueError
    from catalogue.models import load_model
    from rooflang.canonical import structure_hash

    for cache in ("served", "bf16"):
        try:
            design = load_model(model, cache)
        except CatalogueError:
            break
        if structure_hash(design) == structure:
            return design
    return _stored(database, structure)[0]
