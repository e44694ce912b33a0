"""Identifiers without a kind of their own: order, tracking, customer, account, licence numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import regex

from sfumato.policies.pii.dates import date_end
from sfumato.policies.pii.reading import Reading
from sfumato.text.span import Span

_REACH = 64  # a longer word is cut here on each side, so that the time stays linear

# Words before an identifier that need no more, words that need "number" or the like after them,
# and those words; then what may stand between.
_ANNOUNCING = """
order tracking ref reference booking confirmation reservation ticket invoice acct account
passport mrn nhs vin pin passcode password id commande facture pedido ordine license licence
iban
"""
_NUMBERED = """
track case customer client member membership patient policy permit registration serial
employee student user transaction shipment parcel package claim contract file record badge
voucher coupon plate visa tax medical security insurance license licence
"""
_MARKS = """
number num no nr code id identifier numero numéro n° nº key #
"""
_BETWEEN = """
is was which are ist est es lautet est: it's its : = -
"""


@dataclass(frozen=True)
class Code:
    """Letters and digits mixed, long numbers, numbers in groups, and whatever is announced."""

    label: ClassVar[str] = "CODE"

    def find(self, reading: Reading) -> Iterator[Span]:
        """Words around digits first, then words of capitals that are announced as a code."""
        reached = 0
        for start in reading.starts:
            if start < reached:
                continue
            carried = _carried(reading.text, start)
            if carried and carried.start() >= reached:
                reached = carried.end()
                reason = "grouped like the number of a parcel"
                yield Span(carried.start(), reached, self.label, "code-parcel", reason)
                continue
            left, right = _word_around(reading.text, start)
            left = max(left, reached)
            found = _judged(reading, left, right)
            if found:
                reached = right
                yield Span(left, right, self.label, *found)
        for match in _capitals().finditer(reading.text):
            if _is_announced(reading.before(match.start(), 40)):
                reason = "capitals, announced as an identifier"
                yield Span(match.start(), match.end(), self.label, "code-context", reason)


def _word_around(text: str, start: int) -> tuple[int, int]:
    match = _right().match(text, start, start + _REACH)
    right = match.end() if match else start
    match = _left().search(text, max(0, start - _REACH), start)
    return (match.start() if match else start), right


def _carried(text: str, start: int) -> regex.Match[str] | None:
    """A parcel's number in groups; two letters may stand before its first digit."""
    for back in (3, 2, 0):
        match = _parcel().match(text, start - back) if back <= start else None
        if match:
            return match
    return None


def _judged(reading: Reading, left: int, right: int) -> tuple[str, str] | None:
    word = reading.text[left:right]
    digits = sum(character.isdigit() for character in word)
    letters = sum(character.isalpha() for character in word)
    if date_end(reading.text, left) >= right or _ordinary().fullmatch(word):
        return None
    for holds, rule, reason in (
        (letters and digits >= 2 and len(word) >= 6, "mixed", "letters and digits in one word"),
        (7 <= digits == len(word) and not _is_fraction(reading, left), "long", "a long number"),
        (
            8 <= digits == len(word) - _joints(word) < len(word),
            "grouped",
            "a long number in groups",
        ),
    ):
        if holds:
            return f"code-{rule}", reason
    if 2 <= digits == len(word) <= 6 and _ending().search(reading.before(left, 40)):
        return "code-ending", "the last digits of a number"
    if len(word) >= 3 and _is_announced(reading.before(left, 40)):
        return "code-context", "announced as an identifier"
    return None


def _joints(word: str) -> int:
    return word.count("-") + word.count("_")


def _is_fraction(reading: Reading, start: int) -> bool:
    return bool(_fraction().search(reading.text, max(0, start - 2), start))


def _is_announced(before: str) -> bool:
    """Whether the text ends like "order number is ", "Ref: " or "account #"."""
    if before[-1:] not in " \n\t#:=(\"'-":
        return False
    words = before.lower().replace("#", " # ").split()
    while words and words[-1] in _words(_BETWEEN):
        words.pop()
    last, earlier = (word.strip(",:;=(\"'*-") for word in (["", "", *words][:-3:-1]))
    if last.endswith("."):
        # A full stop ends a sentence, unless it ends an abbreviation.
        last = last[:-1] if last in ("no.", "nr.", "num.", "ref.", "acct.") else ""
    if last in _words(_MARKS):
        return last == "id" or earlier in _words(f"{_ANNOUNCING} {_NUMBERED}")
    return last in _words(_ANNOUNCING) or last.endswith("nummer")


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@cache
def _right() -> regex.Pattern[str]:
    return regex.compile(r"[\p{L}\p{N}]++(?:[\-_/\u200b][\p{L}\p{N}]++)*+")


@cache
def _left() -> regex.Pattern[str]:
    return regex.compile(r"(?<![\p{L}\p{N}])(?:[\p{L}\p{N}]++[\-_/\u200b]?)++\Z")


@cache
def _parcel() -> regex.Pattern[str]:
    """Of the postal union (S10), of UPS, and long numbers in groups of four."""
    postal = r"[A-Z]{2} ?[0-9]{2,3} ?[0-9]{3} ?[0-9]{3,4} ?[A-Z]{2}"
    ups = r"1Z(?: ?[A-Z0-9]{2,4}){4,8}+(?<=[0-9 A-Z]{17})"
    fours = r"[0-9]{4}([ \-])[0-9]{4}(?:\1[0-9]{4}){1,4}+(?:\1[0-9]{1,3})?"
    return regex.compile(
        rf"(?<![\p{{L}}\p{{N}}]|[0-9][ .\-])(?:{postal}|{ups}|{fours})(?![\p{{L}}\p{{N}}]|-[0-9])"
    )


@cache
def _ending() -> regex.Pattern[str]:
    return regex.compile(
        r"(?i)\b(?:end(?:s|ed|ing)? (?:in|on|with)|(?:last|final) (?:[a-z]{3,5}|[2-6]) ?"
        r"(?:digits?|numbers?)?(?: of [\p{L} ]{2,20})?(?: are| is|:)?) {1,2}[*x.#•]{0,12}+ ?\Z"
    )


@cache
def _ordinary() -> regex.Pattern[str]:
    """Quantities, ordinals and ranges: 12km, 1990s, 21st, 100-year-old, mid-1990s, 5/6."""
    return regex.compile(
        r"[0-9]{1,6}(?:[\-/]?\p{Ll}++(?:-\p{L}++)*+)|\p{L}++(?:-\p{L}++)*+-[0-9]{1,4}(?:s|th)?"
        r"|[0-9]{1,4}[\-/][0-9]{1,4}"
        r"|[0-9]{1,6}[\-/]\p{Lu}\p{Ll}++"
    )


@cache
def _fraction() -> regex.Pattern[str]:
    return regex.compile(r"[0-9][.,]\Z")


@cache
def _capitals() -> regex.Pattern[str]:
    return regex.compile(r"\b[A-Z]{6,24}+\b")
