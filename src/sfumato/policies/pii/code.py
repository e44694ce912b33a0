"""Identifiers without a kind of their own: order, tracking, customer, account, licence numbers.

Addresses of devices and codes of banks count among them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.automaton import automaton
from sfumato.policies.pii.dates import date_end, may_be_date
from sfumato.policies.pii.expressions import Expression, Match
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import CAPITALS, DIGITS, FAR, LETTERS, Flags, among, surely

_JOINTS = frozenset("-_/\u200b")
_DIGITS = frozenset(DIGITS)
BACK = 40  # characters in which an identifier is announced
_MOST_REMEMBERED = 1 << 14  # so that a long text takes no more memory
_LONG = 7
_FEWEST_CAPITALS = 6
_COLON, _PAIR = ord(":"), 3
_DOT, _FOUR = ord("."), 5
_HEX = "0123456789ABCDEFabcdef"
_REACH = 64  # a longer word is cut here on each side, so that the time stays linear
_FEWEST_IN_GROUPS = 6  # digits of "4711-0815", which is a range or a score unless announced

# Words before an identifier that need no more, words that need "number" or the like after them,
# and those words; then what may stand between.
_ANNOUNCING = """
bic swift userid customerid clientid accountid orderid memberid
order tracking ref reference booking confirmation reservation ticket invoice acct account
passport mrn nhs vin pin passcode password id commande facture pedido ordine license licence
iban bestellung auftrag vertrag rechnung factura contrat contrato expediente dossier albaran
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

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one, or with many capitals in a row."""
        others = (*page.spots(_shouts), *page.spots(_devices))
        return sorted({*page.choose(_may_be_code), *others})

    def find(self, reading: Reading) -> Iterator[Found]:
        """Words around digits first, then words of capitals that are announced as a code."""
        yield from self._around_digits(reading)
        text = reading.text
        for begin in reading.spots(_devices):
            device = _hardware().match(text, max(0, begin))
            if device:
                reason = "groups of hexadecimal digits: the address of a device"
                yield Found(*device.span(), self.label, "code-device", reason)
        for match in _capitals().finditer(text) if reading.spots(_shouts) else ():
            if announces(reading.page, reading.before(match.start(), BACK)):
                reason = "capitals, announced as an identifier"
                yield Found(match.start(), match.end(), self.label, "code-context", reason)

    def _around_digits(self, reading: Reading) -> Iterator[Found]:
        reached = passed = 0
        text, parcels = reading.text, reading.page.flags(_may_be_parcel)
        settled = _settled(reading)
        for run in reading.chosen(_may_be_code):
            start, end = reading.starts[run], reading.ends[run]
            if start < reached or start < passed:
                continue
            carried = _carried(text, start, end) if parcels[reading.first + run] else None
            if carried and carried.start() >= reached:
                reached = carried.end()
                reason = "grouped like the number of a parcel"
                yield Found(carried.start(), reached, self.label, "code-parcel", reason)
                continue
            left, right = _word_around(text, start, end)
            left = max(left, reached)
            if right - left < 2:
                continue  # no identifier is that short
            if settled and right - start < _REACH - 1 and _is_settled(settled, left, right):
                passed = right
                continue
            found = _judged(reading, left, right, end if left == start else left)
            if found:
                reached = right
                yield Found(left, right, self.label, *found)


def _settled(reading: Reading) -> list[tuple[int, int]]:
    """Where an earlier kind has found something, if nothing but words is to be judged here.

    What is found inside is left out, so such a word need not be judged, nor other digits of it: it
    is not so long that these would be judged as parts of another word. Whether it was found counts
    for what comes after it only where a parcel's number may begin before its digits.
    """
    page, number = reading.page, reading.number
    if number not in page.settled or number in page.choose(_may_be_parcel):
        return []
    return page.settled[number]


def _is_settled(settled: list[tuple[int, int]], left: int, right: int) -> bool:
    place = bisect_right(settled, (left, FAR)) - 1
    return place >= 0 and settled[place][1] >= right


_GOING_ON = LETTERS + DIGITS + "-_/"
_ENDINGS = frozenset(["end", "ends", "ended", "ending", "last", "final"])


def _may_be_code(page: Page) -> Flags:
    """Long numbers, those that are a part of a word or a group, and those that are announced."""
    runs = page.runs
    length, one = runs.lengths, runs.before(1)
    joined = among(one, _GOING_ON) | among(runs.after(1), _GOING_ON)
    told = (length >= 3) & page.told_before(_announcing_words(), BACK)
    ending = (length >= 2) & page.told_before(_ENDINGS, BACK)
    held: Flags = joined | page.ask(_may_be_parcel) | (length >= _LONG) | told | ending
    return held


def _may_be_parcel(page: Page) -> Flags:
    """Numbers that can be the first one of a parcel's, perhaps after two letters."""
    runs = page.runs
    after = runs.after(1)
    held = (runs.lengths == 4) & among(after, " -")
    held |= (runs.lengths == 1) & among(after, "Z")
    held |= among(runs.before(2), CAPITALS)
    held |= among(runs.before(1), " ") & among(runs.before(3), CAPITALS)
    return page.where_can(automaton(_parcel()), held, 0, 2, 3)


