"""A form is a way to write: whichever day is written in it, the form that is read is the same."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest

from sfumato.mechanisms import date_names as names
from sfumato.mechanisms.written_dates import WrittenDate, read_date

Style = Callable[[datetime.date], str]
Read = Callable[[str, str], WrittenDate | None]
# Every month and weekday, and days of all widths and endings.
DAYS = [
    datetime.date(2020, month, day)
    for month in range(1, 13)
    for day in (1, 2, 3, 9, 10, 11, 12, 22)
]
TWO_YEARS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=n) for n in range(731)]
LENGTHS = (names.LONG, names.SHORT)


def figures(order: str, mark: str, padded: bool, year: int, date: datetime.date) -> str:
    width = "02" if padded else ""
    parts = {"d": f"{date.day:{width}}", "m": f"{date.month:{width}}", "y": f"{date.year}"[-year:]}
    return mark.join(parts[one] for one in order)


def name(kind: str, language: str, length: str, date: datetime.date) -> str:
    style = names.NameStyle(language, length, "title" if language in ("en", "de") else "lower")
    return style.month(date.month - 1) if kind == "month" else style.weekday(date.weekday())


def ordinal(day: int) -> str:
    if 11 <= day <= 13:
        return f"{day}th"
    return f"{day}" + {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def apart(pattern: str, style: Style, date: datetime.date) -> str:
    """A pattern with the day, the month (as ``style`` names it) and the year put in."""
    day = str(date.day)
    values = {
        "Dth": ordinal(date.day),
        "D1er": "1er" if date.day == 1 else day,
        "D1º": "1º" if date.day == 1 else day,
        "D0": f"{date.day:02}",
        "D": day,
        "M": style(date),
        "Y2": f"{date.year % 100:02}",
        "Y": str(date.year),
    }
    return re.sub("|".join(values), lambda found: values[found[0]], pattern)


def with_weekday(language: str, length: str, style: Style, date: datetime.date) -> str:
    return f"{name('weekday', language, length, date)}, {style(date)}"


def spell_as_ap(between: str, date: datetime.date) -> str:
    """As newspapers do: long months are cut, short ones are not."""
    cut = [
        "Jan.",
        "Feb.",
        "March",
        "April",
        "May",
        "June",
        "July",
        "Aug.",
        "Sept.",
        "Oct.",
        "Nov.",
        "Dec.",
    ]
    return apart(between, lambda one: cut[one.month - 1], date)


NAMED = {
    "en": ("D M Y", "D0 M Y", "M D, Y", "M D0, Y", "Dth of M Y", "M Dth", "D M", "D-M-Y2", "M Y",
           "M D, Y at 10:15 am", "D0/M/Y", "M", "the D M Y", "M 'Y2"),
    "de": ("D. M Y", "D M Y", "D0. M Y", "D. M", "M Y", "D. M Y, 9:05 Uhr", "den D. M Y"),
    "es": ("D de M de Y", "D1º de M de Y", "D M Y", "M de Y", "D de M", "el D de M de Y"),
    "fr": ("D1er M Y", "D M Y", "D1er M", "le D1er M Y", "M Y"),
}  # fmt: skip


def styles() -> Iterator[tuple[str, str, Style]]:
    """A name, the language of the document, and a way to write any day."""
    for mark, padded, year in itertools.product("-/. ", (True, False), (4, 2)):
        for order, language in (("dmy", "de"), ("dmy", "fr"), ("mdy", "en"), ("mdy", "")):
            if mark != "." or order == "dmy":
                style = partial(figures, order, mark, padded, year)
                yield f"{order} {mark!r} {padded} {year} {language}", language, style
        if mark != " " and year == 4:
            yield f"ymd {mark} {padded}", "", partial(figures, "ymd", mark, padded, year)
    for language, wanted in NAMED.items():
        for between, length, known in itertools.product(wanted, LENGTHS, (language, "", "it")):
            style = partial(apart, between, partial(name, "month", language, length))
            yield f"{between} {language} {length} in {known!r}", known, style
    for language, length, other in itertools.product(names.LANGUAGES, LENGTHS, LENGTHS):
        inner = partial(apart, NAMED[language][0], partial(name, "month", language, other))
        style = partial(with_weekday, language, length, inner)
        yield f"weekday {language} {length}, {other}", language, style
    for between in ("M D, Y", "M D", "D M Y"):
        yield f"newspaper {between}", "en", partial(spell_as_ap, between)
    for language, other in itertools.permutations(names.LANGUAGES, 2):
        style = partial(apart, "D M Y", partial(name, "month", language, names.LONG))
        yield f"{language} in {other}", other, style


STYLES = {label: (language, style) for label, language, style in styles()}


WIDELY_USED = (
    "dmy '/' False 4 de", "mdy '/' True 2 en", "ymd - False", "D M Y en short in ''",
    "M D, Y en long in 'en'", "D. M Y de long in ''", "D1er M Y fr long in 'fr'",
)  # fmt: skip


def count_forms(
    style: Style, language: str, days: Sequence[datetime.date] = DAYS, read: Read = read_date
) -> int:
    """How many forms the days are read in; what cannot be read counts as one."""
    found = (read(text, language) for text in {style(date) for date in days})
    return len({None if one is None else one.form for one in found})


def test_the_day_does_not_decide_about_the_form() -> None:
    """For all days in a row, in each way to write: one form, and never a mask for some of them."""
    told = {
        label: count
        for label, (language, style) in STYLES.items()
        if (count := count_forms(style, language)) != 1
    }
    assert told == {}


@pytest.mark.parametrize("label", WIDELY_USED)
def test_no_day_of_two_years_decides_about_the_form(label: str) -> None:
    language, style = STYLES[label]
    assert count_forms(style, language, TWO_YEARS) == 1


# Sabotaged twins: readers that let the day decide, each in a way that people read dates.


def by_width(text: str, language: str) -> WrittenDate | None:
    """Two digits come out only where two stand."""
    found = read_date(text, language)
    narrow = re.search(r"(?<!\d)\d(?!\d)", text) is not None
    return found.before(" ") if found and narrow else found


def by_what_fits(text: str, language: str) -> WrittenDate | None:
    """The other order is taken where there is no such day."""
    return read_date(text, language) or read_date(text, language, day_first=True)


def by_name(text: str, language: str) -> WrittenDate | None:
    """The language of a name is the first that has it."""
    found = read_date(text, language)
    return found.before(" ") if found and re.search(r"(?i)april|august|ember|may", text) else found


def by_length(text: str, language: str) -> WrittenDate | None:
    """A name is short if it has three letters."""
    found = read_date(text, language)
    return found.before(" ") if found and re.search(r"\b[A-Z][a-z]{2}\b", text) else found


@pytest.mark.parametrize(
    ("label", "twin"),
    [
        ("dmy '/' False 4 de", by_width),
        ("dmy '/' True 4 as mdy", by_what_fits),
        ("D. M Y de long in ''", by_name),
        ("D M Y en long in 'en'", by_length),
    ],
)
def test_a_reader_that_lets_the_day_decide_is_seen(label: str, twin: Read) -> None:
    misfit = partial(figures, "dmy", "/", True, 4)
    language, style = STYLES.get(label, ("en", misfit))
    assert count_forms(style, language, read=twin) > 1


def test_what_does_not_fit_the_order_is_masked_and_never_read_in_the_other() -> None:
    """The one thing that still depends on the day is listed: that a text cannot be read."""
    style = partial(figures, "dmy", "/", True, 4)
    read = {date: read_date(style(date), "en") for date in TWO_YEARS}
    assert all((one is None) == (date.day > 12) for date, one in read.items())
    assert len({one.form for one in read.values() if one is not None}) == 1


def test_a_name_is_a_sign_of_a_language_only_if_all_that_belong_with_it_are() -> None:
    long, short = ["monday", "montag", "lunes", "lundi"], ["mon", "mo"]
    assert [names.language_of(name) for name in long] == ["en", "de", "es", "fr"]
    assert [names.language_of(name) for name in short] == ["en", "de"]
    for name in ("lun", "mié", "ven", "april", "january", "mai", "juin", "may", "sept", "ene"):
        assert names.language_of(name) == ""
    assert {names.language_of(name) for name in ("enero", "mayo", "setiembre")} == {"es"}


def test_the_styles_are_read_at_all() -> None:
    """A reader that reads nothing would have one form, too."""
    date = datetime.date(2020, 5, 12)
    unread = [
        label for label, (known, style) in STYLES.items() if not read_date(style(date), known)
    ]
    # Short Spanish months that stand first are not told from weekdays ("mar").
    assert unread == ["M de Y es short in 'es'"]


TIMES = ("{h}:{m:02}", "{h:02}:{m:02}", "{h:02}:{m:02}:59", "{h}.{m:02} Uhr", "{h}h{m:02}",
         "{h} Uhr", "2021-05-12 {h}:{m:02}", "12 May 2021, {h}:{m:02} UTC")  # fmt: skip


@pytest.mark.parametrize("written", TIMES)
def test_the_time_does_not_decide_about_the_form(written: str) -> None:
    texts = [written.format(h=hour, m=minute) for hour in range(25) for minute in (0, 9, 12, 59)]
    assert len({read_date(text) for text in texts}) == 1
    assert read_date(texts[0]) is not None


@pytest.mark.parametrize("written", ["{h}:{m:02} {half}", "{h:02}:{m:02} {half}", "{h}{half}"])
def test_half_a_day_does_not_decide_about_the_form(written: str) -> None:
    texts = [
        written.format(h=hour, m=minute, half=half)
        for hour, minute, half in itertools.product(range(1, 13), (0, 30), ("am", "pm"))
    ]
    assert len({read_date(text) for text in texts}) == 1
    assert read_date(texts[0]) is not None
