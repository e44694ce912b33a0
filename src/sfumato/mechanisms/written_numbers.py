"""Numbers as people write them: what one says, and how another is written in the same way.

``read_number`` takes a text apart into a ``NumberForm`` (units and signs around it, how many
decimals, which marks, which digits) and a value, in units of the last place that is written.
``NumberForm.spell`` writes any other value in that form. A form holds nothing of the value.

What is read
    Digits of any script, with a mark before the decimals and one between groups of three, if there
    are any; a sign; before and after it only words and symbols of a public list of units,
    currencies and words such as "about". So no other word of a text can come along. ``1,234`` is
    read by the language: the comma stands before decimals in German, Spanish, French and others,
    and between groups everywhere else. Where only the other reading makes sense, that is taken.

What shows of a form
    Units, the number of decimals and the marks. That thousands are separated shows that the number
    had four digits at least, and zeros in front show how wide it was. The sign is no part of the
    form: a minus is written as ``-`` wherever it belongs, and a plus is left out.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

# Languages in which decimals follow a comma.
COMMA = ("cs", "da", "de", "es", "fi", "fr", "it", "nb", "nl", "pl", "pt", "ru", "sv")
POINT_MARK, COMMA_MARK = ".", ","
MOST_DECIMALS = 12
LONGEST = 1000  # characters
# Longer whole numbers count as one of so many digits, which is beyond all bounds.
MOST_DIGITS = 60
_SIGNS = "-+\u2212\u2013"
_BLANKS = " \u00a0\u2009\u202f"
_GROUPS = f"{_BLANKS}'\u2019"
_SYMBOLS = frozenset("$€£¥₹₩₽₺₪%‰°~≈<>≤≥=#/.*·±")
_CURRENCY = frozenset("$€£¥₹₩₽₺₪")
_WORDS = (
    # Units of measure.
    "mg g kg t µg μg mcg ng lb lbs oz st ml l cl dl m cm mm km nm µm μm mi ft in yd inch "
    "inches m² km² cm² m³ cm³ ha ac sq cu c f k bpm mmhg mmol mol kcal cal kj j w kw kwh v a "
    "hz khz mhz ghz kb mb gb tb bit bits byte bytes dpi px iu ie u ui meq pa kpa hpa bar psi "
    "h hr hrs min mins s sec secs ms kmh mph kph am pm x gram grams gramm grammes gramos "
    "kilogram kilograms kilo kilos tonne tonnes ton tons pound pounds ounce ounces liter "
    "liters litre litres litro litros meter meters metre metres metro metros kilometer "
    "kilometers kilometre kilometres kilómetros mile miles foot feet yards stone degree "
    "degrees grad grados degrés celsius fahrenheit "
    # Time.
    "year years yr yrs yo jahr jahre jahren año años an ans month months mo monat monate "
    "monaten mes meses mois week weeks wk wks woche wochen semana semanas semaine semaines "
    "day days tag tage tagen día días jour jours hour hours stunde stunden hora horas heure "
    "heures minute minutes minuten minuto minutos second seconds sekunde sekunden segundo "
    "segundos old alt "
    # Money and shares.
    "usd eur gbp chf jpy cny inr cad aud mxn ars brl dollar dollars euro euros pound cent "
    "cents centimes franken francs peso pesos rupees yen percent prozent ciento pour por per "
    "pro je "
    # Many at a time, and about how many.
    "hundred thousand million millions billion billions trillion dozen hundert tausend mio "
    "mrd millionen milliarden mil millón millones cent mille milliers milliard milliards "
    "about around approximately approx ca circa nearly almost over under more less than at "
    "least most up to some only just no nr etwa rund fast über unter bis mehr weniger als "
    "mindestens höchstens unos unas casi más menos de environ presque plus moins que "
    # What is counted.
    "times mal veces fois tablet tablets pill pills unit units drops dose doses people "
    "persons patients points pieces items copies pages stück einheiten tabletten personen"
)
_NUMBER = re.compile(
    rf"(?P<before>\D*?)(?P<sign>[{_SIGNS}]?)(?P<number>[.,]?\d(?:[\d.,{_GROUPS}]*\d)?)(?P<after>\D*)"
)
_TOKEN = re.compile(r"[^\W\d_]+[²³]?|[^\w\s]|\s")


@dataclass(frozen=True, slots=True)
class NumberForm:
    """How a number is written, without what it says.

    ``width`` is how many digits the whole part has at least: more than one if zeros stand in front,
    none in ``.5``. ``zero`` is the digit 0 of the script.
    """

    before: str
    after: str
    decimals: int = 0
    mark: str = ""
    group: str = ""
    width: int = 1
    zero: str = "0"

    def spell(self, ticks: int) -> str:
        """A value, in units of the last decimal, in this form.

        >>> NumberForm("", " mg", decimals=1, mark=".").spell(-785)
        '-78.5 mg'
        """
        digits = str(abs(ticks)).rjust(self.decimals + self.width, "0")
        cut = len(digits) - self.decimals
        whole, rest = digits[:cut], digits[cut:]
        if self.group:
            head = len(whole) % 3
            parts = [whole[:head]] if head else []
            parts += [whole[start : start + 3] for start in range(head, len(whole), 3)]
            whole = self.group.join(parts)
        spelled = whole + self.mark + rest
        if self.zero != "0":
            shift = ord(self.zero) - ord("0")
            spelled = "".join(chr(ord(c) + shift) if c in "0123456789" else c for c in spelled)
        # A minus stands before the sign of a currency, and otherwise before the digits.
        cut = len(self.before) - (self.before[-1:] in _CURRENCY)
        minus = "-" if ticks < 0 else ""
        return f"{self.before[:cut]}{minus}{self.before[cut:]}{spelled}{self.after}"


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A form and what is written in it, in units of the last decimal."""

    form: NumberForm
    ticks: int


