"""Dates, times and years."""

from __future__ import annotations

import datetime

import pytest

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.date import Date
from sfumato.mechanisms.date_names import weekday_names
from sfumato.mechanisms.written_dates import read_date
from sfumato.policies.pii.dates import Dates
from sfumato.policies.pii.reading import Reading
from sfumato.text.span import Span, Stretch

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Dates().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("on 2020-02-29 18:19:22", "2020-02-29 18:19:22", "date"),
        ("24.12.2022", "24.12.2022", "date"),
        ("5/6/99", "5/6/99", "date"),
        ("3 août 2021", "3 août 2021", "date"),
        ("May 7th, 2019", "May 7th, 2019", "date"),
        ("12. Oktober", "12. Oktober", "date"),
        ("2 de enero de 2020", "2 de enero de 2020", "date"),
        ("2020年5月3日", "2020年5月3日", "date"),
        ("at 5pm", "5pm", "time"),
        ("07:45", "07:45", "time"),
        ("14h30", "14h30", "time"),
        ("in 1984", "1984", "year"),
        ("the 1990s", "1990s", "year"),
        ("20240506T070809Z", "20240506T070809Z", "date"),
    ],
)
def test_dates_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "$1999",
        "12345",
        "3.1990",
        "33/44/5555",
        "1,990 people",
        "room 12",
        "8 apples",
        "maybe 5",
    ],
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met on Friday, 14 May at noon", "Friday, 14 May"),
        ("FRI 14 MAY 2021", "FRI 14 MAY 2021"),
        ("Wednesday the 12th of May", "Wednesday the 12th of May"),
        ("Sun 2021-05-16", "Sun 2021-05-16"),
        ("Mo. 12.05.2021", "Mo. 12.05.2021"),
        ("Freitag, den 14. Mai", "Freitag, den 14. Mai"),
        ("le vendredi 14 mai 2021", "vendredi 14 mai 2021"),
        ("mar. 12 mai", "mar. 12 mai"),
        ("piątek, 14 maja 2021", "piątek, 14 maja 2021"),
        ("on 14 May (Friday) we", "14 May (Friday)"),
        ("on 14/05/2021, Friday", "14/05/2021, Friday"),
        ("from 12–14 May 2021", "12–14 May 2021"),
        ("between 3 and 5 May", "3 and 5 May"),
        ("12.-14.05.2021", "12.-14.05.2021"),
        ("May 12–14, 2021", "May 12–14, 2021"),
        ("on 12, 13 and 14 May 2021", "12, 13 and 14 May 2021"),
        ("May 12, 13 and 14", "May 12, 13 and 14"),
        ("12.05.-14.05.2021", "12.05.-14.05.2021"),
        ("12.5. bis 14.5.2021", "12.5. bis 14.5.2021"),
        ("Fri-Sun 14-16 May", "Fri-Sun 14-16 May"),
        ("Friday and Saturday, 14 and 15 May", "Friday and Saturday, 14 and 15 May"),
        ("Friday: 14 May", "Friday: 14 May"),
        ("Friday,14 May", "Friday,14 May"),
        ("Fri.14.05.2021", "Fri.14.05.2021"),
        ("Friday\n14 May", "Friday\n14 May"),
        ("el 1.º de mayo de 2020", "1.º de mayo de 2020"),
        ("May  2 10:15:01 host", "May  2 10:15:01"),
    ],
)
def test_what_belongs_to_a_date_is_found_with_it(text: str, expected: str) -> None:
    """A weekday that stays where a date is moved tells the shift up to whole weeks."""
    assert found(text) == [(expected, "date")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("14 May, Monday 17 May", ["14 May", "Monday 17 May"]),
        ("12 May and 14 May", ["12 May", "14 May"]),
        ("So 12 May is fine", ["12 May"]),
        ("room 3, 14 May", ["14 May"]),
        ("Friday at 10:30", ["10:30"]),
    ],
)
def test_what_belongs_to_no_date_or_to_the_next_is_left(text: str, expected: list[str]) -> None:
    assert [one for one, _ in found(text)] == expected


@pytest.mark.parametrize("name", [*weekday_names()])
def test_every_weekday_that_can_be_read_is_found_beside_a_date(name: str) -> None:
    text = f"{name.title()}, 12. Mai 2021"
    assert found(text) == [(text, "date")]
    assert read_date(text) is not None


def test_the_twin_without_weekdays_shows_the_shift_up_to_whole_weeks() -> None:
    """With a weekday in the clear all shifts that remain are a week apart."""

    def shifts(text: str, start: int) -> set[int]:
        stretch = Stretch(start, len(text), text[start:], Span(start, len(text), "DATE_TIME"))
        drawn = set()
        for seed in range(60):
            out = Date(epsilon=0.05).replace([stretch], Randomness.reproducible(seed))[0]
            weekday, _, rest = (text[:start] + out).partition(", ")
            date = datetime.datetime.strptime(rest, "%d %B %Y").replace(tzinfo=datetime.UTC)
            drawn.add((date.weekday() - WEEKDAYS.index(weekday)) % 7)
        return drawn

    text = "Friday, 14 May 2021"
    ((start, _),) = [(one.start, one.end) for one in Dates().find(Reading.of(text))]
    assert shifts(text, start) == {0}
    assert len(shifts(text, len("Friday, "))) > 4
