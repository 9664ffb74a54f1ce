"""Faults that real systems have, injected into what the rules make: the verifier must refuse every one."""

from mutations.faults.fault import Fault
from mutations.faults.kinds import BY_NAME, FAULTS

__all__ = ["BY_NAME", "FAULTS", "Fault"]
