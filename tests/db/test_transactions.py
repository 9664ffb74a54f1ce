"""All or nothing, one writer, one moment for readers."""

from __future__ import annotations

import os
import threading
import traceback
from contextlib import suppress
from dataclasses import replace

import pytest

from db import BusyError, ConflictError, Database, DatabaseError, InvalidValueError
from tests.db.samples import design, digest, evaluation


def test_an_error_in_the_block_stores_nothing(database: Database) -> None:
    def interrupted() -> None:
        with database.transaction() as tx:
            tx.save_design(design(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert database.list_designs() == ()
    assert database.save_design(design(1)), "the lock must be free again"


def test_an_error_that_was_caught_does_not_store_half(database: Database) -> None:
    def careless() -> None:
        with database.transaction() as tx:
            tx.save_design(design(1))
            with suppress(ConflictError):
                tx.save_evaluation(evaluation(2, (1.0, 1.0)))

    with pytest.raises(DatabaseError, match="a call in it failed; begin a new one"):
        careless()
    assert database.list_designs() == ()


def test_a_failed_transaction_refuses_more(database: Database) -> None:
    with pytest.raises(DatabaseError, match="a call in it failed"), database.transaction() as tx:  # noqa: PT012
        with suppress(InvalidValueError):
            tx.save_design(replace(design(1), text="\0"))
        tx.save_design(design(2))


def test_a_transaction_ends_with_its_block(database: Database) -> None:
    with database.transaction() as tx:
        tx.save_design(design(1))
    with pytest.raises(DatabaseError, match="it has ended"):
        tx.save_design(design(2))
    assert database.list_designs() == (design(1),)


def test_a_write_beside_the_open_transaction_is_refused_at_once(database: Database) -> None:
    with database.transaction() as tx:
        with pytest.raises(DatabaseError, match="write through the first"):
            database.save_design(design(1))
        tx.save_design(design(2))
    assert database.list_designs() == (design(2),)


def test_a_snapshot_stays_at_its_moment_and_only_reads(database: Database) -> None:
    database.save_design(design(1))
    with database.snapshot() as before:
        assert before.list_designs() == (design(1),)
        database.save_design(design(2))
        assert before.list_designs() == (design(1),)
        with pytest.raises(DatabaseError, match="must only be read"):
            before.save_design(design(3))
    assert len(database.list_designs()) == 2


def test_threads_take_turns(database: Database) -> None:
    def write(numbers: range) -> None:
        with database.transaction() as tx:
            for number in numbers:
                tx.save_design(design(number))

    threads = [threading.Thread(target=write, args=(order,)) for order in (range(20), range(19, -1, -1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(database.list_designs()) == 20


def test_a_lock_held_elsewhere_is_one_sentence(url: str) -> None:
    with Database.open(url) as holder, Database.open(url, busy_timeout_seconds=0.05) as waiter:
        with holder.transaction() as tx:
            tx.save_design(design(1))
            with pytest.raises(BusyError, match=r"another process holds .*; retry, or stop that process"):
                waiter.save_design(design(2))
            assert waiter.find_design(digest(1)) is None, "readers do not wait"
        assert waiter.save_design(design(2))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_uses_connections_of_its_own(database: Database) -> None:
    database.save_design(design(1))
    child = os.fork()
    if child == 0:
        try:
            saved = database.save_design(design(2))
            os._exit(0 if saved else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert database.save_design(design(3))
    assert len(database.list_designs()) == 3
