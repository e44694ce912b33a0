"""Dates and times of day, in figures or with a month's name; a year alone counts too.

A weekday beside a date belongs to it, and so does the first day of "12–14 May": left standing, they
would contradict a date that is moved, and tell by how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.automaton import automaton, backward
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import BEYOND, LETTERS, Flags, among, surely

# Month names of several languages, cut where the endings begin to differ.
_MONTHS = (
    r"jan(?:uary|uar|uari|vier|uar[iy]|eiro)?|j[äa]nner|enero|gennaio|styczni\p{L}{1,6}|ledn\p{L}{1,6}",
    r"feb(?:ruary|ruar|ruari|braio|rero)?|f[ée]v(?:rier|ereiro)?|lut\p{L}{1,6}|únor\p{L}{0,6}",
    r"mar(?:ch|s|zo|ço|ca)?|m[äa]rz|maart|mrt|březn\p{L}{1,6}",
    r"apr(?:il|ile)?|avril|avr|abril|abr|kwie\p{L}{1,6}|dubn\p{L}{1,6}",
    r"may|mai|mei|maj\p{L}{0,6}|mayo|mag(?:gio)?|maio|květn\p{L}{1,6}",
    r"june?|juni|juin|junio|giugno|junho|czerw\p{L}{1,6}|červn\p{L}{1,6}",
    r"july?|juli|juillet|julio|luglio|julho|lip\p{L}{1,6}|července",
    r"aug(?:ust|usti|ustus)?|ao[ûu]t|agosto|ago|sierpni\p{L}{1,6}|srpn\p{L}{1,6}",
    r"sept?(?:ember|embre|tember|iembre|tiembre)?|set(?:embro|tembre)?|wrze\p{L}{1,6}|září",
    r"o[ck]t(?:ober|obre|tobre|ubre|ubro)?|outubro|ottobre|październik\p{L}{0,6}|říjn\p{L}{1,6}",
    r"nov(?:ember|embre|iembre|embro)?|listopad\p{L}{0,6}",
    r"de[cz](?:ember|embre|iembre|embro)?|d[ée]c(?:embre)?|dici?(?:embre)?|grud\p{L}{1,6}|prosin\p{L}{1,6}",
)


@dataclass(frozen=True)
class Dates:
    """When something happened."""

    label: ClassVar[str] = "DATE_TIME"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_may_be_date)

    def find(self, reading: Reading) -> Iterator[Found]:
        """At every run of digits, the longest reading of it as a date, a time or a year."""
        reached = 0
        for run in reading.chosen(_may_be_date):
            start, end = reading.starts[run], reading.ends[run]
            if start < reached:
                continue
            span = self._at(reading, start, end)
            if span and span.rule == "date":
                span = _widen(reading.text, span, reached)
            if span:
                reached = span.end
                yield span

    def _at(self, reading: Reading, start: int, end: int) -> Found | None:
        # Each slow look at the text comes after a quick one at what it would need.
        text, length = reading.text, end - start
        match = _figures().match(text, start) if may_be_date(text, start, end) else None
        if not match and length <= 2 and _may_precede_month(text, end):
            match = _worded().match(text, start)
        if match:
            return Found(start, match.end(), self.label, "date", "written like a date")
        if length <= 4 and _may_follow_month(text, start):
            month = _month_before().search(text, max(0, start - 24), start)
            if month and (match := _after_month().match(text, start)):
                return Found(month.start(), match.end(), self.label, "date", "a month and a number")
        match = _clock().match(text, start) if length <= 2 else None
        if match:
            return Found(start, match.end(), self.label, "time", "written like a time of day")
        match = _year().match(text, start) if length == 4 else None
        if match:
            return Found(start, match.end(), self.label, "year", "a number that can be a year")
        return None


def _widen(text: str, span: Found, reached: int) -> Found:
    """A date with what belongs to it: the first day of several, and a weekday on either side."""
    start, end = span.start, span.end
    before = text[max(reached, start - _NEAR) : start]
    if before[-1:] in _LINKS and (found := _first_of_several().search(before)):
        start -= len(before) - found.start()
        before = before[: found.start()]
    found = _weekday_before().search(before)
    if found and (len(found["name"]) > 2 or _dotted_day().match(text, start)):
        start -= len(before) - found.start()
    after = text[end : end + _NEAR]
    if after[:1] in (" ", ",") and (found := _weekday_after().match(after)):
        end += found.end()
    return span._replace(start=start, end=end)


def may_be_date(text: str, start: int, end: int) -> bool:
    """Whether a run of digits can begin a date in figures, by its length and what follows."""
    return end - start == 8 or (end - start <= 4 and text[end : end + 1] in _AFTER_FIGURES)


def _may_follow_month(text: str, start: int) -> bool:
    """Whether the word before a number begins like a month, as far as is easily seen."""
    before = text[max(0, start - 24) : start].rstrip(" .,-/'")
    if not before[-1:].isalpha():
        return False
    word = before[before.rfind(" ") + 1 :].lower()
    return word[:3] in _beginnings() or not word.isalpha() or word == "the"


def _may_precede_month(text: str, end: int) -> bool:
    """The same for the word after a number."""
    after = text[end : end + 4].lower()
    if after[:1] == " ":
        return after[1:] in _beginnings() or after[1:3] in ("of", "de", "di") or after == " day"
    return after[:1] in _JOINTS or after[:2] in _ORDINALS or after[:3] in _beginnings()


def _may_be_date(page: Page) -> Flags:
    """The numbers that some reading as a date, a time or a year is possible of."""
    runs = page.runs
    one, two, length = runs.after(1), runs.after(2), runs.lengths
    short = length <= 2
    parted = (runs.gaps <= 3) & (among(one, "-/.") | ((one == _BLANK) & among(two, "-/.")))
    east = (one >= BEYOND) | ((one == _BLANK) & (two >= BEYOND))
    figures = (length == 8) | ((length <= 4) & (parted | east))
    joined = among(one, _NEXT_LETTERS + ".-/")
    worded = short & (joined | ((one == _BLANK) & among(two, _NEXT_LETTERS)))
    month = (length <= 4) & page.told_before(_months(), 5)
    clock = short & (among(one, ":.") & (runs.gaps == 1))
    first, second = runs.codes[runs.starts], runs.codes[runs.starts + 1]
    century = ((first == _ONE) & (second >= _FIVE)) | ((first == _TWO) & (second == _ZERO))
    year = (length == 4) & century & ~surely(runs.before(1), LETTERS + "_#$")
    written = automaton(_figures(), _worded(), _clock(), _year())
    held = page.where_can(written, figures | worded | clock | year)
    return held | page.where_can(backward(_month_before()), month)


@cache
def _months() -> frozenset[str]:
    """The words before a number with which a date can begin."""
    return frozenset((*(f"{beginning}*" for beginning in _beginnings()), "the"))


@cache
def _beginnings() -> frozenset[str]:
    return frozenset(_BEGINNINGS.split())


def date_end(text: str, start: int) -> int:
    """Where a date in figures that starts here ends; ``start`` itself when there is none."""
    match = _figures().match(text, start)
    return match.end() if match else start


_BLANK, _ZERO, _ONE, _TWO, _FIVE = map(ord, " 0125")
# What words after a number begin with that make it a date or a time: months, ordinals, "of", hours.
_NEXT_LETTERS = "jJäÄeEgGsSlLfFúÚmMbBaAkKdDcCčČwWzZoOpPřŘnNrRtTuUhHvV"
_AFTER_FIGURES = frozenset(" -/.年년")
_JOINTS = frozenset(".-/o")  # º is read as o
_LINKS = frozenset(" -/&")
_NEAR = 40  # characters; weekdays with what stands between are no longer
_MORE = r"to|till|until|through|and|or|bis|und|oder|au|et|ou|al|a|y|o|e"
_LINK = rf"(?: ?[\-/&] ?| (?:{_MORE}) )"
_ORDINAL = r"(?:st|nd|rd|th|er|\.)?"
_ORDINALS = ("st", "nd", "rd", "th", "er", "ro")
# The first letters of the months above, in small letters.
_BEGINNINGS = """
jan jän ene gen sty led feb fév fev lut úno mar mär maa mrt bře apr avr abr kwi dub may mai mei
maj mag kvě jun jui giu cze čer jul lug lip aug aoû aou ago sie srp sep set wrz zář oct okt out ott
paź říj nov lis dec dez déc dic gru pro
"""
_TIME = (
    r"(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9}+)?)?"
    r"(?: ?[AaPp]\.?[Mm]\b\.?)?(?: ?(?:Z|UTC|GMT|CES?T|[ECMP][SD]T|[+\-][0-9]{2}:?[0-9]{2})(?!\w))?"
)
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"


# Weekdays of the languages of the months above; German ones of two letters only before "12.".
_WEEKDAYS = (
    r"(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag"
    r"|lunes|martes|mi[ée]rcoles|jueves|viernes|s[áa]bado|domingo|mi[ée]|jue|vie|s[áa]b|dom"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lun|mar|mer|jeu|ven|sam|dim"
    r"|(?:lune|marte|mercole|giove|vener)d[ìi]|sabato|domenica"
    r"|(?:segunda|ter[çc]a|quarta|quinta|sexta)(?:-feira)?"
    r"|(?:maan|dins|woens|donder|vrij|zater|zon)dag"
    r"|poniedziałek|wtorek|środ[aęy]|czwartek|piątek|sobot[aęuy]|niedziel[aęi]"
    r"|pondělí|úterý|střed[au]|čtvrtek|pátek|neděl[ei])|Mo|Di|Mi|Do|Fr|Sa|So"
)


@cache
def _weekday_before() -> Expression:
    return Expression(
        rf"(?<![\p{{L}}\p{{N}}])(?:(?:{_WEEKDAYS})\.?(?:, ?|(?i:{_LINK}))){{0,3}}"
        rf"(?P<name>{_WEEKDAYS})"
        r"\.?[,:]?\s?[\-(]?\s?(?i:(?:the|den|dem|le|el|il|dia) )?\Z"
    )


@cache
def _weekday_after() -> Expression:
    # Before a number or a month it belongs to the date that comes there.
    return Expression(
        rf"(?: ?\((?:{_WEEKDAYS})\.?\)|,? (?:{_WEEKDAYS})(?![\p{{L}}\p{{N}}])"
        rf"(?!\.?,? (?i:(?:the|den|dem|le|el|il|dia) )?(?:[0-9]|(?i:{'|'.join(_MONTHS)})\b)))"
    )


@cache
def _dotted_day() -> Expression:
    return Expression(r"[0-9]{1,2}\.")


@cache
def _first_of_several() -> Expression:
    day = rf"(?:{_DAY}\. ?{_MONTH}\.|{_DAY}{_ORDINAL})"
    return Expression(
        rf"(?i)(?<![\p{{L}}\p{{N}}.,:/\-])(?:{_DAY}{_ORDINAL}, ?){{0,5}}{day}{_LINK}(?:the )?\Z"
    )


@cache
def _figures() -> Expression:
    year = r"(?:1[0-9]|2[01])[0-9]{2}"
    short = r"(?:(?:1[0-9]|2[01])?[0-9]{2})"
    year_first = rf"{year}(?P<a> ?[\-/.] ?){_MONTH}(?P=a){_DAY}"
    day_first = rf"{_DAY}(?P<b> ?[\-/.] ?){_MONTH}(?P=b){short}"
    month_first = rf"{_MONTH}(?P<c> ?[\-/.] ?){_DAY}(?P=c){short}"
    east = r"[0-9]{2,4}(?: ?[年년])(?: ?[0-9]{1,2} ?[月월])?(?: ?[0-9]{1,2} ?[日일])?"
    compact = rf"{year}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:T[0-9]{{4,6}}Z?)?"
    then = rf"(?:(?:[ T]|, ?| at ){_TIME})?"
    numeric = rf"(?:{year_first}|{day_first}|{month_first}|{compact})(?![0-9])"
    return Expression(rf"(?<![0-9][.\-/])(?:{numeric}{then}(?![\-/]?[0-9])|{east})")


@cache
def _worded() -> Expression:
    month = "|".join(_MONTHS)
    return Expression(
        rf"(?i){_DAY}(?:st|nd|rd|th|er|ro|\.?o|\.)?(?: (?:of|de|di)| day of)?[ \-./]?"
        rf"(?:{month})\b\.?"
        r"(?:,?(?: (?:de|del|do))?[ \-./]?'?(?:[0-9]{4}|[0-9]{2})(?![0-9]))?"
        rf"(?:(?:,| at|,? um| à)? {_TIME})?"
    )


@cache
def _month_before() -> Expression:
    return Expression(
        rf"(?i)(?<![\p{{L}}])(?:{'|'.join(_MONTHS)})\.?,?(?:  ?|[\-./])?(?:the )?'?\Z"
    )


@cache
def _after_month() -> Expression:
    year = r"'?(?:1[0-9]|2[01])[0-9]{2}"
    day = rf"{_DAY}(?:st|nd|rd|th)?"
    return Expression(
        rf"(?i)(?:{year}|{day}"
        rf"(?:(?:, ?{day}){{0,5}}(?: ?[\-&/] ?|,? (?:to|through|and|or|bis|und) ){day})?"
        rf"(?:,? ?{year})?(?:,?(?: at)? {_TIME})?)(?![0-9])"
    )


@cache
def _clock() -> Expression:
    short = r"(?:0?[0-9]|1[0-9]|2[0-4])(?:[.:][0-5][0-9])? ?(?:[AaPp]\.?[Mm]\b|o'clock|[Uu]hr\b)\.?"
    french = r"(?:[01]?[0-9]|2[0-4]) ?h ?(?:[0-5][0-9])?"
    return Expression(rf"(?<![0-9:.,])(?:{_TIME}|{short}|{french})(?![0-9\p{{L}}:])")


@cache
def _year() -> Expression:
    # Not a price, a decimal, a part of a longer number; but 1990s and 1914-18 are years.
    return Expression(
        r"(?<![0-9][.,])(?<![$€£¥#])(?<![$€£¥] )(?<![\p{L}_])(?:1[5-9][0-9]{2}|20[0-9]{2})"
        r"(?:[-/](?:1[5-9][0-9]{2}|20[0-9]{2}|[0-9]{2})(?![0-9]))?"
        r"(?:'?s\b)?(?![0-9\p{L}%°]|[.,][0-9])"
    )
