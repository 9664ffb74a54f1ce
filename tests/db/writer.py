"""A process that writes to a database until it is told to stop, or killed; run as a script by the tests.

python writer.py rounds URL SEARCH   whole rounds for ever; prints each round's number once it is stored
python writer.py halfway URL SEARCH  one whole round, then half of the next; prints, then waits for ever
python writer.py designs URL STEP    waits for a line, then saves DESIGNS designs, 200 at a time by this step
python writer.py open URL            waits for a line, then opens the database, which may not exist yet
"""

from __future__ import annotations

import sys

from db import Database, Transaction
from tests.db.samples import candidate, certificate, design, evaluation

ROUND = 10
DESIGNS = 1000


def write_results(tx: Transaction, search_id: str, number: int) -> None:
    search = tx.get_search(search_id)
    for sequence in range(number * ROUND, (number + 1) * ROUND):
        tx.save_design(design(sequence))
        standing = tx.save_certificate(certificate(sequence))
        tx.save_evaluation(evaluation(sequence, (float(sequence), 1.0)))
        tx.record_candidate(candidate(search, sequence, "accepted", certificate_hash=standing))


def write_round(database: Database, search_id: str) -> int:
    """Continue from the cursor with one round."""
    number: int = database.get_search(search_id).cursor.get("next_round", 0)
    with database.transaction() as tx:
        write_results(tx, search_id, number)
        tx.update_cursor(search_id, {"next_round": number + 1})
    return number


def main(task: str, url: str, *rest: str) -> None:
    if task in ("open", "designs"):
        print("ready", flush=True)
        sys.stdin.readline()
    with Database.open(url) as database:
        if task == "designs":
            for first in range(0, DESIGNS, 200):
                with database.transaction() as tx:
                    for number in range(first, first + 200)[:: int(rest[0])]:
                        tx.save_design(design(number))
        while task == "rounds":
            print(write_round(database, rest[0]), flush=True)
        if task == "halfway":
            number = write_round(database, rest[0])
            with database.transaction() as tx:
                write_results(tx, rest[0], number + 1)
                print("half", flush=True)
                sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
