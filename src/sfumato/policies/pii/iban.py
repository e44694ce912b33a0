"""International bank account numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.expressions import Expression, Match
from sfumato.policies.pii.reading import Reading, cue
from sfumato.text.span import Span

_SHORTEST = 15
_VALUES = {letter: str(int(letter, 36)) for letter in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


@dataclass(frozen=True)
class Iban:
    """Two letters, two check digits and an account, written together or in fours."""

    label: ClassVar[str] = "IBAN"

    def find(self, reading: Reading) -> Iterator[Span]:
        """The longest stretch whose check digits are right, else the one that looks right."""
        text = reading.text
        for start in reading.starts:
            if start < 2 or not (text[start - 1].isalpha() and text[start - 2].isalpha()):
                continue
            match = _shape().match(text, start - 2)
            if match:
                end, rule, reason = _judged(match)
                if end:
                    yield Span(match.start(), end, self.label, rule, reason)
                elif reading.near(match.start(), match.end(), _cue()):
                    reason = "looks like an account number, in context"
                    yield Span(match.start(), match.end(), self.label, "iban-context", reason)


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
def _cue() -> Expression:
    return cue(r"iban\w*|account|konto\w*|compte|cuenta|conto|conta|rekening\w*|bank")
