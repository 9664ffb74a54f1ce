"""Events: recorded in the database, announced to whoever waits.

The database is the record, so a reader that was away catches up; a *bus* only says that there is more.
"""

from server.events.bus import Bus, Waiter, bus_for
from server.events.log import EventLog

__all__ = ["Bus", "EventLog", "Waiter", "bus_for"]
