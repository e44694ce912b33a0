"""Regular expressions for texts of every script, with a quicker form for plain ASCII.

An expression is written once, for the ``regex`` module, which knows the classes of Unicode. Most
texts hold nothing but ASCII; there the classes are ranges of letters and digits, and the standard
library's ``re`` finds the same in a third of the time. Each form is compiled when first needed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property

import regex

Match = re.Match[str] | regex.Match[str]
_Pattern = re.Pattern[str] | regex.Pattern[str]

# Earlier versions of ``re`` go wrong where a group that gives nothing back holds one that does.
_HAS_QUICK = sys.version_info >= (3, 11, 5)
_RANGES = {"L": "A-Za-z", "Lu": "A-Z", "Lt": "", "Ll": "a-z", "N": "0-9", "M": ""}


class Expression:
    r"""One expression in both forms; the text decides which is used.

    >>> word = Expression(r"\p{Lu}[\p{L}\p{M}]*+")
    >>> [word.search(text)[0] for text in ("ask Ann", "ask Zoë")]
    ['Ann', 'Zoë']
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def of(self, text: str) -> _Pattern:
        """The form for this text."""
        return self._quick if text.isascii() else self._full

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> Match | None:
        """A match that begins exactly here."""
        return (self._quick if text.isascii() else self._full).match(text, start, end)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> Match | None:
        """The first match between two places."""
        return (self._quick if text.isascii() else self._full).search(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int = sys.maxsize) -> Match | None:
        """A match of the whole stretch."""
        return (self._quick if text.isascii() else self._full).fullmatch(text, start, end)

    def finditer(self, text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[Match]:
        """All matches that do not overlap."""
        found: Iterator[Match] = self.of(text).finditer(text, start, end)
        return found

    @cached_property
    def _full(self) -> regex.Pattern[str]:
        return regex.compile(self.pattern)

    @cached_property
    def _quick(self) -> _Pattern:
        return re.compile(in_ascii(self.pattern), re.ASCII) if _HAS_QUICK else self._full


def in_ascii(pattern: str) -> str:
    r"""An expression with ranges of ASCII in the place of Unicode's classes.

    >>> in_ascii(r"[\p{Lu}'][\p{L}\p{M}]*+\P{L}\p{N}")
    "[A-Z'][A-Za-z]*+[^A-Za-z][0-9]"
    """
    made: list[str] = []
    inside, place = False, 0
    for match in re.finditer(r"\\([pP])\{(\w+)\}|\\.|[\[\]]", pattern):
        made.append(pattern[place : match.start()])
        place = match.end()
        if match[2]:
            ranges = "^" * (match[1] == "P") + _RANGES[match[2]]
            made.append(ranges if inside else f"[{ranges}]")
            continue
        made.append(match[0])
        inside = {"[": True, "]": False}.get(match[0], inside)
    return "".join(made) + pattern[place:]


def letters(text: str) -> re.Pattern[str] | regex.Pattern[str]:
    """An expression for the runs of letters of this text."""
    return _letters().of(text)


@cache
def _letters() -> Expression:
    return Expression(r"\p{L}++")
