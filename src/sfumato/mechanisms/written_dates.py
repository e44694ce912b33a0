"""Dates as people write them: what one says, and the form in which another can be written.

``read_date`` takes a text apart into a ``DateForm`` (the order of the parts, names or figures,
capitals, what stands between) and a value (which day). A form holds nothing of the value, not even
what only some days show (``date_forms``). Of a time of day it only says that one stands there and
how; the time itself is not even kept.

What is read
    Figures with ``-``, ``/``, ``.`` or blanks between them, year first or last; months and weekdays
    by their English, German, Spanish or French names; ``20210512``; ``2021年5月12日``. Parts may be
    missing: a month of a year counts as its 15th day, a year as its 1st of July. Without a year
    days go round in a year of 366 days, weekdays in a week of 7. Years of two digits are those from
    1950 to 2049. Whatever else stands in a text, it cannot be read.

What the value does not decide
    Which of two figures is the day: the language or a setting says so, and with dots between them
    it is the first. What is no day in that order is not read in the other one.
    The language of names: words around them say so (``of``, ``de``, ``den``, ``le`` …), a weekday
    or a long Spanish month, else the document, else a full stop after the day (German), else it is
    English. Names of other languages are read, too, and written in that one.
    The length of a month's name: short beside a short weekday, between ``-`` or ``/``, joined to a
    figure, or before a time with seconds, and long everywhere else. "May" is both.

What it may still decide
    Whether something can be read: 13/4/2021 where the month is to come first, 31 February, and
    ``mar`` for a Tuesday, which is read as March where neither Spanish nor French is spoken.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sfumato.mechanisms.date_forms import (
    LEAP,
    WEEK,
    YEAR,
    DateForm,
    Day,
    Piece,
    first_day,
    style_half,
    style_zone,
)
from sfumato.mechanisms.date_names import (
    LANGUAGES,
    LONG,
    SHORT,
    NameStyle,
    case_of,
    language_of,
    may_be_weekday,
    month_names,
    weekday_length,
    weekday_names,
)
from sfumato.mechanisms.date_patterns import date_patterns

# Two figures are read with the month first in these languages, and where none is known.
MONTH_FIRST = ("", "en")
LONGEST = 80  # characters; no date is written in more
_OLDEST_SHORT = 1950
_GROUPS = (
    "weekday", "day", "suffix", "month", "year", "hour", "minute", "second", "fraction", "half",
    "zone",
)  # fmt: skip
# Words that may stand in a date, and the language they are a sign of.
_SIGNS = {
    "of": "en", "the": "en", "at": "en", "o'clock": "en", "den": "de", "um": "de", "uhr": "de",
    "de": "es", "del": "es", "el": "es", "las": "es", "la": "es", "le": "fr", "à": "fr",
}  # fmt: skip


_AS_WRITTEN: dict[str, Callable[[str], str]] = {
    "year": lambda text: str(len(text)),
    "fraction": lambda text: str(len(text)),
    "half": style_half,
    "zone": style_zone,
}


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A form and what is written in it."""

    form: DateForm
    day: Day

    def before(self, end: str) -> WrittenDate:
        """The same with something after it."""
        return replace(self, form=replace(self.form, pieces=(*self.form.pieces, Piece("", end))))


@dataclass(frozen=True, slots=True)
class _Parts:
    """A text taken apart: each field as it is written, in order, and what stands around them."""

    given: dict[str, str]
    between: list[str]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.given)

    @property
    def is_named(self) -> bool:
        """Whether the month or the weekday has a name."""
        return "weekday" in self.given or not self.given.get("month", "0").isdecimal()

    def around(self, name: str) -> tuple[str, str]:
        """What stands before and after a field."""
        place = self.names.index(name)
        return self.between[place], self.between[place + 1]


def read_date(text: str, language: str = "", day_first: bool | None = None) -> WrittenDate | None:
    """The form and the day of a text; nothing if it cannot be read as a date or a time.

    >>> from sfumato.mechanisms.date_forms import Clock
    >>> found = read_date("Wed, 12 May 2021")
    >>> found.form.spell(Day(found.day.number + 20), Clock(0))
    'Tue, 1 Jun 2021'
    >>> read_date("31.02.2021") is None
    True
    """
    if len(text) > LONGEST:
        return None
    first = language not in MONTH_FIRST if day_first is None else day_first
    for pattern in date_patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            dotted = day_first is None and "." in (found.groupdict().get("b") or "")
            return _interpret(_take_apart(found, first or dotted), language)
    if not text.endswith(".") or text.endswith(".."):
        return None
    inside = read_date(text[:-1], language, day_first)
    return None if inside is None else inside.before(".")


def _take_apart(found: re.Match[str], day_first: bool) -> _Parts:
    groups = found.groupdict()
    fields = {name: name for name in _GROUPS if groups.get(name) is not None}
    if "one" in groups:
        names = ("day", "month") if day_first else ("month", "day")
        fields |= dict(zip(names, ("one", "two"), strict=True))
    places = sorted((*found.span(group), name) for name, group in fields.items())
    given, between, reached = {}, [], 0
    for start, end, name in places:
        between.append(found.string[reached:start])
        given[name] = found.string[start:end]
        reached = end
    return _Parts(given, [*between, found.string[reached:]])


