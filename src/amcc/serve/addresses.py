"""Addresses that requests of ours may go to: public ones, by TLS.

Whoever can name an address could otherwise let this machine talk to its neighbours, which trust it. A private receiver
is allowed one by one, by somebody at this machine.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from amcc.errors import InputError

# Characters of an address: more than any receiver has, and it fits on a page.
LONGEST_URL = 2000

# Seconds for all of a request, from looking up the name to the status. Who needs longer should put it into a queue.
SECONDS = 10.0

# The last part of a host that is a number: then all of it is read as an address of four bytes, in many spellings.
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")

_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?")

Resolve = Callable[..., Iterable[tuple[Any, ...]]]


@dataclass(frozen=True)
class Target:
    """Where a request goes. private : whether it may be a machine of one's own network, also without TLS."""

    scheme: str
    host: str
    port: int
    path: str
    private: bool

    @classmethod
    def of(cls, url: str, *, private: bool = False) -> Target:
        """Read an address; InputError says what is wrong with it."""
        if not isinstance(url, str) or len(url) > LONGEST_URL or not re.fullmatch(r"[\x21-\x7e]+", url):
            raise InputError(f"the address must be 1 to {LONGEST_URL:,} printable ASCII characters; got {url!r:.80}.")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise InputError(f"the address must be like https://example.org/path; got {url!r:.80}.") from None
        if parts.scheme not in (("https", "http") if private else ("https",)):
            way = "begin with https:// or http://" if private else "begin with https://"
            raise InputError(f"the address must {way}; got {url!r:.80}.")
        if "@" in parts.netloc or parts.fragment or port == 0:
            raise InputError("the address must have no user, password, fragment or port 0 in it.")
        _check_host(host)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path, private)

    @property
    def host_header(self) -> str:
        """The host as a request names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"

    def check(self) -> None:
        """Raise InputError where it is known already that nothing may be sent there."""
        with contextlib.suppress(OSError):  # nobody knows the name by now: it is looked up again at each sending
            allowed_addresses(self.host, self.port, private=self.private)


def _check_host(host: str) -> None:
    """Raise InputError for a host that could be read in two ways."""
    if ":" in host:
        with contextlib.suppress(ValueError):
            if ipaddress.IPv6Address(host).scope_id is None:
                return
        raise InputError(f"the host must be a name or an address; got {host!r:.80}.")
    if not _HOST.fullmatch(host) or ".." in host:
        raise InputError(f"the host must be a name of letters a-z, digits and dots, in ASCII; got {host!r:.80}.")
    if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            raise InputError(f"an address in numbers must be four of them, 0 to 255; got {host!r:.80}.") from None


def is_public(address: str) -> bool:
    """Whether everybody means the same machine by an address, and none that only we can reach.

    >>> is_public("93.184.215.14"), is_public("10.0.0.1"), is_public("::ffff:93.184.215.14"), is_public("224.0.0.1")
    (True, False, False, False)
    """
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address) and (
        found.scope_id is not None or found.is_site_local or any(found in net for net in _HOLDS_ANOTHER)
    ):
        return False
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)


# Addresses of IPv6 with one of IPv4 in them: mapped, compatible, translated (NAT64), 6to4, Teredo. Where such a packet
# ends is up to the network, and receivers have plain addresses.
_HOLDS_ANOTHER = [
    ipaddress.IPv6Network(net) for net in ("::ffff:0:0/96", "::/96", "64:ff9b::/96", "2002::/16", "2001::/32")
]


def allowed_addresses(host: str, port: int, *, private: bool, resolve: Resolve | None = None) -> list[str]:
    """The addresses of a host; InputError where one of them is none that we may send to; OSError where it has none."""
    rows = (resolve or socket.getaddrinfo)(host, port, type=socket.SOCK_STREAM)
    found = list(dict.fromkeys(str(row[4][0]) for row in rows))
    for address in found if not private else ():
        if not is_public(address):
            raise InputError(
                f"the address must be public; {host} is {address}, which is not. For a receiver in your own network, "
                "add it on this machine: amcc campaign webhook … --private."
            )
    return found


@dataclass(frozen=True)
class Outcome:
    """What came of a request: whether it was taken, and why (not), in words without what the other side said."""

    taken: bool
    said: str
