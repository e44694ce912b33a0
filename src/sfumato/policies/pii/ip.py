"""Internet addresses, version 4 and 6."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.reading import Reading
from sfumato.text.span import Span

_HEX = "0123456789abcdefABCDEF"


@dataclass(frozen=True)
class Ip:
    """An address of a computer."""

    label: ClassVar[str] = "IP_ADDRESS"

    def find(self, reading: Reading) -> Iterator[Span]:
        """Both versions, with a port or a network length where there is one."""
        yield from self._version_4(reading)
        if ":" in reading.text:
            yield from self._version_6(reading)

    def _version_4(self, reading: Reading) -> Iterator[Span]:
        reached = 0
        for start, end in zip(reading.starts, reading.ends, strict=True):
            if start < reached or end - start > 3 or reading.text[end : end + 1] != ".":
                continue
            match = _four().match(reading.text, start)
            if match:
                reached = match.end()
                valid = _is_address(match["address"])
                rule = "ip-4" if valid else "ip-4-shape"
                reason = "four octets" if valid else "looks like four octets, out of range"
                yield Span(start, reached, self.label, rule, reason)

    def _version_6(self, reading: Reading) -> Iterator[Span]:
        reached = 0
        for colons in _colons().finditer(reading.text):
            start = colons.start()
            while (
                start > reached and colons.start() - start < 4 and reading.text[start - 1] in _HEX
            ):
                start -= 1
            match = _six().match(reading.text, start) if start >= reached else None
            if not match:
                continue
            reached = match.end()
            address = match["address"].rstrip(".")
            if not _is_address(address):
                address = address.removesuffix(":")
            has_digit = any(character.isdigit() for character in address)
            if has_digit and _is_address(address):
                reason = "groups of hexadecimal digits that form an address"
                yield Span(match.start(), match.end(), self.label, "ip-6", reason)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@cache
def _four() -> Expression:
    # Five numbers with dots between are a section or a version, not an address.
    return Expression(
        r"(?<![0-9]\.)(?P<address>[0-9]{1,3}(?:\.[0-9]{1,3}){3})"
        r"(?![0-9]|\.[0-9])(?:[:/][0-9]{1,5}+)?"
    )


@cache
def _colons() -> re.Pattern[str]:
    return re.compile(r":[0-9A-Fa-f]{0,4}+:")


@cache
def _six() -> Expression:
    return Expression(
        r"(?<![\p{L}\p{N}:.])(?P<address>(?:[0-9A-Fa-f]{1,4}+:|::)[0-9A-Fa-f:.]{1,45}+)"
        r"(?:%[\p{L}\p{N}]{1,16}+)?(?:/[0-9]{1,3})?(?![\p{L}\p{N}:])"
    )
