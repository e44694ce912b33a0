"""Names of months and weekdays in four languages, long and short.

A name is not proof of a language: April is English and German, Mai German and French. Were its
language read off a name, then "April" would become an English name and "Mai" a German one, and the
output would show which of the two it was. The same goes for the length: "May" is long and short.
``language_of`` answers only where every name that belongs with this one has the same answer, which
is so for weekdays (the short ones of Spanish and French aside) and for the long Spanish months.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

LANGUAGES = ("en", "de", "es", "fr")
LONG, SHORT = "long", "short"
_ALSO_SHORT = 5  # other spellings of no more letters than this count as short

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    ),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
_SHORT_MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc",
}
_WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
}
_SHORT_WEEKDAYS = {
    "en": "Mon Tue Wed Thu Fri Sat Sun",
    "de": "Mo Di Mi Do Fr Sa So",
    "es": "lun mar mié jue vie sáb dom",
    "fr": "lun mar mer jeu ven sam dim",
}
# Other spellings that are read and never written.
_ALSO_MONTHS = {
    "en": {"sept": 8},
    "de": {"jänner": 0, "maerz": 2, "mrz": 2, "sept": 8},
    "es": {"setiembre": 8, "sept": 8, "set": 8},
    "fr": {"fevrier": 1, "fev": 1, "fév": 1, "aout": 7, "decembre": 11, "dec": 11, "jan": 0},
}
_ALSO_WEEKDAYS = {
    "en": {"tues": 1, "weds": 2, "thur": 3, "thurs": 3},
    "de": {"sonnabend": 5},
    "es": {"miercoles": 2, "sabado": 5},
    "fr": dict[str, int](),
}


@dataclass(frozen=True, slots=True)
class NameStyle:
    """How a name is written: in which language, long or short, and in which letters."""

    language: str
    length: str
    case: str

    def month(self, number: int) -> str:
        """The name of a month (0 is January)."""
        table = _MONTHS if self.length == LONG else _SHORT_MONTHS
        return self._in_case(table[self.language].split()[number])

    def weekday(self, number: int) -> str:
        """The name of a day of the week (0 is Monday)."""
        table = _WEEKDAYS if self.length == LONG else _SHORT_WEEKDAYS
        return self._in_case(table[self.language].split()[number])

    def _in_case(self, name: str) -> str:
        if self.case == "upper":
            return name.upper()
        return name.lower() if self.case == "lower" else name[0].upper() + name[1:]


def case_of(name: str) -> str:
    """Whether a name is in capitals, in small letters, or begins with a capital.

    >>> case_of("MAY"), case_of("mai"), case_of("Mayo")
    ('upper', 'lower', 'title')
    """
    if name.isupper():
        return "upper"
    return "lower" if name[:1].islower() else "title"


@cache
def month_names() -> dict[str, int]:
    """By spelling in small letters: which month it names (0 is January), whatever the language."""
    return _gather(_MONTHS, _SHORT_MONTHS, _ALSO_MONTHS)


@cache
def weekday_names() -> dict[str, int]:
    """By spelling in small letters: which weekday it names (0 is Monday)."""
    return _gather(_WEEKDAYS, _SHORT_WEEKDAYS, _ALSO_WEEKDAYS)


@cache
def weekday_length(name: str) -> str:
    """Whether a weekday's name, in small letters, is long or short; none is both."""
    long = any(name in names for (_, length), names in _weekdays().items() if length == LONG)
    return LONG if long else SHORT


@cache
def language_of(name: str) -> str:
    """The language that a name, in small letters, is a sign of; "" if it is none.

    >>> language_of("montag"), language_of("septiembre"), language_of("april"), language_of("mar")
    ('de', 'es', '', '')
    """
    for lists in (_weekdays(), _months()):
        for (language, length), names in lists.items():
            others = (other for (one, _), other in lists.items() if one != language)
            mixed = lists is _months() and names & lists[language, _other(length)]
            if name in names and not mixed and not any(names & other for other in others):
                return language
    return ""


@cache
def may_be_weekday(month: str, language: str) -> bool:
    """Whether a month's name (small letters) that stands first could be a weekday in a language.

    If one of its short months could, all of them count so, lest one be known by the answer.
    """
    if language not in LANGUAGES:
        return False
    weekdays = _weekdays()[language, SHORT]
    months = _months()[language, SHORT]
    return month in weekdays or (month in months and bool(months & weekdays))


def _other(length: str) -> str:
    return SHORT if length == LONG else LONG


@cache
def _months() -> dict[tuple[str, str], frozenset[str]]:
    return _lists({LONG: _MONTHS, SHORT: _SHORT_MONTHS}, _ALSO_MONTHS)


@cache
def _weekdays() -> dict[tuple[str, str], frozenset[str]]:
    return _lists({LONG: _WEEKDAYS, SHORT: _SHORT_WEEKDAYS}, _ALSO_WEEKDAYS)


def _lists(
    tables: dict[str, dict[str, str]], also: dict[str, dict[str, int]]
) -> dict[tuple[str, str], frozenset[str]]:
    """All names in small letters, by language and length."""
    found = {}
    for length, table in tables.items():
        for language in LANGUAGES:
            names = table[language].lower().split()
            names += [
                name for name in also[language] if (len(name) <= _ALSO_SHORT) == (length == SHORT)
            ]
            found[language, length] = frozenset(names)
    return found


def _gather(
    long: dict[str, str], short: dict[str, str], also: dict[str, dict[str, int]]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for language in LANGUAGES:
        for table in (long, short):
            found |= {name: n for n, name in enumerate(table[language].lower().split())}
        found |= also[language]
    return found
