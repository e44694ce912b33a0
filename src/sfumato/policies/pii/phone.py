"""Telephone numbers, international or as people of a region write them.

Which numbers a region has comes from phonenumbers. Its own matcher asks one region at a time and
wants a number to be in service; here the number patterns of all regions form one expression, and
a number that looks like one is found although no region has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii import dialing
from sfumato.policies.pii.code import BACK, announces
from sfumato.policies.pii.cued_numbers import card_ends
from sfumato.policies.pii.dates import date_end, may_be_date
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import FAR, LETTERS, Flags, surely

_FEWEST, _MOST = 5, 17
_FEWEST_UNTOLD = 7
_FEWEST_TRIED = 3  # digits at the beginning of a number that is tried as a whole first
_FEWEST_OF_CODES = 6
_SHORTEST_PART = 4  # that one part of a number with a slash has at least


@dataclass(frozen=True)
class Phone:
    """A telephone or fax number."""

    regions: tuple[str, ...]

    label: ClassVar[str] = "PHONE"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with enough digits near each other."""
        return page.choose(_may_be_number)

    def find(self, reading: Reading) -> Iterator[Found]:
        """From every run of digits on, the longest stretch that can be a number."""
        page, starts, reached = reading.page, reading.starts, -1
        announced, unsigned = page.flags(_may_be_announced), page.flags(_is_unsigned)
        dated = {start for start, _ in card_ends(reading)}
        for first in reading.chosen(_may_be_number):
            # The date on a card and the digits behind it look like a number, too.
            if first <= reached or starts[first] in dated:
                continue
            number = reading.first + first
            found = self._unsigned(reading, first) if unsigned[number] else None
            found = found or self._number(_Start(reading, first), announced[number])
            if found:
                reached, rule, reason = found
                begin = _lead(reading, reading.starts[first])
                end = _extended(reading.text, reading.ends[reached])
                yield Found(begin, end, self.label, rule, reason)

    def _number(self, start: _Start, announced: bool) -> tuple[int, str, str] | None:
        candidates = start.candidates()
        if not candidates:
            return None
        inside = _is_inside(start.reading.text, start.start)
        signed = candidates[0].digits.startswith("00") or start.is_signed
        for holds, rule, judge in (
            (signed, "phone-international", _international),
            (not inside, "phone-regional", self._regional),
            (not inside, "phone-shaped", _shaped),
            (announced, "phone-announced", _announced),
        ):
            for candidate in candidates if holds else ():
                reason = judge(candidate)
                if reason:
                    return candidate.last, rule, reason
        return None

    def _unsigned(self, reading: Reading, first: int) -> tuple[int, str, str] | None:
        """The longest stretch as a number of a region, which most are: sooner told.

        No sign and no zeros lead it, so ``_number`` would ask for nothing else before that.
        """
        text, start = reading.text, reading.starts[first]
        if _is_inside(text, start):
            return None
        runs = list(reading.runs(first, dialing.gaps(), _MOST))
        last, digits = runs[-1] if runs else (first, "")
        end = reading.ends[last]
        if len(digits) < _FEWEST_UNTOLD or _goes_on(text, end):
            return None
        gaps: list[str] = []
        if last == first:
            if len(digits) < _FEWEST_ALONE:
                return None
        else:
            lengths, gaps = _parts(reading, first, last)
            first_end = reading.ends[first]
            if _is_other(digits, lengths, gaps) or (
                may_be_date(text, start, first_end) and date_end(text, start) > first_end
            ):
                return None
        match = self._numbers.fullmatch(digits)
        if not match or (_CODE_GAPS.issuperset(gaps) and _is_announced_code(reading, start)):
            return None
        return last, "phone-regional", _reason(match.lastgroup)

    def _regional(self, candidate: _Candidate) -> str:
        if len(candidate.digits) < _FEWEST_UNTOLD:
            return ""
        if candidate.is_something_else():
            return ""
        match = self._numbers.fullmatch(candidate.digits)
        if not match or candidate.is_code:
            return ""
        return _reason(match.lastgroup)

    @cached_property
    def _numbers(self) -> Expression:
        return dialing.numbers_of(self.regions)


class _Start:
    """A run of digits from which on a number may stand, and what holds for all such numbers."""

    __slots__ = ("_date_end", "end", "first", "reading", "start")

    def __init__(self, reading: Reading, first: int) -> None:
        self.reading, self.first = reading, first
        self.start, self.end = reading.starts[first], reading.ends[first]
        self._date_end = -1

    def candidates(self) -> list[_Candidate]:
        """What may be a number, the longest first."""
        first, runs = self.first, list(self.reading.runs(self.first, dialing.gaps(), _MOST))
        if not runs or len(runs[-1][1]) < _FEWEST:
            return []
        lengths, gaps = _parts(self.reading, first, runs[-1][0])
        return [
            _Candidate(self, last, digits, lengths[: last - first + 1], gaps[: last - first])
            for last, digits in reversed(runs)
            if len(digits) >= _FEWEST
        ]

    @property
    def is_signed(self) -> bool:
        """Whether there is a plus sign before."""
        return "+" in self.reading.text[max(0, self.start - 3) : self.start]

    @property
    def date_end(self) -> int:
        """Where a date that begins here ends."""
        if self._date_end < 0:
            text, start = self.reading.text, self.start
            dated = may_be_date(text, start, self.end)
            self._date_end = date_end(text, start) if dated else start
        return self._date_end


