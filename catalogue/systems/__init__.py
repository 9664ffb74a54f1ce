"""Systems: devices as they are sold together, with their links, one file each, with sources."""

from catalogue.devices.registry import load_system, system_names
from catalogue.devices.system import TOPOLOGIES, System

__all__ = ["TOPOLOGIES", "System", "load_system", "system_names"]
