"""Numbers with check digits: national and tax identifiers of many countries, by one table.

A row says how a number is grouped and which part of python-stdnum checks it. A number that passes
is found wherever it stands if chance seldom passes the check, else only beside a word that
announces it. A number that fails is found when it is announced: it may be a mistyped real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.reading import Reading
from sfumato.text.span import Span

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
        self._first = frozenset(groups[0] for groups in self._rows)

    def find(self, reading: Reading) -> Iterator[Span]:
        """All numbers of the table."""
        text = reading.text
        for first, (start, end) in enumerate(zip(reading.starts, reading.ends, strict=True)):
            before = text[start - 1] if start else " "
            length = end - start
            if (
                length in self._first
                and not before.isalnum()
                and before not in _INSIDE
                and ((length,) in self._rows or not reading.stands_alone(first, 1))
            ):
                yield from self._grouped(reading, first)
            if _may_have_letters(text, start, end):
                yield from self._formed(reading, start)

    def _grouped(self, reading: Reading, first: int) -> Iterator[Span]:
        text, start = reading.text, reading.starts[first]
        found: Span | None = None
        lengths: tuple[int, ...] = ()
        for last, digits in reading.runs(first, _gap(), _MOST_DIGITS):
            end = reading.ends[last]
            lengths = (*lengths, end - reading.starts[last])
            rows = self._rows.get(lengths)
            if rows and not _continued().match(text, end):
                found = self._judged(reading, (start, end), digits, rows) or found
        if found:
            yield found

    def _judged(
        self, reading: Reading, place: tuple[int, int], number: str, rows: Sequence[Row | Form]
    ) -> Span | None:
        """By a row that checks; else by one that is announced."""
        announced = [row for row in rows if _is_announced(reading, place[0], row.cue)]
        for row in rows:
            if (row.sure or row in announced) and is_valid(row.module, number):
                reason = f"passes the check of such numbers of {row.country}"
                return Span(*place, self._label, self._name, reason)
        for row in announced:
            reason = f"announced as such a number of {row.country}"
            return Span(*place, self._label, f"{self._name}-context", reason)
        return None

    def _formed(self, reading: Reading, start: int) -> Iterator[Span]:
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


_LETTERS_BEFORE = 7
_FIRST_RUNS = (1, 2, 6, 8)  # how long the first of several runs of digits is, if letters follow


def _may_have_letters(text: str, start: int, end: int) -> bool:
    """Whether letters stand right beside a run of digits, or over one sign that may be between."""
    if text[end : end + 1].isalpha() or (start and text[start - 1].isalpha()):
        return True
    if end - start in _FIRST_RUNS:
        near = text[end : end + 2]
        if near[:1] in (" ", "-", ".") and near[1:].isalnum():
            return True
    return start > 1 and text[start - 1] in " -" and text[start - 2].isupper()


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


@cache
def _gap() -> Expression:
    return Expression(r"[ .\-/]")


@cache
def _continued() -> Expression:
    return Expression(r"[\p{L}\p{N}]|[.,\-/][0-9]|%")
