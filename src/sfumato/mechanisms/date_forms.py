"""How a date is written, without what it says; any day can be written in any form.

A form has nothing that one day has and another has not. Where writers differ in a way that only
some days show, one way is written for all of them:

- A figure between figures has two digits (``03/04/2021``, for ``3/4/2021`` as well), since
  ``12/11/2021`` does not tell whether its writer puts a zero before a 3. The day beside a month's
  name, an hour with am or pm and figures before 年, 月 and 日 have no zero; other hours have one.
- French has ``1er`` for the first of a month whether or not it stood there, and no day has ``º``.
- Full stops after cut names are left out: newspapers cut January and not May.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from sfumato.mechanisms.date_names import NameStyle

YEAR, WEEK = 366, 7
LEAP = 2000
UTC = "+00:00"


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
            date = datetime.date.fromordinal(max(1, day.number)) if self.has_date else first_day()
            weekday = date.weekday()
        else:
            date, weekday = first_day() + datetime.timedelta(days=day.number), day.weekday
        return "".join(_spell(piece, date, weekday, clock) for piece in self.pieces)


def first_day() -> datetime.date:
    """The day from which days without a year are counted."""
    return datetime.date(LEAP, 1, 1)


def style_zone(text: str) -> str:
    """How a zone is written; which one it was is not kept."""
    return UTC if text[0] in "+-" else "Z" if text in "zZ" else "UTC"


def style_half(text: str) -> str:
    """How am or pm is written; which of them it was is not kept."""
    return text.replace("p", "a").replace("P", "A")


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
        return f"{(hour - 1) % 12 + 1}" if style == "12" else f"{hour:{style}}"
    if field == "half":
        spelled = ("a", "p")[hour >= 12]
        return style.replace("a", spelled).replace("A", spelled.upper())
    if field == "fraction":
        return f"{clock.fraction:0{style}}"
    return style if field == "zone" else f"{minute if field == 'minute' else second:02}"
