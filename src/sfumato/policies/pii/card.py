"""Credit card numbers: 12 to 19 digits that pass Luhn's check, or that look like one in context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import ClassVar

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Cue, Page, Reading
from sfumato.policies.pii.runs import Flags

_SHORTEST, _LONGEST = 12, 19
_GAP = 2


@dataclass(frozen=True)
class Card:
    """A payment card number."""

    label: ClassVar[str] = "CREDIT_CARD"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_may_be_card)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Runs of digits with the right length; what looks right in context counts too."""
        reached = -1
        for first in reading.chosen(_may_be_card):
            if first <= reached:
                continue
            found = self._number(reading, first)
            if found:
                reached, rule, reason = found
                yield Found(reading.starts[first], reading.ends[reached], self.label, rule, reason)

    def _number(self, reading: Reading, first: int) -> tuple[int, str, str] | None:
        candidates = [
            (last, digits)
            for last, digits in reading.runs(first, _gaps(), _LONGEST)
            if len(digits) >= _SHORTEST
        ]
        if not candidates:
            return None
        for last, digits in reversed(candidates):
            if digits[0] != "0" and passes_luhn(digits):
                return last, "card-luhn", "digits that pass Luhn's check"
        start = reading.starts[first]
        grouped = _grouped().match(reading.text, start)
        last, _ = candidates[-1]
        if reading.near(start, reading.ends[last], _cue()):
            return last, "card-context", "looks like a card number, in context"
        if grouped:
            end = grouped.end()
            return next(
                (last, "card-grouped", "grouped like a card number")
                for last, _ in candidates
                if reading.ends[last] == end
            )
        return None


_DOUBLED = dict(zip("0123456789", (0, 2, 4, 6, 8, 1, 3, 5, 7, 9), strict=True))


def passes_luhn(digits: str) -> bool:
    """Whether digits pass Luhn's check: each second one from the right counts twice.

    >>> passes_luhn("4111111111111111"), passes_luhn("4111111111111112")
    (True, False)
    """
    twice = map(_DOUBLED.__getitem__, digits[-2::-2])
    return (sum(map(int, digits[::-2])) + sum(twice)) % 10 == 0


def _may_be_card(page: Page) -> Flags:
    runs = page.runs
    return (runs.lengths <= _LONGEST) & (runs.totals(" -.", _GAP) >= _SHORTEST)


@cache
def _gaps() -> frozenset[str]:
    signs = " -.\u200b"
    return frozenset((*signs, *map("".join, product(signs, repeat=2))))


@cache
def _grouped() -> Expression:
    by_four = r"[0-9]{4}([ \-.])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{1,3})?"
    by_six = r"[0-9]{4}([ \-.])[0-9]{6}\2[0-9]{4,5}"
    return Expression(rf"(?:{by_four}|{by_six})(?![0-9])")


@cache
def _cue() -> Cue:
    return Cue(
        r"credit|debit|(?:bank|credit|debit|payment)?[ -]?cards?|visa|master ?card|amex|discover",
        r"american express|maestro|diners|jcb|cc|kredit\w*|karten?\w*|kaart\w*|carte|tarjeta",
        r"carta|cart[ãa]o|kort\w*|karta|pan|card ?holder",
    )
