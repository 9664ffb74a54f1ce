"""Addresses that this server may call: public ones alone, decided on what a name resolves to."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence

from httpx import URL, InvalidURL

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressError(ValueError):
    """An address that must not be called; the message is one sentence and names no secret."""


def read_url(text: str) -> URL:
    """An https URL with a host and without credentials. Raises AddressError."""
    try:
        url = URL(text)
    except (InvalidURL, TypeError, ValueError):
        raise AddressError("a webhook must be a URL, but this is none; write https://host/path") from None
    if url.scheme != "https" or not url.host or not 0 < (url.port or 443) < 65_536:
        raise AddressError("a webhook must begin with https:// and name a host; correct it")
    if url.userinfo:
        raise AddressError("a webhook must not hold a user or password; sign with SEIS_WEBHOOK_SECRET")
    return url


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses behind a name, as this machine finds them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def public_address(url: URL, lookup: Resolve = resolve) -> str:
    """The address to connect to, so that no second look-up can answer otherwise. Raises AddressError.

    A name that resolves to any address that is not public is refused as a whole.
    """
    try:
        found = lookup(url.host, url.port or 443)
    except (OSError, UnicodeError):
        found = ()
    if not found:
        raise AddressError(f"a webhook's host must be known, but {url.host[:100]!r} is not; correct the URL")
    for text in found:
        if not is_public(text):
            raise AddressError(
                f"a webhook must lead to a public address, but {url.host[:100]!r} does not; "
                "choose a host on the internet"
            )
    return found[0]


def is_public(text: str) -> bool:
    """Whether an address is reachable from everywhere: not private, local, reserved, or one in disguise."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    hidden = _hidden(address)
    if hidden is not None:
        return is_public(str(hidden))
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _hidden(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for."""
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
