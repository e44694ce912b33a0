"""Dates as people write them: what one says, and how another is written in the same way.

``read_date`` takes a text apart into a ``DateForm`` (the order of the parts, names or figures, the
language and the letters, what stands between) and a value (which day). ``DateForm.spell`` writes
any other day in that form. A form holds nothing of the value. Of a time
of day it only says that one stands there and how; the time itself is not even kept.

What is read
    Figures with ``-``, ``/``, ``.`` or blanks between them, year first or last; months and weekdays
    by their English, German, Spanish or French names; ``20210512``; ``2021年5月12日``. Parts may be
    missing: a month of a year counts as its 15th day, a year as its 1st of July. Without a year
    days go round in a year of 366 days, weekdays in a week of 7. Years of two digits are those from
    1950 to 2049. Whatever else stands in a text, it cannot be read. Of spellings that differ by
    habit one is written: ``Sep`` for ``Sept``, and in French ``1er`` for the first of a month.

What shows of a form
    In figures: whether one-digit numbers have a zero before them, as far as that can be seen.
    Of names: the language, as far as that can be told from the name and from what is around it.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, replace

from sfumato.mechanisms.date_names import (
    LANGUAGES,
    LONG,
    NameStyle,
    case_of,
    month_names,
    weekday_names,
)
from sfumato.mechanisms.date_patterns import date_patterns

# Two figures are read with the month first in these languages, and where none is known.
MONTH_FIRST = ("", "en")
YEAR, WEEK = 366, 7
LONGEST = 80  # characters; no date is written in more
_LEAP = 2000
_OLDEST_SHORT = 1950
_ZONE = "+00:00"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a form: a field with the style it is written in, or (no field) a text as it is."""

    field: str
    style: str | NameStyle


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day, in seconds since midnight and parts of a second."""

    second: int
    fraction: int = 0


@dataclass(frozen=True, slots=True)
class Day:
    """What a written date says: a day by its number, and the weekday where no year says it.

    ``number`` counts days since the year 1 where there is a year, and from 1 January otherwise.
    """

    number: int = 0
    weekday: int = 0


@dataclass(frozen=True, slots=True)
class DateForm:
    """How a date is written, without what it says."""

    pieces: tuple[Piece, ...]
    cycle: int | None

    @property
    def fields(self) -> frozenset[str]:
        """Which parts are written."""
        return frozenset(piece.field for piece in self.pieces if piece.field)

    @property
    def has_date(self) -> bool:
        """Whether there is more than a time of day."""
        return bool(self.fields & {"year", "month", "day", "weekday"})

    @property
    def fraction_digits(self) -> int:
        """How many digits the parts of a second have."""
        return next((int(str(one.style)) for one in self.pieces if one.field == "fraction"), 0)

    def move(self, day: Day, shift: int, limits: tuple[int, int]) -> Day:
        """The day that is ``shift`` days later, and no earlier or later than the limits."""
        if self.cycle is not None:
            return Day((day.number + shift) % YEAR, (day.weekday + shift) % WEEK)
        return Day(min(max(day.number + shift, limits[0]), limits[1]))

    def spell(self, day: Day, clock: Clock) -> str:
        """A day and a time in this form."""
        if self.cycle is None:
            date = datetime.date.fromordinal(max(1, day.number)) if self.has_date else _first()
            weekday = date.weekday()
        else:
            date, weekday = _first() + datetime.timedelta(days=day.number), day.weekday
        return "".join(_spell(piece, date, weekday, clock) for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A form and what is written in it."""

    form: DateForm
    day: Day

    def before(self, end: str) -> WrittenDate:
        """The same with something after it."""
        return replace(self, form=replace(self.form, pieces=(*self.form.pieces, Piece("", end))))


def read_date(text: str, language: str = "", day_first: bool | None = None) -> WrittenDate | None:
    """The form and the day of a text; nothing if it cannot be read as a date or a time.

    >>> found = read_date("Wed, 12 May 2021")
    >>> found.form.spell(Day(found.day.number + 20), Clock(0))
    'Tue, 1 June 2021'
    >>> read_date("31.02.2021") is None
    True
    """
    if len(text) > LONGEST:
        return None
    first = language not in MONTH_FIRST if day_first is None else day_first
    for pattern in date_patterns():
        found = pattern.fullmatch(text)
        if found is None:
            continue
        for order in _orders(found, first, fixed=day_first is not None):
            written = _interpret(found, language, order)
            if written is not None:
                return written
    if not text.endswith(".") or text.endswith(".."):
        return None
    inside = read_date(text[:-1], language, day_first)
    return None if inside is None else inside.before(".")


