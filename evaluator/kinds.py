"""Devices of several kinds in one design: they count by their price, in devices of the first pool."""

from __future__ import annotations

from collections.abc import Mapping

from catalogue.devices import Device
from evaluator.errors import UnavailableError

_PRICES = ("price_dollars_per_hour", "owner_cost_dollars_per_hour")


def counted_as(devices: Mapping[str, Device]) -> dict[str, float]:
    """By pool: what one of its devices counts, in devices of the first pool.

    Raises UnavailableError where devices differ and no price of all of them is known.
    """
    kinds = {d.name: d for d in devices.values()}
    if len(kinds) < 2:
        return dict.fromkeys(devices, 1.0)
    for key in _PRICES:
        prices = {pool: getattr(d, key) for pool, d in devices.items()}
        if all(p is not None for p in prices.values()):
            first = next(iter(prices.values()))
            return {pool: price / first for pool, price in prices.items()}
    lacking = next(d for d in kinds.values() if getattr(d, _PRICES[0]) is None)
    raise UnavailableError(
        f"devices of different kinds must be compared by their prices, but {lacking.lacks(_PRICES[0])}; use "
        "one kind, or a device file with the figure"
    )


def one_fabric(devices: Mapping[str, Device]) -> float:
    """1 where all pools have devices of one kind, which alone can share a scale-up domain; else 0."""
    return float(len({d.name for d in devices.values()}) < 2)
