"""A form is a way to write: whichever number is written in it, it is read as the same form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato.mechanisms.number import Number
from sfumato.mechanisms.written_numbers import NumberForm, WrittenNumber, read_number

Style = Callable[[int], str]
Read = Callable[[str, str], WrittenNumber | None]
VALUES = [*range(130), 999, 1000, 1001, 9999, 10_000, 123_456, 1_000_000, 1_234_567, 10**9]
VALUES += [-1, -2, -1000]


def write(ticks: int, decimals: int, marks: str, width: int = 1) -> str:
    """A number as someone writes it who puts marks (groups, decimals) and zeros where he can."""
    digits = str(abs(ticks)).rjust(decimals + width, "0")
    cut = len(digits) - decimals
    whole, rest = digits[:cut], digits[cut:]
    if marks[0] != "0" and len(whole) > 3:
        whole = f"{int(whole):,}".replace(",", marks[0])
    return ("-" if ticks < 0 else "") + whole + (marks[1] + rest if decimals else "")


def count(value: int, one: str, many: str, before: str = "") -> str:
    return f"{before}{value} {one if abs(value) == 1 else many}"


def marked(decimals: int, marks: str, width: int = 1) -> Style:
    return lambda value: write(value, decimals, marks, width)


def counted(one: str, many: str, before: str = "") -> Style:
    return lambda value: count(value, one, many, before)


STYLES: dict[str, tuple[str, Style]] = {
    f"{marks} {decimals} {width} {language}": (language, marked(decimals, marks, width))
    for decimals, width in itertools.product((0, 1, 2, 3), (0, 1, 3, 6))
    for marks, language in ((",.", "en"), (".,", "de"), (" ,", "fr"), ("'.", ""), ("0.", ""))
    if decimals or width
}
# Decimals after a comma where a point is usual: told by their number, as long as it is not three.
STYLES |= {
    f"{marks} {decimals} where a point is usual": ("", marked(decimals, marks))
    for marks, decimals in itertools.product((".,", " ,", "0,"), (1, 2))
}
STYLES |= {
    f"{one} {many}": (language, counted(one, many, before))
    for one, many, language, before in (
        ("year", "years", "en", ""), ("Year", "Years", "", ""), ("DAY", "DAYS", "", ""),
        ("foot", "feet", "en", ""), ("inch", "inches", "en", ""), ("person", "people", "en", ""),
        ("Jahr", "Jahre", "de", ""), ("Jahr", "Jahren", "de", ""), ("Minute", "Minuten", "de", ""),
        ("Tablette", "Tabletten", "de", ""), ("mes", "meses", "es", ""), ("vez", "veces", "es", ""),
        ("an", "ans", "fr", ""), ("heure", "heures", "fr", ""), ("lb", "lbs", "", ""),
        ("year old", "years old", "en", ""), ("more day", "more days", "en", ""),
        ("tablet per day", "tablets per day", "en", "about "), ("dollar", "dollars", "", ""),
        ("mg per day", "mg per day", "", ""), ("item", "items", "", ""), ("copy", "copies", "", ""),
    )
}  # fmt: skip


def forms(style: Style, language: str, read: Read = read_number) -> int:
    """How many forms the numbers are read in; what cannot be read counts as one."""
    found = (read(style(value), language) for value in VALUES)
    return len({None if one is None else one.form for one in found})


def test_the_number_does_not_decide_about_the_form() -> None:
    """In each way to write: one form for all, never a mask, and every number is read."""
    told = [label for label, (language, style) in STYLES.items() if forms(style, language) != 1]
    assert told == []
    for language, style in STYLES.values():
        read = [read_number(style(value), language) for value in VALUES]
        assert [one and one.ticks for one in read] == VALUES


def test_units_agree_with_the_number_that_is_written_not_with_the_one_that_was_read() -> None:
    for text in ("1 year old", "3 years old"):
        found = read_number(text)
        assert found is not None
        assert [found.form.spell(n) for n in (1, 2)] == ["1 year old", "2 years old"]
    daily = read_number("1 tablet per day")
    assert daily is not None
    assert daily.form.spell(2) == "2 tablets per day"


def test_the_ending_of_first_is_no_unit() -> None:
    """Read as stones, "1st" and "21st" would come out and "2nd" would not."""
    assert {read_number(text) for text in ("1st", "21st", "2nd", "3rd", "4th")} == {None}


# Sabotaged twins: readers that let the number decide.


def keep_marks(text: str, language: str) -> WrittenNumber | None:
    """Thousands are separated where they were."""
    found = read_number(text, language)
    return found and WrittenNumber(_noted(found, "," in text), found.ticks)


def keep_zeros(text: str, language: str) -> WrittenNumber | None:
    """Zeros in front come out where they stood."""
    found = read_number(text, language)
    return found and WrittenNumber(_noted(found, text.startswith("0")), found.ticks)


def keep_units(text: str, language: str) -> WrittenNumber | None:
    """Units come out as they stood."""
    found = read_number(text, language)
    return found and WrittenNumber(_noted(found, text.endswith("s")), found.ticks)


def _noted(found: WrittenNumber, told: bool) -> NumberForm:
    return replace(found.form, after=f"{found.form.after}{'!' * told}")


@pytest.mark.parametrize(
    ("label", "twin"),
    [(",. 0 1 en", keep_marks), (",. 0 3 en", keep_zeros), ("year years", keep_units)],
)
def test_a_reader_that_lets_the_number_decide_is_seen(label: str, twin: Read) -> None:
    language, style = STYLES[label]
    assert forms(style, language, twin) > 1


# All pairs, through bounds and rounding.


def law(mechanism: Number, ticks: int, decimals: int) -> dict[int, float]:
    """The exact law of what is written, up to tails that are put with the bounds."""
    limits = mechanism._limits(decimals)
    assert limits is not None
    rate, place = float(mechanism.rate(decimals)), mechanism.place(ticks, limits)
    odds = math.exp(-rate)
    found: dict[int, float] = {}
    for away in range(-REACH, REACH + 1):
        # Beyond the reach everything is at a bound: both tails are summed in closed form.
        weight = odds ** abs(away) * ((1 - odds) if abs(away) < REACH else 1) / (1 + odds)
        value = mechanism.value(place + away, limits)
        found[value] = found.get(value, 0.0) + weight
    return found


REACH = 400
NUMBERS = {
    "absolute": (Number(epsilon=0.2, low=3, high=30), 0),
    "decimals": (Number(epsilon=0.7, step=0.5, low=-1, high=1.5), 1),
    "relative": (Number(epsilon=0.1, scale="relative", step=0.05, low=2, high=90, digits=1), 0),
    "narrow": (Number(epsilon=3.0, scale="relative", step=0.5, low=0, high=7), 0),
}


def worst(mechanism: Number, decimals: int, distance: Callable[[int, int], float]) -> float:
    """How far the loss of any pair lies above what is claimed; nothing is above if not positive."""
    inputs = range(-20, 45)
    laws = {one: law(mechanism, one, decimals) for one in inputs}
    return max(
        max(math.log(chance / laws[second][value]) for value, chance in laws[first].items())
        - mechanism.epsilon * distance(first, second)
        for first, second in itertools.product(inputs, inputs)
    )


def claimed(mechanism: Number, decimals: int) -> Callable[[int, int], float]:
    """The distance as it is stated, from exact arithmetic."""
    step = Fraction(repr(float(mechanism._step)))
    if mechanism.scale == "absolute":
        return lambda first, second: float(abs(first - second) / (step * 10**decimals))
    ratio = 1 + step

    def nearest(ticks: int) -> int:
        place = 0
        # The border between two places, seen on a scale of ratios, is their geometric mean.
        while ratio ** (2 * place + 1) <= max(ticks, 1) ** 2:
            place += 1
        return place

    places = {ticks: nearest(ticks) for ticks in range(-20, 45)}
    return lambda first, second: abs(places[first] - places[second])


@pytest.mark.parametrize("case", NUMBERS)
def test_no_pair_of_numbers_is_told_apart_better_than_claimed(case: str) -> None:
    mechanism, decimals = NUMBERS[case]
    assert worst(mechanism, decimals, claimed(mechanism, decimals)) < 1e-9


def test_the_twin_with_a_longer_step_is_seen() -> None:
    mechanism, decimals = NUMBERS["absolute"]
    longer = claimed(replace(mechanism, step=1.1), decimals)
    assert worst(mechanism, decimals, longer) > 0.01
