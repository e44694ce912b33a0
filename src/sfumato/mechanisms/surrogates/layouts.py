"""Drawn characters in a layout that is kept: 0 for digits, A and a for letters."""

from __future__ import annotations

import re
from datetime import date

from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.lists import Lists

FIRST_DAY, LAST_DAY = date(1930, 1, 1), date(2024, 12, 31)
_RUN = re.compile(r"0+|[Aa]+|[^0Aa]+")


def spell(layout: str, characters: str, chance: Chance) -> str:
    """The characters in the places of digits, one after the other; letters are drawn.

    ``characters`` must be as many as the layout has digits.
    """
    given = iter(characters)
    return "".join(next(given) if sign == "0" else chance.fill(sign) for sign in layout)


def spell_all(layout: str, characters: str) -> str:
    """The characters in the places of digits and letters alike."""
    given = iter(characters)
    return "".join(next(given) if sign in "0Aa" else sign for sign in layout)


def draw_day(chance: Chance) -> date:
    """A day from 1930 to 2024."""
    span = LAST_DAY.toordinal() - FIRST_DAY.toordinal() + 1
    return date.fromordinal(FIRST_DAY.toordinal() + chance.below(span))


def spell_date(layout: str, words: Lists, chance: Chance) -> str:
    """A date in a layout: numbers that may be days, months, hours or years, and names of months."""
    runs = _RUN.findall(layout)
    return "".join(
        _date_part(run, before, words, chance)
        for before, run in zip(("", *runs), runs, strict=False)
    )


def _date_part(run: str, before: str, words: Lists, chance: Chance) -> str:
    if run[0] == "0":
        return _date_number(len(run), chance)
    if run[0] not in "Aa":
        return run
    if len(run) >= 3:
        return chance.pick(words["months"])
    if len(run) == 2:
        return "th" if before.startswith("0") else chance.pick(("am", "pm"))
    return "T" if run == "A" else "h"


def _date_number(length: int, chance: Chance) -> str:
    """A number that may be a year, or a day, a month and an hour alike."""
    if length == 4:
        return str(chance.between(FIRST_DAY.year, LAST_DAY.year))
    if length <= 2:
        return str(chance.between(1, 12 if length == 2 else 9)).zfill(length)
    return chance.digits(length)