def _orders(found: re.Match[str], first: bool, *, fixed: bool) -> tuple[bool, ...]:
    """Whether the day of two figures comes first: as set, else as usual, else the other way."""
    if fixed or "one" not in found.re.groupindex:
        return (first,)
    if "." in found["b"]:
        first = True  # dots stand between figures where the day comes first
    return (first, not first) if "year" in found.groupdict() else (first,)


def _interpret(found: re.Match[str], language: str, day_first: bool) -> WrittenDate | None:
    """What a match says, if there is such a day."""
    fields = _fields(found, day_first)
    given = {name: found[group] for name, group in fields.items()}
    styles = _styles(found, given, language)
    if styles is None or not _is_clock(given):
        return None
    numbers = _numbers(given, styles)
    present = frozenset(numbers)
    cycle = None
    if "year" not in present and present & {"month", "day", "weekday"}:
        cycle = YEAR if "month" in present else WEEK
    day = _day(numbers, cycle)
    if day is None:
        return None
    return WrittenDate(DateForm(_pieces(found, fields, styles), cycle), day)


def _fields(found: re.Match[str], day_first: bool) -> dict[str, str]:
    """Each field with the group that holds it."""
    fields = {name: name for name in _GROUPS if found.groupdict().get(name) is not None}
    if "one" in found.groupdict():
        names = ("day", "month") if day_first else ("month", "day")
        fields |= dict(zip(names, ("one", "two"), strict=True))
    return fields


def _numbers(given: dict[str, str], styles: dict[str, str | NameStyle]) -> dict[str, int]:
    """Year, month (1 to 12), day and weekday (0 to 6), as far as they are written."""
    numbers: dict[str, int] = {}
    for name in ("year", "month", "day", "weekday"):
        if name not in given:
            continue
        style = styles[name]
        if isinstance(style, NameStyle):
            table = month_names() if name == "month" else weekday_names()
            number = next(one[2] for one in table[given[name].lower()] if one[0] == style.language)
            numbers[name] = number + (name == "month")
        else:
            numbers[name] = int(given[name])
    if styles.get("year") == "2":
        numbers["year"] += _OLDEST_SHORT // 100 * 100
        numbers["year"] += 100 * (numbers["year"] < _OLDEST_SHORT)
    return numbers


def _day(numbers: dict[str, int], cycle: int | None) -> Day | None:
    if not numbers:
        return Day()
    month = numbers.get("month", 7)
    missing = 15 if "month" in numbers else 1
    year = numbers.get("year", _LEAP)
    try:
        date = datetime.date(year, month, numbers.get("day", missing))
    except ValueError:
        return None
    if cycle is None:
        return Day(date.toordinal())
    number = (date - _first()).days if "month" in numbers else 0
    return Day(number, numbers.get("weekday", 0))


def _is_clock(given: dict[str, str]) -> bool:
    """Whether the time of day, if there is one, is one."""
    if "hour" not in given:
        return True
    hours = range(1, 13) if "half" in given else range(25)
    minute, second = int(given.get("minute", 0)), int(given.get("second", 0))
    return int(given["hour"]) in hours and minute < 60 and second <= 60


def _styles(
    found: re.Match[str], given: dict[str, str], language: str
) -> dict[str, str | NameStyle] | None:
    """How each field is written."""
    styles: dict[str, str | NameStyle] = {}
    named = [name for name in ("month", "weekday") if given.get(name, "0")[0].isalpha()]
    if named:
        spoken = _language(found, [given[name] for name in named], language)
        if spoken is None:
            return None
        for name in named:
            styles[name] = _name_style(name, given[name], spoken)
    if "day" in given and isinstance(styles.get("month"), NameStyle):
        styles["day"] = _day_style(given, styles["month"])
    figures = [name for name in ("day", "month") if name in given and name not in styles]
    padded = all(len(given[name]) == 2 for name in figures)
    styles |= dict.fromkeys(figures, "02" if padded else "0")
    for name, text in given.items():
        styles.setdefault(name, _FIGURES[name](text) if name in _FIGURES else "")
    if "hour" in given and "half" in given:
        styles["hour"] = "12" + str(styles["hour"])
    return styles


