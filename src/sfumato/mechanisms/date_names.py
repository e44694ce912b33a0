"""Names of months and weekdays in four languages, long and short."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

LANGUAGES = ("en", "de", "es", "fr")
LONG, SHORT = "long", "short"

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
def month_names() -> dict[str, list[tuple[str, str, int]]]:
    """By spelling in small letters: language, length and number of each month it can name."""
    return _gather((_MONTHS, LONG), (_SHORT_MONTHS, SHORT), _ALSO_MONTHS)


@cache
def weekday_names() -> dict[str, list[tuple[str, str, int]]]:
    """By spelling in small letters: language, length and number of each weekday it can name."""
    return _gather((_WEEKDAYS, LONG), (_SHORT_WEEKDAYS, SHORT), _ALSO_WEEKDAYS)


def _gather(
    long: tuple[dict[str, str], str],
    short: tuple[dict[str, str], str],
    also: dict[str, dict[str, int]],
) -> dict[str, list[tuple[str, str, int]]]:
    found: dict[str, list[tuple[str, str, int]]] = {}
    for table, length in (long, short):
        for language in LANGUAGES:
            for number, name in enumerate(table[language].lower().split()):
                found.setdefault(name, []).append((language, length, number))
    for language in LANGUAGES:
        for name, number in also[language].items():
            length = LONG if len(name) > 5 else SHORT
            found.setdefault(name, []).append((language, length, number))
    return found
