"""Devices: the published limits of accelerators, one file each, with sources."""

from catalogue.devices.device import FAMILIES, FORMATS, Alternative, Device
from catalogue.devices.registry import device_names, load_device

__all__ = ["FAMILIES", "FORMATS", "Alternative", "Device", "device_names", "load_device"]