def _day_style(given: dict[str, str], month: str | NameStyle) -> str:
    """How the day beside a month's name is written."""
    ending = given.get("suffix", "").lower()
    if ending and ending not in ("er", "º"):
        return "th"
    if given["day"].startswith("0"):
        return "02"
    return "er" if isinstance(month, NameStyle) and month.language == "fr" else "0"


def _language(found: re.Match[str], names: list[str], language: str) -> str | None:
    """The language of all names: the document's if it can be, else what the rest looks like."""
    tables = (month_names(), weekday_names())
    possible = set(LANGUAGES)
    for name in names:
        known = {one[0] for table in tables for one in table.get(name.lower(), ())}
        possible &= known
    if language in possible:
        return language
    text = found.string.lower()
    hints = [
        ("es", " de " in text or " del " in text),
        ("de", re.search(r"\d\. ?[^\W\d]", text) is not None),
        ("fr", re.search(r"\der ", text) is not None),
        ("fr", case_of(names[0]) == "lower" and "en" not in possible and "es" not in possible),
    ]
    likely = [one for one, seems in hints if seems and one in possible]
    return next((one for one in (*likely, *LANGUAGES) if one in possible), None)


def _name_style(field: str, name: str, language: str) -> NameStyle:
    table = month_names() if field == "month" else weekday_names()
    lengths = [one[1] for one in table[name.lower()] if one[0] == language]
    return NameStyle(language, LONG if LONG in lengths else lengths[0], case_of(name))


def _pieces(
    found: re.Match[str], fields: dict[str, str], styles: dict[str, str | NameStyle]
) -> tuple[Piece, ...]:
    """Fields in their order, and what stands between them."""
    places = sorted((*found.span(group), name) for name, group in fields.items())
    pieces: list[Piece] = []
    reached = 0
    for start, end, name in places:
        if start > reached:
            pieces.append(Piece("", found.string[reached:start]))
        if name != "suffix":  # written together with the day
            pieces.append(Piece(name, styles[name]))
        reached = end
    if reached < len(found.string):
        pieces.append(Piece("", found.string[reached:]))
    return tuple(pieces)


def _spell(piece: Piece, date: datetime.date, weekday: int, clock: Clock) -> str:
    style = piece.style
    if isinstance(style, NameStyle):
        return style.month(date.month - 1) if piece.field == "month" else style.weekday(weekday)
    match piece.field:
        case "":
            return style
        case "day":
            return _spell_day(date.day, style)
        case "month":
            return f"{date.month:{style}}"
        case "year":
            return f"{date.year:04}"[-int(style) :]
        case _:
            return _spell_clock(piece.field, style, clock)


def _spell_day(day: int, style: str) -> str:
    if style == "er":
        return "1er" if day == 1 else str(day)
    if style == "th":
        ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        return f"{day}{ending}"
    return f"{day:{style}}"


def _spell_clock(field: str, style: str, clock: Clock) -> str:
    hour, minute, second = clock.second // 3600, clock.second // 60 % 60, clock.second % 60
    if field == "hour":
        if style.startswith("12"):
            return f"{(hour - 1) % 12 + 1:{style[2:]}}"
        return f"{hour:{style}}"
    if field == "half":
        spelled = ("a", "p")[hour >= 12]
        return style.replace("a", spelled).replace("A", spelled.upper())
    if field == "fraction":
        return f"{clock.fraction:0{style}}"
    return style if field == "zone" else f"{minute if field == 'minute' else second:02}"


def _width(text: str) -> str:
    return "02" if len(text) == 2 else "0"


def _half(text: str) -> str:
    return text.replace("p", "a").replace("P", "A")


def _zone(text: str) -> str:
    return _ZONE if text[0] in "+-" else "Z" if text in "zZ" else "UTC"


_FIGURES = {
    "year": lambda text: str(len(text)),
    "hour": _width,
    "half": _half,
    "fraction": lambda text: str(len(text)),
    "zone": _zone,
}
_GROUPS = (
    "weekday", "day", "suffix", "month", "year", "hour", "minute", "second", "fraction", "half",
    "zone",
)  # fmt: skip


def _first() -> datetime.date:
    return datetime.date(_LEAP, 1, 1)
