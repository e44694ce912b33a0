"""The names of a service: what may stand in the header ``Host``, and how that is read.

Guarantee
    A request is answered only if its ``Host`` is one of the names that the service was given. A
    page elsewhere can let its own name lead to this machine (DNS rebinding); it cannot let a
    browser send one of these.

Why it holds
    Names are compared in one spelling: lower case, without the dot that ends a full name, addresses
    as ``ipaddress`` writes them. A header that is anything but a name or an address with at most a
    port (a user, a space, a percent sign, a zone, an address of version 6 without brackets) is no
    name at all, and nothing is cut off from it to make it one.

Care
    A name that was given with a port is answered at that port alone; the ports 80 and 443 are not
    written where they are the usual ones, so a header without a port stands for either.

Reference
    RFC 9110, section 7.2 (Host); RFC 3986, section 3.2.2 (addresses in brackets).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address, ip_address

from sfumato.core.errors import InvalidArgument

# What a browser on this machine calls it.
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_LONGEST = 253
_NOT_WRITTEN = frozenset({80, 443})
_LARGEST_PORT = 65535
_SPLIT = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*)(?::([0-9]{1,5}))?", re.ASCII)
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)


@dataclass(frozen=True)
class Host:
    """A name or an address in one spelling, and the port that was written, if one was."""

    name: str
    port: int | None = None

    @classmethod
    def read(cls, written: str) -> Host | None:
        """As a header has it; None if it is not written like one.

        >>> Host.read("LOCALHOST.:8470"), Host.read("[0:0:0:0:0:0:0:1]")
        (Host(name='localhost', port=8470), Host(name='[::1]', port=None))
        >>> Host.read("[::1].example.org"), Host.read("user@localhost")
        (None, None)
        """
        found = _SPLIT.fullmatch(written)
        if found is None:
            return None
        name = _address(found[1][1:-1]) if found[1].startswith("[") else _spelled(found[1])
        port = None if found[2] is None else int(found[2])
        if not name or (port is not None and port > _LARGEST_PORT):
            return None
        return cls(name, port)

    @classmethod
    def given(cls, written: str) -> Host:
        """As people write it: an address needs no brackets, and a name may have any letters.

        >>> Host.given("2001:DB8::1").name, Host.given("bücher.example:8470").name
        ('[2001:db8::1]', 'xn--bcher-kva.example')
        """
        address = _unwrapped(written)
        found = cls(address) if address else cls.read(_in_ascii(written))
        if found is None:
            raise InvalidArgument(
                "a host is a name or an address without a path, such as privacy.example.org or "
                "[2001:db8::1]:8470"
            )
        return found

    def stands_for(self, asked: Host) -> bool:
        """Whether a request for ``asked`` is meant for this one."""
        if self.name != asked.name:
            return False
        if self.port is None or self.port == asked.port:
            return True
        return asked.port is None and self.port in _NOT_WRITTEN


@dataclass(frozen=True)
class Names:
    """All names of a service."""

    known: frozenset[Host]

    @classmethod
    def of(cls, written: Iterable[str]) -> Names:
        """Those that people gave, and those by which this machine calls itself."""
        return cls(frozenset(Host.given(one) for one in (*LOOPBACK_NAMES, *written)))

    def include(self, header: bytes) -> bool:
        """Whether a header ``Host`` is one of them."""
        asked = Host.read(header.decode("latin-1"))
        return asked is not None and any(one.stands_for(asked) for one in self.known)


def is_everywhere(host: str) -> bool:
    """Whether this is the address of all interfaces, by which nobody calls a service.

    >>> is_everywhere("0.0.0.0"), is_everywhere("[::]"), is_everywhere("localhost")
    (True, True, False)
    """
    return _holds(host, "is_unspecified")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it.

    >>> is_loopback("127.0.0.2"), is_loopback("[::1]"), is_loopback("example.org")
    (True, True, False)
    """
    return _spelled(host) == "localhost" or _holds(host, "is_loopback")


def _holds(host: str, what: str) -> bool:
    try:
        return bool(getattr(ip_address(host.strip("[]")), what))
    except ValueError:
        return False


def _address(written: str) -> str:
    """An address of version 6 in brackets, in its one spelling; nothing if it is none."""
    try:
        return "" if "%" in written else f"[{IPv6Address(written).compressed}]"
    except AddressValueError:
        return ""


def _unwrapped(written: str) -> str:
    """An address of version 6 with or without brackets; its zone is for binding, never sent."""
    bracketed = written.startswith("[") and written.endswith("]")
    return _address((written[1:-1] if bracketed else written).partition("%")[0])


def _spelled(written: str) -> str:
    """A name or an address of version 4 in its one spelling; nothing if it is none."""
    name = written.lower().removesuffix(".")
    return name if len(name) <= _LONGEST and _NAME.fullmatch(name) else ""


def _in_ascii(written: str) -> str:
    """A name with any letters as browsers send it."""
    if written.isascii():
        return written
    name, colon, port = written.partition(":")
    try:
        return name.encode("idna").decode("ascii") + colon + port
    except UnicodeError:
        return ""