def _shouts(page: Page) -> NDArray[np.int64]:
    """Where words in capitals stand that are long enough for a code."""
    words, codes = page.words, page.runs.codes
    places = words.starts[words.titled & (words.ends - words.starts >= _FEWEST_CAPITALS)]
    spots: NDArray[np.int64] = places[
        surely(codes[places + 1], CAPITALS) & surely(codes[places + 2], CAPITALS)
    ]
    return spots


def _devices(page: Page) -> NDArray[np.int64]:
    """Where six pairs of hexadecimal digits can begin, or three fours with dots between."""
    codes = page.runs.codes
    colons, dots = np.flatnonzero(codes == _COLON), np.flatnonzero(codes == _DOT)
    pairs = colons[:-4][colons[4:] - colons[:-4] == 4 * _PAIR] - (_PAIR - 1)
    firsts = dots[:-1][np.diff(dots) == _FOUR]
    fours = firsts[among(codes[firsts - 1], _HEX)] - (_FOUR - 1)
    places = np.concatenate([pairs, fours])
    spots: NDArray[np.int64] = places[among(codes[places], _HEX)]
    return spots


@cache
def _hardware() -> re.Pattern[str]:
    """Six pairs, or three fours as some routers write them, with a letter among them."""
    pairs = r"(?<![A-Za-z0-9:])[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}(?![A-Za-z0-9:])"
    fours = r"(?<![A-Za-z0-9.])(?=[0-9.]*[A-Fa-f])[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}"
    return re.compile(rf"{pairs}|{fours}(?![A-Za-z0-9]|\.[A-Za-z0-9])")


@cache
def _announcing_words() -> frozenset[str]:
    return frozenset((*_ANNOUNCING.split(), *_NUMBERED.split(), "id", "*nummer"))


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The word around a run of digits; most runs are a word of their own."""
    left, right = start, min(end, start + _REACH)
    if _goes_on(text[end : end + 1]):
        match = _right().match(text, start, start + _REACH)
        right = match.end() if match else start
    if start and _goes_on(text[start - 1]):
        left = _word_start(text, start)
    return left, right


def _word_start(text: str, start: int) -> int:
    """Where the word begins that goes on here; a part that reaches too far back is left out."""
    floor = max(0, start - _REACH)
    place = start
    while True:
        end = place - (place > floor and text[place - 1] in _JOINTS)
        begin = end
        while begin > floor and text[begin - 1].isalnum():
            begin -= 1
        if begin == end or (begin and text[begin - 1].isalnum()):
            return place
        place = begin


def _goes_on(character: str) -> bool:
    return character.isalnum() or character in _JOINTS


def _carried(text: str, start: int, end: int) -> Match | None:
    """A parcel's number in groups; two letters may stand before its first digit."""
    back = 0
    if start >= 3 and text[start - 1] == " " and text[start - 3].isupper():
        back = 3
    elif start >= 2 and text[start - 2].isupper():
        back = 2
    # Without letters before it there are groups of four, or "1Z".
    elif not (
        (end - start == 4 and text[end : end + 1] in (" ", "-"))
        or (end - start == 1 and text[end : end + 1] == "Z")
    ):
        return None
    return _parcel().match(text, start - back) or (_parcel().match(text, start) if back else None)


def _judged(reading: Reading, left: int, right: int, end: int) -> tuple[str, str] | None:
    """Which code this word is; ``end`` is where its first digits end, if it begins with these."""
    word = reading.text[left:right]
    length = digits = right - left
    letters = 0
    if not word.isdigit():
        digits, letters = sum(map(str.isdigit, word)), sum(map(str.isalpha, word))
        if _ordinary().fullmatch(word) and not (
            digits >= _FEWEST_IN_GROUPS and announces(reading.page, reading.before(left, BACK))
        ):
            return None
    dated = word[0] in _DIGITS and (end == left or may_be_date(reading.text, left, end))
    if dated and date_end(reading.text, left) >= right:
        return None
    if letters and digits >= 2 and length >= 6:
        return "code-mixed", "letters and digits in one word"
    return _without_letters(reading, left, word, digits) or _by_context(reading, left, length)