class _Candidate:
    """Some runs of digits that may be one number: how long each is, what stands between them."""

    __slots__ = ("begin", "digits", "end", "gaps", "last", "lengths", "reading", "start")

    def __init__(
        self, begin: _Start, last: int, digits: str, lengths: tuple[int, ...], gaps: list[str]
    ) -> None:
        self.begin, self.reading, self.last, self.digits = begin, begin.reading, last, digits
        self.start, self.end = begin.start, begin.reading.ends[last]
        self.lengths, self.gaps = lengths, gaps

    def is_money(self) -> bool:
        """Whether a sign of a currency stands beside, or two decimals end a number."""
        text, lengths = self.reading.text, self.lengths
        if dialing.money_before().search(text, max(0, self.start - 5), self.start):
            return True
        decimals = len(lengths) > 1 and lengths[-1] == 2 and self.gaps[-1] == "."
        return (decimals and len(lengths) == 2) or bool(dialing.money_after().match(text, self.end))

    def is_something_else(self) -> bool:
        """Whether this is rather a date, years, a decimal or a quantity."""
        alone = self.last == self.begin.first
        if alone and len(self.digits) < _FEWEST_ALONE:
            # Shorter bare numbers are too often something else; the code recognizer has them.
            return True
        if _goes_on(self.reading.text, self.end):
            return True
        if alone:
            return False
        other = _is_other(self.digits, self.lengths, self.gaps)
        return other or self.begin.date_end > self.begin.end

    @property
    def is_code(self) -> bool:
        """Whether this is announced as the number of an order, a customer or the like.

        With blanks between its parts it is none, for the code recognizer does not read on there.
        """
        if len(self.digits) < _FEWEST_OF_CODES or not _CODE_GAPS.issuperset(self.gaps):
            return False
        return _is_announced_code(self.reading, self.start)


_DIGITS = frozenset("0123456789")
_CODE_GAPS = frozenset("-/")
_POINTS = frozenset(",.:")
_ENDING = frozenset(" \n\t;!?)(\"'-/")  # after these and nothing at all a number does not go on


def _parts(reading: Reading, first: int, last: int) -> tuple[tuple[int, ...], list[str]]:
    """How many digits each of some runs has, and what stands between them."""
    text, starts, ends = (
        reading.text,
        reading.starts[first : last + 1],
        reading.ends[first : last + 1],
    )
    lengths = tuple([end - start for start, end in zip(starts, ends, strict=True)])
    return lengths, [text[end:start] for end, start in zip(ends, starts[1:], strict=False)]


def _is_other(digits: str, lengths: tuple[int, ...], gaps: list[str]) -> bool:
    """Whether groups of digits are rather years, a decimal, a quantity or single figures."""
    longest = max(lengths)
    if longest == 4 == min(lengths) and _all_years(digits):
        return True
    if _is_quantity(digits, lengths, gaps):
        return True
    return longest < 3 and (len(set(gaps)) > 1 or len(lengths) < 4)


@cache
def _reason(region: str | None) -> str:
    return f"can be a number of region {region}"


def _is_inside(text: str, start: int) -> bool:
    """Whether digits that start here are the rest of a word, a price or a decimal number."""
    before = text[start - 1] if start else ""
    if before.isalpha() or (before and before in "$€£¥"):
        return True
    return start > 1 and before in ".,:" and text[start - 2] in _DIGITS


def _is_announced_code(reading: Reading, start: int) -> bool:
    """Whether what starts here is announced as the number of an order, a customer or the like."""
    before = reading.before(start, BACK)
    return announces(reading.page, before) and not dialing.called_last().search(before)


def _goes_on(text: str, end: int) -> bool:
    """Whether decimals, a sign or letters follow."""
    following = text[end : end + 1]
    if not following or following in _ENDING:
        return False
    if following in _POINTS:
        return text[end + 1 : end + 2] in _DIGITS
    return bool(dialing.continued().match(text, end))


def _all_years(digits: str) -> bool:
    return all(
        digits[place : place + 2] in ("17", "18", "19", "20") for place in range(0, len(digits), 4)
    )


def _is_quantity(digits: str, lengths: tuple[int, ...], gaps: list[str]) -> bool:
    """12.345.678 and 1 234 567 are quantities, and 3.14159265 is one."""
    if digits.startswith("0") and lengths[0] > 1:
        return False
    if gaps == ["."]:
        return True
    if gaps[0] != "." and (gaps[0] != " " or lengths[0] != 1):
        return False
    return set(lengths[1:]) == {3} and len(set(gaps)) == 1


