"""Dates as they are written: read, and written again in the same form."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.texts import texts
from sfumato.mechanisms.date_forms import Clock, Day
from sfumato.mechanisms.written_dates import read_date

NOON = Clock(52_200)  # 14:30:00
EVER = (1, datetime.date.max.toordinal())

# Written, written again, and what stands there 20 days later.
MOVED = {
    "2021-05-12": ("2021-05-12", "2021-06-01"),
    "2021-5-2": ("2021-05-02", "2021-05-22"),
    "2021/05/12": ("2021/05/12", "2021/06/01"),
    "2021-05": ("2021-05", "2021-06"),
    "2021": ("2021", "2021"),
    "12/05/2021": ("12/05/2021", "12/25/2021"),
    "5/12/21": ("05/12/21", "06/01/21"),
    "12.5.2021": ("12.05.2021", "01.06.2021"),
    "12.05.": ("12.05.", "01.06."),
    "3/4": ("03/04", "03/24"),
    "12. Mai 2021": ("12. Mai 2021", "1. Juni 2021"),
    "12. MAI 2021": ("12. MAI 2021", "1. JUNI 2021"),
    "12 May 2021": ("12 May 2021", "1 June 2021"),
    "12-May-2021": ("12-May-2021", "1-Jun-2021"),
    "12/May/2021": ("12/May/2021", "1/Jun/2021"),
    "12May2021": ("12May2021", "1Jun2021"),
    "05 Sep 2021": ("5 September 2021", "25 September 2021"),
    "Sept. 12, 2021": ("September 12, 2021", "October 2, 2021"),
    "May 12, 2021": ("May 12, 2021", "June 1, 2021"),
    "May 12th, 2021": ("May 12th, 2021", "June 1st, 2021"),
    "May  2 10:15:01": ("May 2 14:30:00", "May 22 14:30:00"),
    "the 12th of May 2021": ("the 12th of May 2021", "the 1st of June 2021"),
    "12 de mayo de 2021": ("12 de mayo de 2021", "1 de junio de 2021"),
    "1º de mayo de 2021": ("1 de mayo de 2021", "21 de mayo de 2021"),
    "le 12 mai 2021": ("le 12 mai 2021", "le 1er juin 2021"),
    "le 1er mai 2021": ("le 1er mai 2021", "le 21 mai 2021"),
    "mayo de 2021": ("mayo de 2021", "junio de 2021"),
    "MARCH 2021": ("MARCH 2021", "APRIL 2021"),
    "May '21": ("May '21", "June '21"),
    "12 May": ("12 May", "1 June"),
    "12 May.": ("12 May.", "1 June."),
    "May": ("May", "June"),
    "20 December": ("20 December", "9 January"),
    "29 Feb": ("29 February", "20 March"),
    "2020-02-29": ("2020-02-29", "2020-03-20"),
    "Wednesday, 12 May 2021": ("Wednesday, 12 May 2021", "Tuesday, 1 June 2021"),
    "12 May 2021 (Wednesday)": ("12 May 2021 (Wednesday)", "1 June 2021 (Tuesday)"),
    "2021-05-12, Wed": ("2021-05-12, Wed", "2021-06-01, Tue"),
    "Wed 12 May": ("Wed 12 May", "Tue 1 Jun"),
    "mercredi 12 mai 2021": ("mercredi 12 mai 2021", "mardi 1er juin 2021"),
    "Mittwoch, den 12. Mai 2021": ("Mittwoch, den 12. Mai 2021", "Dienstag, den 1. Juni 2021"),
    "Monday": ("Monday", "Sunday"),
    "20210512": ("20210512", "20210601"),
    "20210512T143000Z": ("20210512T143000Z", "20210601T143000Z"),
    "2021-05-12T14:30:00Z": ("2021-05-12T14:30:00Z", "2021-06-01T14:30:00Z"),
    "12 May 2021 at 2:30 pm": ("12 May 2021 at 2:30 pm", "1 June 2021 at 2:30 pm"),
    "12 de mayo a la 1:30": ("12 de mayo a las 14:30", "1 de junio a las 14:30"),
    "2021年05月12日": ("2021年5月12日", "2021年6月1日"),
    "9:05": ("14:30", "14:30"),
    "2:30 p.m.": ("2:30 p.m.", "2:30 p.m."),
    "14h30": ("14h30", "14h30"),
    "14 Uhr.": ("14 Uhr.", "14 Uhr."),
    "0001-01-01": ("0001-01-01", "0001-01-21"),
    "9999-12-31": ("9999-12-31", "9999-12-31"),
}


@pytest.mark.parametrize("text", MOVED)
def test_a_date_is_written_again_in_its_form(text: str) -> None:
    found = read_date(text)
    assert found is not None
    moved = found.form.move(found.day, 20, EVER)
    assert (found.form.spell(found.day, NOON), found.form.spell(moved, NOON)) == MOVED[text]


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "1990s", "31/02/2021", "2021-02-29", "30 Feb", "00/00/2021", "2021-13-01",
     "0000-01-01", "25:00", "13:30 pm", "12 Maybe 2021", "١٢/٠٥/٢٠٢١", "２０２１", "12/05/202",
     "12 May 2021 to 14 May 2021", "ſept 2021", "5" * 400, "born 12 May 2021", "12.30.99.1",
     "2021..", ".", "10.15", "13/05/2021", "lun", "12-14 May 2021"],
)  # fmt: skip
def test_what_is_no_date_is_not_read(text: str) -> None:
    assert read_date(text) is None


def test_figures_are_read_by_the_language_or_as_it_is_set() -> None:
    def month(text: str, language: str = "", day_first: bool | None = None) -> int:
        found = read_date(text, language, day_first)
        assert found is not None
        return datetime.date.fromordinal(found.day.number).month

    assert month("3/4/2021") == month("3/4/2021", "en") == month("3/4/2021", "de", False) == 3
    assert month("3/4/2021", "de") == month("3/4/2021", "en", True) == month("3.4.2021") == 4
    # Where it can be read one way only it still is not read that way: the day must not decide.
    for misfit in (read_date("13/4/2021"), read_date("4/13/2021", "fr"), read_date("4.13.2021")):
        assert misfit is None


def test_names_are_written_in_the_language_of_the_document() -> None:
    def later(text: str, language: str) -> str:
        found = read_date(text, language)
        assert found is not None
        return found.form.spell(found.form.move(found.day, 40, EVER), NOON)

    assert later("12 April 2021", "en") == "22 May 2021"
    assert later("12 April 2021", "de") == "22 Mai 2021"
    # Whichever name it was: "April" alone cannot tell German from English.
    assert later("12 Mai 2021", "") == "21 June 2021"
    assert later("12 avril 2021", "en") == "22 may 2021"
    # What stands beside a name can.
    assert later("le 12 avril 2021", "en") == "le 22 mai 2021"
    assert later("12 de abril de 2021", "en") == "22 de mayo de 2021"


def test_years_of_two_digits_are_of_1950_to_2049() -> None:
    years = []
    for text in ("1.1.50", "1.1.99", "1.1.00", "1.1.49"):
        found = read_date(text)
        assert found is not None
        years.append(datetime.date.fromordinal(found.day.number).year)
    assert years == [1950, 1999, 2000, 2049]


def test_the_time_of_day_is_not_even_kept() -> None:
    assert read_date("2021-05-12T14:30:00.25+02:00") == read_date("2021-05-12T03:59:59.99-07:00")
    assert read_date("2 pm") == read_date("4 am")


def test_a_form_holds_nothing_of_the_day() -> None:
    forms = {
        found.form
        for day in range(10, 29)
        for month in range(10, 13)
        for year in (1904, 2021)
        if (found := read_date(f"{year}-{month}-{day}")) is not None
    }
    assert len(forms) == 1


WRITTEN = ("{:%Y-%m-%d}", "{:%d.%m.%Y}", "{:%A, %B %d, %Y}", "{:%d-%b-%Y}", "{:%B %Y}", "{:%Y%m%d}")


@given(st.dates(datetime.date(1000, 1, 1)), st.sampled_from(WRITTEN))
def test_every_day_there_is_comes_back(date: datetime.date, form: str) -> None:
    text = form.format(date)
    found = read_date(text)
    assert found is not None
    # Beside a name no zero stands before a day.
    again = (
        text if text[0].isdecimal() and "-" not in text[2:3] else re.sub(r"\b0(?=\d\b)", "", text)
    )
    assert found.form.spell(found.day, NOON) == again


@given(texts, st.sampled_from(["", "en", "de", "xx"]))
def test_every_text_is_read_or_not(text: str, language: str) -> None:
    found = read_date(text, language)
    if found is not None:
        found.form.spell(Day(1), NOON)
