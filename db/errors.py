"""Everything that can go wrong with the database, as one small tree.

DatabaseError
├── OpenError               the place cannot be used: missing, read-only, corrupt, unreachable, not ours
│   └── NewerDatabaseError  a newer version of SEIS wrote it
├── BusyError               another process holds the write lock for longer than the time-out
├── NotFoundError           nothing stored under that name
├── AmbiguousPrefixError    several things stored under that prefix
├── ConflictError           the value contradicts, or refers to, what is (not) stored
│   └── SearchTakenError    another process runs this search
└── InvalidValueError       the value cannot be stored: not a number, a NUL character, a naive time

Each message is one sentence: what must hold, what was got, and what to do.
"""

from __future__ import annotations


class DatabaseError(Exception):
    """The database could not do what was asked."""


class OpenError(DatabaseError):
    """The place named as a database cannot be used as one."""


class NewerDatabaseError(OpenError):
    """The database carries a revision that this version does not know."""


class BusyError(DatabaseError):
    """The write lock was not free within the time-out; the same call may succeed later."""


class NotFoundError(DatabaseError):
    """Nothing is stored under the given hash, identifier or prefix."""


class AmbiguousPrefixError(DatabaseError):
    """A prefix names more than one stored thing."""


class ConflictError(DatabaseError):
    """A value contradicts what is stored, or refers to something that is not."""


class SearchTakenError(ConflictError):
    """The search belongs to another process that is alive."""


class InvalidValueError(DatabaseError):
    """A value cannot be stored and read back unchanged."""
