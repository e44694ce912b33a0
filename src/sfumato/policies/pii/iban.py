"""International bank account numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.expressions import Expression, Match
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Cue, Page, Reading
from sfumato.policies.pii.runs import DIGITS, LETTERS, Flags, among, surely

_SHORTEST = 15
_VALUES = {letter: str(int(letter, 36)) for letter in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


@dataclass(frozen=True)
class Iban:
    """Two letters, two check digits and an account, written together or in fours."""

    label: ClassVar[str] = "IBAN"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_may_be_account)

    def find(self, reading: Reading) -> Iterator[Found]:
        """The longest stretch whose check digits are right, else the one that looks right."""
        text = reading.text
        for run in reading.chosen(_may_be_account):
            match = _shape().match(text, reading.starts[run] - 2)
            if match:
                end, rule, reason = _judged(match)
                if end:
                    yield Found(match.start(), end, self.label, rule, reason)
                elif reading.near(match.start(), match.end(), _cue()):
                    reason = "looks like an account number, in context"
                    yield Found(match.start(), match.end(), self.label, "iban-context", reason)


def _may_be_account(page: Page) -> Flags:
    """Two digits at least right after two letters that begin a word."""
    runs = page.runs
    lettered = among(runs.before(1), LETTERS) & among(runs.before(2), LETTERS)
    return lettered & (runs.lengths >= 2) & ~surely(runs.before(3), LETTERS + DIGITS)


def _judged(match: Match) -> tuple[int, str, str]:
    """Where the number ends (0 for: it is none), by which rule and why."""
    from stdnum import iban

    for end in reversed(_ends(match)):
        number = match.string[match.start() : end].replace("\u200b", "")
        # Stdnum takes the number apart; by its check digits most are refused before.
        if _has_right_check(number.upper()) and iban.is_valid(number.upper()):
            return end, "iban", "its check digits are right"
    first, *_ = match[0].split(" ")
    digits = sum(character.isdigit() for character in first)
    if len(first) >= _SHORTEST and digits >= 8:
        return match.start() + len(first), "iban-shape", "looks like an account number"
    if len(first) == 4 and sum(character.isdigit() for character in match[0]) >= 10:
        return match.end(), "iban-shape", "grouped like an account number"
    return 0, "", ""


def _has_right_check(number: str) -> bool:
    """Whether the digits, letters counted from 10 on, leave 1 when divided by 97."""
    number = "".join(number.replace("-", " ").split())
    if len(number) < _SHORTEST or not number.isascii():
        return False
    return int("".join([_VALUES[letter] for letter in number[4:] + number[:4]])) % 97 == 1


def _ends(match: Match) -> list[int]:
    head, end = match.span("head")[1], match.end()
    return [head, *(part.end() for part in _part().finditer(match.string, head, end))]


@cache
def _shape() -> Expression:
    gap = r"[ \-\u200b]"
    return Expression(
        r"(?<![\p{L}\p{N}])(?P<head>[A-Za-z]{2}[0-9]{2}[A-Za-z0-9]{0,30}+)"
        rf"(?:{gap}[A-Za-z0-9]{{1,7}}+(?![A-Za-z0-9])){{0,9}}+"
    )


@cache
def _part() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z0-9]+")


@cache
def _cue() -> Cue:
    return Cue(r"iban\w*|account|konto\w*|compte|cuenta|conto|conta|rekening\w*|bank")