def _without_letters(reading: Reading, left: int, word: str, digits: int) -> tuple[str, str] | None:
    """Which code a word of some digits is by its length, or as the last digits of another."""
    if digits == len(word):
        if digits >= _LONG and not _is_fraction(reading, left):
            return "code-long", "a long number"
        if 2 <= digits <= 6 and _is_ending(reading.before(left, BACK)):
            return "code-ending", "the last digits of a number"
    elif digits >= 8 and digits == len(word) - _joints(word):
        return "code-grouped", "a long number in groups"
    return None


def _by_context(reading: Reading, left: int, length: int) -> tuple[str, str] | None:
    if length >= 3 and announces(reading.page, reading.before(left, BACK)):
        return "code-context", "announced as an identifier"
    return None


def _is_ending(before: str) -> bool:
    small = before.lower()
    if not ("end" in small or "last" in small or "final" in small):
        return False
    return bool(_ending().search(before))


def _joints(word: str) -> int:
    return word.count("-") + word.count("_")


def _is_fraction(reading: Reading, start: int) -> bool:
    return bool(_fraction().search(reading.text, max(0, start - 2), start))


def announces(page: Page, before: str) -> bool:
    """Whether the characters before a number announce an identifier; the page remembers it.

    Only these characters are read, so the same ones need not be read again.
    """
    known = page.announcing.get(before)
    if known is None:
        known = is_announced(before)
        if len(page.announcing) < _MOST_REMEMBERED:
            page.announcing[before] = known
    return known


def is_announced(before: str) -> bool:
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
    if "_" in last:
        # The name of a field: user_id, order_no.
        earlier, _, last = last.rpartition("_")
        earlier = earlier.rpartition("_")[2]
    if last in _words(_MARKS):
        return last == "id" or earlier in _words(_ANNOUNCING) or earlier in _words(_NUMBERED)
    return last in _words(_ANNOUNCING) or last.endswith("nummer")


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@cache
def _right() -> Expression:
    return Expression(r"[\p{L}\p{N}]++(?:[\-_/\u200b][\p{L}\p{N}]++)*+")


@cache
def _parcel() -> Expression:
    """Of the postal union (S10), of UPS, and long numbers in groups of four."""
    postal = r"[A-Z]{2} ?[0-9]{2,3} ?[0-9]{3} ?[0-9]{3,4} ?[A-Z]{2}"
    ups = r"1Z(?: ?[A-Z0-9]{2,4}){4,8}+(?<=[0-9 A-Z]{17})"
    fours = r"[0-9]{4}([ \-])[0-9]{4}(?:\1[0-9]{4}){1,4}+(?:\1[0-9]{1,3})?"
    return Expression(
        r"(?<![\p{L}\p{N}])(?<![0-9][ .\-])"
        rf"(?:{postal}|{ups}|{fours})(?![\p{{L}}\p{{N}}]|-[0-9])"
    )


@cache
def _ending() -> Expression:
    return Expression(
        r"(?i)\b(?:end(?:s|ed|ing)? (?:in|on|with)|(?:last|final) (?:[a-z]{3,5}|[2-6]) ?"
        r"(?:digits?|numbers?)?(?: of [\p{L} ]{2,20})?(?: are| is|:)?) {1,2}[*x.#•]{0,12}+ ?\Z"
    )


@cache
def _ordinary() -> Expression:
    """Quantities, ordinals and ranges: 12km, 1990s, 21st, 100-year-old, mid-1990s, 5/6."""
    return Expression(
        r"[0-9]{1,6}(?:[\-/]?\p{Ll}++(?:-\p{L}++)*+)|\p{L}++(?:-\p{L}++)*+-[0-9]{1,4}(?:s|th)?"
        r"|[0-9]{1,4}[\-/][0-9]{1,4}"
        r"|[0-9]{1,6}[\-/]\p{Lu}\p{Ll}++"
    )


@cache
def _fraction() -> Expression:
    return Expression(r"[0-9][.,]\Z")


@cache
def _capitals() -> Expression:
    return Expression(r"\b[A-Z]{6,24}+\b")
