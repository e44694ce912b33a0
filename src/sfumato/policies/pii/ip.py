"""Internet addresses, version 4 and 6."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import Flags

_COLON, _POINT = ord(":"), ord(".")
_NEAR = 5  # from one colon to the next
_HEX = "0123456789abcdefABCDEF"


@dataclass(frozen=True)
class Ip:
    """An address of a computer."""

    label: ClassVar[str] = "IP_ADDRESS"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with four numbers and dots between, or with colons near each other."""
        colons = np.flatnonzero(page.runs.codes == _COLON)
        near = page.documents_at(colons[:-1][np.diff(colons) <= _NEAR])
        return sorted({*page.choose(_may_be_octets), *near})

    def find(self, reading: Reading) -> Iterator[Found]:
        """Both versions, with a port or a network length where there is one."""
        yield from self._version_4(reading)
        if ":" in reading.text:
            yield from self._version_6(reading)

    def _version_4(self, reading: Reading) -> Iterator[Found]:
        reached = 0
        for run in reading.chosen(_may_be_octets):
            start = reading.starts[run]
            if start < reached:
                continue
            match = _four().match(reading.text, start)
            if match:
                reached = match.end()
                valid = _is_address(match["address"])
                rule = "ip-4" if valid else "ip-4-shape"
                reason = "four octets" if valid else "looks like four octets, out of range"
                yield Found(start, reached, self.label, rule, reason)

    def _version_6(self, reading: Reading) -> Iterator[Found]:
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
                yield Found(match.start(), match.end(), self.label, "ip-6", reason)


def _may_be_octets(page: Page) -> Flags:
    runs = page.runs
    dotted = ((runs.gaps == 1) & (runs.after(1) == _POINT)).astype(np.int64)
    following = runs.following(dotted) * runs.following(dotted, 2)
    held: Flags = (runs.lengths <= 3) & (dotted * following > 0)
    return held


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
