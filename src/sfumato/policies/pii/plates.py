"""License plates of cars: by what announces them, and two forms that hardly anything else has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.reading import Reading
from sfumato.text.span import Span

_LOOK_BACK = 48
# What every word that announces a plate has a piece of.
_PIECES = (
    *("plate", "reg", "kennzeich", "matr", "plaque", "immat", "targa", "kenteken", "vrm", "tag"),
    *(
        "licence",
        "license",
        "vehicle",
        "car",
        "auto",
        "coche",
        "voiture",
        "fahrzeug",
        "pkw",
        "wagen",
    ),
    *("chapa", "van", "truck"),
)


@dataclass(frozen=True)
class LicensePlate:
    """The sign on a car by which its owner is known."""

    label: ClassVar[str] = "LICENSE_PLATE"

    def find(self, reading: Reading) -> Iterator[Span]:
        """Around every run of digits, a form of some country."""
        text, announcing = reading.text, reading.mentions(_PIECES)
        reached = 0
        for start, end in zip(reading.starts, reading.ends, strict=True):
            if start < reached or end - start > 4:
                continue
            before = text[start - 1] if start else " "
            own = before in "- " and start > 1 and text[start - 2].isupper()
            told = announcing and _is_told(reading, start)
            if not told and not own:
                continue
            for begin in reversed(list(_beginnings(text, start))):
                match = self._own(text, begin, end) or (
                    self._announced(reading, begin, end) if told else None
                )
                if match:
                    reached = match.end
                    yield match
                    break

    def _own(self, text: str, begin: int, end: int) -> Span | None:
        match = _distinct().match(text, begin)
        if not match or match.end() < end:
            return None
        reason = "written like a license plate"
        return Span(begin, match.end(), self.label, "plate", reason)

    def _announced(self, reading: Reading, begin: int, end: int) -> Span | None:
        match = _forms().match(reading.text, begin)
        if not match or match.end() < end:
            return None
        if not _cue().search(reading.before(begin, _LOOK_BACK)):
            return None
        reason = "announced as a license plate"
        return Span(begin, match.end(), self.label, "plate-context", reason)


def _is_told(reading: Reading, start: int) -> bool:
    before = reading.before(start, _LOOK_BACK).lower()
    return any(piece in before for piece in _PIECES)


def _beginnings(text: str, start: int) -> Iterator[int]:
    """Where a plate with this run of digits can begin: up to six letters and signs before it."""
    begin = start
    yield start
    while begin and start - begin < 7 and (text[begin - 1].isalpha() or text[begin - 1] in " -"):
        begin -= 1
        if text[begin].isalpha() and (not begin or not text[begin - 1].isalnum()):
            yield begin


@cache
def _distinct() -> Expression:
    """French plates since 2009, and German ones with hyphen and space."""
    french = r"[A-HJ-NP-TV-Z]{2}-[0-9]{3}-[A-HJ-NP-TV-Z]{2}"
    german = r"[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} [1-9][0-9]{0,3}[EH]?"
    return Expression(rf"(?<![\p{{L}}\p{{N}}\-])(?:{french}|{german})(?![\p{{L}}\p{{N}}\-])")


@cache
def _forms() -> Expression:
    forms = (
        r"[A-ZÄÖÜ]{1,3}[ \-]{1,3}[A-Z]{1,2}[ \-]?[1-9][0-9]{0,3}[EH]?",  # Germany
        r"[A-Z]{2}[ \-]?[0-9]{3}[ \-]?[A-Z]{2}",  # France, Italy
        r"[0-9]{4}[ \-]?[BCDFGHJKLMNPRSTVWXYZ]{3}",  # Spain
        r"[A-Z]{1,2}[ \-]?[0-9]{4}[ \-]?[A-Z]{1,2}",  # Spain before 2000
        r"[A-Z]{2}[0-9]{2} ?[A-Z]{3}",  # the United Kingdom
        r"[A-Z][0-9]{1,3} ?[A-Z]{3}|[A-Z]{3} ?[0-9]{1,3}[A-Z]",  # the United Kingdom before 2001
        r"(?:[A-Z]{1,3}|[0-9]{1,3})-(?:[A-Z]{2,3}|[0-9]{2,3})-(?:[A-Z]{1,2}|[0-9]{1,2})",  # NL
        r"[A-Z]{2}[ \-]?[0-9]{1,2}[ \-]?[A-Z]{1,3}[ \-]?[0-9]{4}",  # India
        r"[A-Z]{3}[ \-]?[0-9][A-Z0-9][0-9]{2}",  # Brazil
        r"[0-9][A-Z]{3}[0-9]{3}|[A-Z]{2,3}[ \-]?[0-9]{3,4}|[0-9]{3}[ \-]?[A-Z]{3}",  # US
        r"[0-9]{1,4}[ \-]?[A-Z]{2,3}[ \-]?[0-9]{2}",  # France before 2009
    )
    return Expression(rf"(?i)(?<![\p{{L}}\p{{N}}])(?:{'|'.join(forms)})(?![\p{{L}}\p{{N}}])")


@cache
def _cue() -> Expression:
    words = (
        r"(?:(?:licen[cs]e|number|car|vehicle|reg(?:istration)?) ?)?plates?|licen[cs]e no"
        r"|reg(?:\.|istration)?"
        r"(?: (?:no|number|nr)\.?)?|vrm|(?:amtliches )?kennzeichen|kfz-?kennzeichen|kennz\.?|kfz"
        r"|pkw"
        r"|matr[íi]cula|plaque(?: d'immatriculation)?|immat(?:riculation|ricul[ée]e?)?|targa"
        r"|kenteken"
        r"|(?:my|the|his|her|a|white|black|red|blue|grey|gray|silver) (?:car|van|truck)|coche"
        r"|voiture|auto|wagen|placa"
    )
    return Expression(rf"(?i)(?<![\p{{L}}])(?:{words})(?!\p{{L}})(?:(?![.!?;] )[^\n0-9]){{0,24}}\Z")