def _interpret(parts: _Parts, language: str) -> WrittenDate | None:
    """What a text says, if there is such a day."""
    given = parts.given
    numbers = _numbers(given)
    if numbers is None or not _is_clock(given) or _is_unclear(parts, language):
        return None
    cycle = None
    if "year" not in numbers and numbers:
        cycle = YEAR if "month" in numbers else WEEK
    day = _day(numbers, cycle)
    if day is None:
        return None
    return WrittenDate(DateForm(_pieces(parts, _styles(parts, language)), cycle), day)


def _is_unclear(parts: _Parts, language: str) -> bool:
    """Whether a name that stands first may be that of a month and of a weekday."""
    first, text = next(iter(parts.given.items()))
    name = text.lower()
    if first == "weekday" and len(parts.given) == 1:
        # Alone, those that Spanish and French have in common are not told from months.
        return not language_of(name)
    return first == "month" and may_be_weekday(name, language)


def _numbers(given: dict[str, str]) -> dict[str, int] | None:
    """Year, month (1 to 12), day and weekday (0 to 6), as far as they are written."""
    numbers: dict[str, int] = {}
    for name in ("year", "month", "day", "weekday"):
        if name not in given:
            continue
        if given[name].isdecimal():
            numbers[name] = int(given[name])
            continue
        number = (month_names() if name == "month" else weekday_names()).get(given[name].lower())
        if number is None:
            return None
        numbers[name] = number + (name == "month")
    if len(given.get("year", "")) == 2:
        numbers["year"] += _OLDEST_SHORT // 100 * 100
        numbers["year"] += 100 * (numbers["year"] < _OLDEST_SHORT)
    return numbers


def _day(numbers: dict[str, int], cycle: int | None) -> Day | None:
    if not numbers:
        return Day()
    month = numbers.get("month", 7)
    missing = 15 if "month" in numbers else 1
    try:
        date = datetime.date(numbers.get("year", LEAP), month, numbers.get("day", missing))
    except ValueError:
        return None
    if cycle is None:
        return Day(date.toordinal())
    number = (date - first_day()).days if "month" in numbers else 0
    return Day(number, numbers.get("weekday", 0))


def _is_clock(given: dict[str, str]) -> bool:
    """Whether the time of day, if there is one, is one."""
    if "hour" not in given:
        return True
    hours = range(1, 13) if "half" in given else range(25)
    minute, second = int(given.get("minute", 0)), int(given.get("second", 0))
    return int(given["hour"]) in hours and minute < 60 and second <= 60


def _styles(parts: _Parts, language: str) -> dict[str, str | NameStyle]:
    """How each field is written."""
    given = parts.given
    styles: dict[str, str | NameStyle] = dict.fromkeys(given, "")
    spoken = _language(parts, language) if parts.is_named else ""
    for name in ("month", "weekday"):
        if name in given and not given[name].isdecimal():
            length = _length(parts) if name == "month" else weekday_length(given[name].lower())
            styles[name] = NameStyle(spoken, length, case_of(given[name]))
    if "day" in given:
        styles["day"] = _day_style(parts, spoken)
    if given.get("month", "").isdecimal():
        styles["month"] = "0" if _is_eastern(parts, "month") else "02"
    if "hour" in given:
        after = parts.around("hour")[1]
        styles["hour"] = "12" if "half" in given else "02" if after in ("", ":", ".") else "0"
    for name, style in _AS_WRITTEN.items():
        if name in given:
            styles[name] = style(given[name])
    return styles


def _day_style(parts: _Parts, language: str) -> str:
    given = parts.given
    if given.get("month", "").isdecimal():
        return "0" if _is_eastern(parts, "day") else "02"
    if given.get("suffix", "").lower() in ("st", "nd", "rd", "th"):
        return "th"
    return (
        "er" if language == "fr" and parts.names.index("day") < parts.names.index("month") else "0"
    )


def _is_eastern(parts: _Parts, name: str) -> bool:
    return parts.around(name)[1].strip()[:1] in tuple("月월日일")


def _language(parts: _Parts, language: str) -> str:
    """The language that names are written in, whichever they are: see above."""
    names = [parts.given.get(name, "").lower() for name in ("weekday", "month")]
    words = " ".join(parts.between).lower().replace("(", " ").replace(",", " ").split()
    signs = [*map(language_of, names), *(_SIGNS.get(word, "") for word in words)]
    dotted = "day" in parts.names and parts.around("day")[1][:1] == "."
    usual = language if language in LANGUAGES else "de" if dotted else "en"
    return next(filter(None, signs), usual)


def _length(parts: _Parts) -> str:
    """Whether a month's name is short, as far as that can be told without the name."""
    before, after = parts.around("month")
    joined = {before, after} & {"-", "/"} or (not before and parts.names[0] != "month")
    weekday = parts.given.get("weekday", "").lower()
    beside = weekday and weekday_length(weekday) == SHORT
    return SHORT if joined or beside or "second" in parts.names else LONG


def _pieces(parts: _Parts, styles: dict[str, str | NameStyle]) -> tuple[Piece, ...]:
    """Fields in their order, and what stands between them."""
    pieces = [Piece("", parts.between[0])]
    named = isinstance(styles.get("month"), NameStyle)
    for name, after in zip(parts.names, parts.between[1:], strict=True):
        if name == "suffix":  # written together with the day
            pieces.append(Piece("", after))
            continue
        shown = after.replace("a la ", "a las ")
        if name == "month" and named and len(after) > 1:
            shown = " " if after == "  " else shown.removeprefix(".")
        pieces += [Piece(name, styles[name]), Piece("", shown)]
    return tuple(piece for piece in pieces if piece.field or piece.style)
