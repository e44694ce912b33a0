"""Numbers with check digits: national and tax identifiers of many countries, by one table.

A row says how a number is grouped and which part of python-stdnum checks it. A number that passes
is found wherever it stands if chance seldom passes the check, else only beside a word that
announces it. A number that fails is found when it is announced: it may be a mistyped real one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.automaton import automaton
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.openings import words_of
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import (
    CAPITALS,
    DIGITS,
    LETTERS,
    MOST,
    Codes,
    Flags,
    among,
    is_letter,
    surely,
)

_LOOK_BACK = 40
_MOST_DIGITS = 15


class Row(NamedTuple):
    """One kind of number.

    ``groups`` lists the lengths of its runs of digits as people write them ("3-3-4"). ``sure``
    tells that passing the check is enough; ``cue`` has the words that announce the number.
    """

    country: str
    module: str
    groups: str
    sure: bool
    cue: str


class Form(NamedTuple):
    """A kind of number with letters in it: an expression that begins at a letter or a digit."""

    country: str
    module: str
    pattern: str
    sure: bool
    cue: str


class Table:
    """Rows and forms, with the label of what they find."""

    def __init__(self, label: str, rows: Sequence[Row], forms: Sequence[Form]) -> None:
        self._label = label
        self._name = label.lower().replace("_", "-")
        self._forms = [(form, Expression(_bounded(form.pattern))) for form in forms]
        self._any_form = Expression(_bounded("|".join(form.pattern for form in forms)))
        self._rows: dict[tuple[int, ...], list[Row]] = {}
        for row in rows:
            for written in row.groups.split():
                groups = tuple(int(length) for length in written.split("-"))
                self._rows.setdefault(groups, []).append(row)
        self._groups = np.array(sorted(map(_number_of, self._rows)), dtype=np.int64)
        sure = (groups for groups, rows in self._rows.items() if any(row.sure for row in rows))
        self._sure = np.array(sorted(map(_number_of, sure)), dtype=np.int64)
        self._announcing = words_of(*(row.cue for row in rows))

    def find(self, reading: Reading) -> Iterator[Found]:
        """All numbers of the table."""
        for first in reading.chosen(self._may_be_row):
            start = reading.starts[first]
            before = reading.text[start - 1] if start else " "
            if not before.isalnum() and before not in _INSIDE:
                yield from self._grouped(reading, first)
        for first in reading.chosen(self._may_be_form):
            yield from self._formed(reading, reading.starts[first])

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return sorted({*page.choose(self._may_be_row), *page.choose(self._may_be_form)})

    def _may_be_form(self, page: Page) -> Flags:
        """Numbers at which, or at the letters before which, a form can match."""
        held, codes = page.ask(_may_have_letters).copy(), page.runs.codes
        chosen = np.flatnonzero(held)
        starts = page.runs.starts[chosen]
        machine, begins = automaton(self._any_form), _begins(codes, starts)
        held[chosen] = machine.can_match(codes, starts) | machine.can_match(codes, begins)
        return held

    def _may_be_row(self, page: Page) -> Flags:
        """Numbers grouped as a row says that is sure by its check, or that seems announced."""
        runs = page.runs
        whole = ~surely(runs.before(1), LETTERS + DIGITS + "._$")
        told = page.told_on_line(self._announcing, _LOOK_BACK)
        links = runs.joins(" .-/")
        found = np.zeros(len(runs), dtype=np.bool_)
        places, ahead = np.flatnonzero(whole), 0
        numbers = np.zeros(len(places), dtype=np.int64)
        while len(places) and ahead < MOST:
            last = places + ahead
            numbers += np.minimum(runs.lengths[last], _BASE - 1) * _BASE**ahead
            sure, grouped = _is_in(numbers, self._sure), _is_in(numbers, self._groups)
            found[places[sure | (grouped & told[places])]] = True
            linked = links[last]
            places, numbers, ahead = places[linked], numbers[linked], ahead + 1
        return found

    def _grouped(self, reading: Reading, first: int) -> Iterator[Found]:
        text, start = reading.text, reading.starts[first]
        found: Found | None = None
        lengths: tuple[int, ...] = ()
        for last, digits in reading.runs(first, _GAPS, _MOST_DIGITS):
            end = reading.ends[last]
            lengths = (*lengths, end - reading.starts[last])
            rows = self._rows.get(lengths)
            if rows and not _continued().match(text, end):
                found = self._judged(reading, (start, end), digits, rows) or found
        if found:
            yield found

    def _judged(
        self, reading: Reading, place: tuple[int, int], number: str, rows: Sequence[Row | Form]
    ) -> Found | None:
        """By a row that checks; else by one that is announced."""
        announced = [row for row in rows if _is_announced(reading, place[0], row.cue)]
        for row in rows:
            if (row.sure or row in announced) and is_valid(row.module, number):
                reason = f"passes the check of such numbers of {row.country}"
                return Found(*place, self._label, self._name, reason)
        for row in announced:
            reason = f"announced as such a number of {row.country}"
            return Found(*place, self._label, f"{self._name}-context", reason)
        return None

    def _formed(self, reading: Reading, start: int) -> Iterator[Found]:
        text, begin = reading.text, start
        if start > 1 and text[start - 1] in " -" and text[start - 2].isalpha():
            begin = start - 1
        while begin and start - begin < _LETTERS_BEFORE and text[begin - 1].isalpha():
            begin -= 1
        if not self._any_form.match(text, begin):
            begin = start
            if not self._any_form.match(text, begin):
                return
        for form, pattern in self._forms:
            match = pattern.match(text, begin)
            if match:
                span = self._judged(reading, match.span(), match[0].upper(), [form])
                if span:
                    yield span


def _begins(codes: Codes, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the letters begin before each run of digits, over one blank or hyphen at most."""
    parted = surely(codes[starts - 1], " -") & is_letter(codes[starts - 2])
    begins: NDArray[np.int64] = starts - parted
    for _ in range(_LETTERS_BEFORE):
        begins = begins - ((starts - begins < _LETTERS_BEFORE) & is_letter(codes[begins - 1]))
    return begins


