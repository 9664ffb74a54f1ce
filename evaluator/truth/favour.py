"""A device as a bound may see it: the fastest rate that the row's formats allow, every credit granted."""

from __future__ import annotations

from dataclasses import replace

from catalogue.devices import Device
from evaluator.rates import rates_for

SAFE_ONCHIP_BYTES = 512 << 20
"""On-chip storage of a device where it is not published: above every one that is."""
_FREE = 1e15


def lifted(device: Device, rate: str) -> Device:
    """The device with products of every wider format at the peak of `rate`, or of the next that it has.

    A format of the operands tells what a product may be computed in: BF16 attention over an FP8 cache and
    weights of 4 bits under wider activations have both been seen at the narrow format's peak. Operands of
    at most 8 bits may also be computed as integers.
    """
    rates = rates_for(device, "physical")
    formats = (rate,) if rate in ("bf16", "f32") else (rate, "int8")
    peak = max(rates.flops_per_second(name, False) or 0.0 for name in formats)
    return replace(device, flops_per_second={f: max(v, peak) for f, v in device.flops_per_second.items()})


def favoured(device: Device, rate: str, messages: float = 1.0) -> Device:
    """The lifted device without limits that software can go around, for a bound on measurements.

    `messages` is how much narrower values may be sent than the design says.

    Exponentials may be computed as polynomials and element-wise work be packed, so neither binds; storage
    on the chip is granted where it is not published. Links are taken at the fastest published value, since
    systems are wired differently, and cost nothing where none is published.
    """
    return replace(
        lifted(device, rate),
        vector_flops_per_second=None,
        exp_per_second=None,
        onchip_total_bytes=device.onchip_total_bytes or SAFE_ONCHIP_BYTES,
        scale_up_domain=device.scale_up_domain or 8,
        scale_up_bytes_per_second=messages * _link(device, "scale_up_bytes_per_second"),
        scale_out_bytes_per_second=messages * _link(device, "scale_out_bytes_per_second"),
    )


def _link(device: Device, key: str) -> float:
    """The fastest published rate of a link."""
    own: float | None = getattr(device, key)
    published = [*([] if own is None else [own]), *(a.value for a in device.alternatives.get(key, ()))]
    return max(published, default=_FREE)
