"""A stored certificate found out anew: the same designs, the same seed, compared with what it says."""

from __future__ import annotations

import time
from typing import Any

from agent.stored import problem_of
from db import Database
from mutations.verify.replay import CertificateError, compared
from rooflang.parser import parse
from server.problems import Refusal


def again(order: dict[str, Any]) -> dict[str, Any]:
    """`order` has the database, the search, the structure's hash and the certificate's."""
    with Database.open(order["database"], create=False) as database:
        problem = problem_of(database.get_search(order["search"]))
        candidate = parse(database.get_design(order["design"]).text)
        record = database.get_certificate(order["certificate"])
    began = time.perf_counter()
    try:
        found = compared(problem.reference(), candidate, record.body)
    except CertificateError as error:
        raise Refusal("conflict", str(error)) from None
    return {
        "certificate": record.certificate_hash, "stands": found.stands,
        "differences": list(found.differences), "seconds": time.perf_counter() - began,
    }  # fmt: skip
