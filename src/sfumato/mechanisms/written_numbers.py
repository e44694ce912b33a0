"""Numbers as people write them: what one says, and how another is written in the same way.

``read_number`` takes a text apart into a ``NumberForm`` (units and signs around it, how many
decimals, which marks, which digits) and a value, in units of the last place that is written.
``NumberForm.spell`` writes any other value in that form. A form holds nothing of the value.

What is read
    Digits of any script, with a mark before the decimals and one between groups of three, if there
    are any; a sign; before and after it only words and symbols of a public list (``units``). So no
    other word of a text can come along. ``1,234`` is read by the language: the comma stands before
    decimals in German, Spanish, French and others, and between groups everywhere else. The other
    mark is read before any number of decimals but three, which cannot be told from a group.

What shows of a form
    Units and words such as "million", how many decimals there are, the mark before them, and the
    script. Nothing that only some numbers have: thousands are written without marks and numbers
    without zeros in front, since 999 does not tell whether its writer would separate the thousands
    of 1,000; a unit agrees with the number that is written; the sign is no part of the form (a
    minus is written as ``-`` wherever it belongs, and a plus is left out).

    A writer who drops zeros at the end shows by the number of decimals that there were some. That
    a number cannot be read shows, and with it, where marks are not those of the language, that
    ``1.234.567`` has more digits than ``1.234``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from sfumato.mechanisms.units import agree, is_public

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
_CURRENCY = frozenset("$€£¥₹₩₽₺₪")
_NUMBER = re.compile(
    rf"(?P<before>\D*?)(?P<sign>[{_SIGNS}]?)(?P<number>[.,]?\d(?:[\d.,{_GROUPS}]*\d)?)(?P<after>\D*)"
)


@dataclass(frozen=True, slots=True)
class NumberForm:
    """How a number is written, without what it says.

    ``after`` has its noun in the plural, and ``single`` has it in the singular; ``zero`` is the
    digit 0 of the script.
    """

    before: str = ""
    after: str = ""
    decimals: int = 0
    mark: str = ""
    zero: str = "0"
    single: str = ""

    def spell(self, ticks: int) -> str:
        """A value, in units of the last decimal, in this form.

        >>> NumberForm("", " mg", decimals=1, mark=".").spell(-785)
        '-78.5 mg'
        """
        digits = str(abs(ticks)).rjust(self.decimals + 1, "0")
        cut = len(digits) - self.decimals
        spelled = digits[:cut] + self.mark + digits[cut:]
        if self.zero != "0":
            shift = ord(self.zero) - ord("0")
            spelled = "".join(chr(ord(c) + shift) if c in "0123456789" else c for c in spelled)
        # A minus stands before the sign of a currency, and otherwise before the digits.
        cut = len(self.before) - (self.before[-1:] in _CURRENCY)
        minus = "-" if ticks < 0 else ""
        after = self.single if abs(ticks) == 1 and not self.decimals and self.single else self.after
        return f"{self.before[:cut]}{minus}{self.before[cut:]}{spelled}{after}"


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
    if zero is None or not (is_public(before) and is_public(found["after"])):
        return None
    usual = mark or (COMMA_MARK if language in COMMA else POINT_MARK)
    other = POINT_MARK if usual == COMMA_MARK else COMMA_MARK
    parts, used = _split(found["number"], usual), usual
    if parts is None and not mark:
        parts, used = _split(found["number"], other), other
        # Decimals that could be a group of thousands elsewhere, or none: nothing to tell it by.
        parts = None if parts is None or len(parts[1]) in (0, 3) else parts
    if parts is None or len(parts[1]) > MOST_DECIMALS:
        return None
    digits = "".join(parts)
    ticks = int(digits) if len(digits) <= MOST_DIGITS else 10**MOST_DIGITS
    single, several = agree(found["after"], language)
    form = NumberForm(before, several, len(parts[1]), used if parts[1] else "", zero, single)
    return WrittenNumber(form, -ticks if sign and sign != "+" else ticks)


def _split(number: str, mark: str) -> tuple[str, str] | None:
    """The digits before and after the mark; what stands between groups of them is left out."""
    whole, found, rest = number.partition(mark)
    if found and not rest.isdecimal():
        return None
    if whole.isdecimal() or (not whole and found):
        return whole, rest
    first = re.search(r"\D", whole)
    if first is None:
        return None
    parts = whole.split(first[0])
    if not 1 <= len(parts[0]) <= 3 or any(len(part) != 3 for part in parts[1:]):
        return None
    return ("".join(parts), rest) if all(part.isdecimal() for part in parts) else None


def _zero(number: str) -> str | None:
    """The digit 0 of the script that all digits are of."""
    zeros = {chr(ord(one) - unicodedata.decimal(one)) for one in number if one.isdecimal()}
    return zeros.pop() if len(zeros) == 1 else None