_LETTERS_BEFORE = 7
_COUNTRIES = "AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK GB"
_FARTHEST_COUNTRY = 8  # characters from the code of a country to the first digit
_CODES = 256
_WIDEST = 5  # letters and signs between two digits of a form
_SHORTEST_WORD = 9
_FIRST_RUNS = (1, 2, 6, 8)  # how long the first of several runs of digits is, if letters follow


def _may_have_letters(page: Page) -> Flags:
    """Whether letters stand right beside a run of digits, or over one sign that may be between."""
    runs = page.runs
    before, after = runs.before(1), runs.after(1)
    beside = among(before, LETTERS) | among(after, LETTERS)
    first = np.isin(runs.lengths, _FIRST_RUNS)
    followed = first & among(after, " -.") & among(runs.after(2), LETTERS + DIGITS)
    near = beside | followed | (among(before, " -") & among(runs.before(2), CAPITALS))
    # Every form has some digits from its first one on, or is one long word.
    led = among(before, LETTERS) | (among(before, " -") & among(runs.before(2), LETTERS))
    digits = runs.totals(LETTERS + " .-+", _WIDEST)
    enough = (digits >= 8) | (led & ((digits >= 6) | ((digits >= 4) & page.ask(_may_be_taxed))))
    return near & (enough | page.ask(_is_in_long_word))


def _may_be_taxed(page: Page) -> Flags:
    """Whether the code of a country of the European Union stands before a run of digits."""
    codes, starts = page.runs.codes.astype(np.int64), page.runs.starts
    found = np.zeros(len(starts), dtype=np.bool_)
    for back in range(2, _FARTHEST_COUNTRY + 1):
        place = np.maximum(starts - back, 0)
        found |= _countries()[codes[place] * _CODES + codes[place + 1]]
    return found


@cache
def _countries() -> Flags:
    """For two characters whether they are the code of a country."""
    table = np.zeros(_CODES * _CODES, dtype=np.bool_)
    table[[ord(code[0]) * _CODES + ord(code[1]) for code in _COUNTRIES.split()]] = True
    return table


def _is_in_long_word(page: Page) -> Flags:
    """Whether letters and digits without anything between are as many as a form has."""
    runs = page.runs
    firsts, lasts = page.alphanumerics
    word = np.searchsorted(firsts, runs.starts, side="right") - 1
    held: Flags = (lasts - firsts)[word] >= _SHORTEST_WORD
    return held


def _is_in(numbers: NDArray[np.int64], known: NDArray[np.int64]) -> Flags:
    """Which numbers are among some that are in order."""
    if not len(known):
        return np.zeros(len(numbers), dtype=np.bool_)
    found: Flags = known[np.minimum(np.searchsorted(known, numbers), len(known) - 1)] == numbers
    return found


def _number_of(groups: tuple[int, ...]) -> int:
    return sum(length * _BASE**place for place, length in enumerate(groups))


_BASE = 32  # above the length of any group


_INSIDE = frozenset("._$€£")


def is_valid(module: str, number: str) -> bool:
    """Whether python-stdnum accepts a number; without a module its form alone counts."""
    if not module:
        return True
    plain = "".join(character for character in number if character.isalnum())
    checks = _load(module)
    return bool(checks.is_valid(plain))  # type: ignore[attr-defined]


@cache
def _load(module: str) -> object:
    return import_module(f"stdnum.{module}")


def _is_announced(reading: Reading, start: int, words: str) -> bool:
    return bool(_cue(words).search(reading.before(start, _LOOK_BACK)))


def _bounded(pattern: str) -> str:
    return rf"(?<![\p{{L}}\p{{N}}])(?i:{pattern})(?![\p{{L}}\p{{N}}])"


@cache
def _cue(words: str) -> Expression:
    """The words, then no other number and no end of a sentence up to the number."""
    return Expression(
        rf"(?i)(?<![\p{{L}}\p{{N}}])(?:{words})(?![\p{{L}}])(?:(?![.!?;] )[^\n0-9]){{0,26}}\Z"
    )


_GAPS = frozenset(" .-/")


@cache
def _continued() -> Expression:
    return Expression(r"[\p{L}\p{N}]|[.,\-/][0-9]|%")