def read_number(text: str, language: str = "", mark: str = "") -> WrittenNumber | None:
    """The form and the value of a text; nothing if it cannot be read as one number.

    ``mark`` says what stands before decimals, unless the language is to decide.

    >>> read_number("81 mg").ticks, read_number("$1,234.50").ticks
    (81, 123450)
    >>> read_number("81 Baker Street") is None
    True
    """
    found = _NUMBER.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    sign, before = found["sign"], found["before"]
    if not sign and before[:1] and before[0] in _SIGNS:
        sign, before = before[0], before[1:]
    zero = _zero(found["number"])
    if zero is None or not (_is_public(before) and _is_public(found["after"])):
        return None
    usual = mark or (COMMA_MARK if language in COMMA else POINT_MARK)
    other = POINT_MARK if usual == COMMA_MARK else COMMA_MARK
    for tried in (usual,) if mark else (usual, other):
        parts = _split(found["number"], tried)
        if parts is not None:
            return _written((before, found["after"]), parts, sign, zero)
    return None


def _written(
    around: tuple[str, str], parts: tuple[str, str, str, str], sign: str, zero: str
) -> WrittenNumber | None:
    whole, group, mark, rest = parts
    if len(rest) > MOST_DECIMALS:
        return None
    width = len(whole) if whole[:1] == zero or not whole else 1
    form = NumberForm(*around, len(rest), mark, group, width, zero)
    digits = whole + rest
    ticks = int(digits) if len(digits) <= MOST_DIGITS else 10**MOST_DIGITS
    return WrittenNumber(form, -ticks if sign and sign != "+" else ticks)


def _split(number: str, mark: str) -> tuple[str, str, str, str] | None:
    """Whole digits, what stands between groups of them, the mark if it is there, the decimals."""
    whole, found, rest = number.partition(mark)
    if found and not rest.isdecimal():
        return None
    if whole.isdecimal() or (not whole and found):
        return whole, "", found, rest
    first = re.search(r"\D", whole)
    if first is None:
        return None
    parts = whole.split(first[0])
    if not 1 <= len(parts[0]) <= 3 or any(len(part) != 3 for part in parts[1:]):
        return None
    if not all(part.isdecimal() for part in parts):
        return None
    return "".join(parts), first[0], found, rest


def _zero(number: str) -> str | None:
    """The digit 0 of the script that all digits are of."""
    zeros = {chr(ord(one) - unicodedata.decimal(one)) for one in number if one.isdecimal()}
    return zeros.pop() if len(zeros) == 1 else None


@cache
def _words() -> frozenset[str]:
    return frozenset(_WORDS.split())


def _is_public(around: str) -> bool:
    """Whether everything around a number is of the public list, with single blanks between."""
    place = 0
    for token in _TOKEN.finditer(around):
        if token.start() != place:
            return False
        place, one = token.end(), token[0]
        blank = one in _BLANKS and around[token.start() - 1 : token.start()] != one
        if not (blank or one in _SYMBOLS or one.casefold() in _words()):
            return False
    return place == len(around)