def _international(candidate: _Candidate) -> str:
    import phonenumbers

    digits = candidate.digits
    plus = dialing.plus().search(candidate.reading.before(candidate.start, 3))
    if not plus and not (digits.startswith("00") and len(candidate.lengths) > 1):
        return ""
    number = digits if plus else digits.removeprefix("00")
    if not 7 <= len(number) <= 16:
        return ""
    try:
        parsed = phonenumbers.parse(f"+{number}")
    except phonenumbers.NumberParseException:
        return "begins like an international number" if plus else ""
    if phonenumbers.is_possible_number(parsed):
        return "an international number"
    return "begins like an international number" if plus else ""


def _shaped(candidate: _Candidate) -> str:
    """Groups that hardly anything but a telephone number has."""
    if len(candidate.digits) not in (7, 10, 11):
        return ""
    lengths = candidate.lengths
    if lengths not in ((3, 3, 4), (1, 3, 3, 4), (3, 4)) or candidate.is_something_else():
        return ""
    if candidate.is_code:
        return ""
    return "grouped like a telephone number"


def _announced(candidate: _Candidate) -> str:
    reading, start, end = candidate.reading, candidate.start, candidate.end
    if candidate.is_money() or candidate.is_code:
        return ""
    if not reading.near(start, end, dialing.calling_words()):
        return ""
    if candidate.gaps == ["/"] and max(candidate.lengths) < _SHORTEST_PART:
        return ""  # a blood pressure
    if candidate.begin.date_end > start or (
        len(candidate.digits) % 4 == 0
        and set(candidate.lengths) == {4}
        and _all_years(candidate.digits)
    ):
        return ""
    return "looks like a telephone number, in context"


_LOOK_BACK, _LOOK_AHEAD = 60, 30
_GAPS, _WIDEST = " -/.()", 4
_FEWEST_ALONE = 9  # digits of a number without groups that nothing announces
_PLUS, _ZERO = ord("+"), ord("0")
_OPENING = frozenset("+( ")
_EXTENDING = frozenset("xXeEpPdD#")


def _may_be_number(page: Page) -> Flags:
    """From these runs on there are digits enough, or some and a word that announces a number."""
    runs = page.runs
    signed = [runs.before(distance) == _PLUS for distance in (1, 2, 3)]
    second = (runs.codes[runs.starts + 1] == _ZERO) | (runs.lengths == 1)
    zeros = (runs.codes[runs.starts] == _ZERO) & second
    abroad = np.logical_or.reduce([*signed, zeros])
    grouped = runs.joins(_GAPS, _WIDEST) | (runs.lengths >= _FEWEST_ALONE)
    alone = grouped & ~surely(runs.before(1), LETTERS + "$")
    enough = page.ask(_digits_near) >= _FEWEST_UNTOLD
    held: Flags = (enough & (abroad | alone)) | page.ask(_may_be_announced)
    return held


def _is_unsigned(page: Page) -> Flags:
    """Runs before which no plus sign stands, and that do not begin with two zeros.

    Short ones begin few numbers, so a look at the longest stretch from there on is not worth it.
    """
    runs = page.runs
    held: Flags = (runs.codes[runs.starts] != _ZERO) | (runs.codes[runs.starts + 1] != _ZERO)
    held &= runs.lengths >= _FEWEST_TRIED
    for distance in (1, 2, 3):
        held &= runs.before(distance) != _PLUS
    return held


def _digits_near(page: Page) -> NDArray[np.int64]:
    """How many digits each run has with those that may belong to it."""
    return page.runs.totals(_GAPS, _WIDEST)


def _may_be_announced(page: Page) -> Flags:
    """Some digits, and a word that seems to announce a number on either side of them."""
    runs, spots = page.runs, dialing.calling_words().spots(page)
    enough = page.ask(_digits_near) >= _FEWEST
    before = np.append(-_LOOK_BACK - 1, spots)
    told = runs.starts - before[np.searchsorted(before, runs.starts) - 1] <= _LOOK_BACK
    after = np.append(spots, FAR)
    # The number ends with a run that follows this one over such gaps.
    told |= after[np.searchsorted(after, runs.ends)] <= runs.reached(_GAPS, _WIDEST) + _LOOK_AHEAD
    held: Flags = told & enough
    return held


def _lead(reading: Reading, start: int) -> int:
    """Where the number starts when a plus sign or a parenthesis leads it."""
    if reading.text[max(0, start - 1) : start] not in _OPENING:
        return start
    match = dialing.opening().search(reading.text, max(0, start - 3), start)
    return match.start() if match else start


def _extended(text: str, end: int) -> int:
    """Where the number ends with its extension."""
    if text[end : end + 3].lstrip(" ,")[:1] not in _EXTENDING:
        return end
    match = dialing.extension().match(text, end)
    return match.end() if match else end
