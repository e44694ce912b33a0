"""License plates of cars: by what announces them, and two forms that hardly anything else has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.automaton import automaton
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import CAPITALS, LETTERS, Flags, among

_LOOK_BACK = 48
_LONGEST_LEAD = 8  # letters and signs before the first digit
_BLANK, _HYPHEN = ord(" "), ord("-")


@dataclass(frozen=True)
class LicensePlate:
    """The sign on a car by which its owner is known."""

    label: ClassVar[str] = "LICENSE_PLATE"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_may_be_plate)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Around every run of digits, a form of some country."""
        text, reached = reading.text, 0
        told_ones = reading.page.flags(_may_be_told)
        for run in reading.chosen(_may_be_plate):
            start, end = reading.starts[run], reading.ends[run]
            if start < reached:
                continue
            told = told_ones[reading.first + run]
            for begin in reversed(list(_beginnings(text, start))):
                match = self._own(text, begin, end) or (
                    self._announced(reading, begin, end) if told else None
                )
                if match:
                    reached = match.end
                    yield match
                    break

    def _own(self, text: str, begin: int, end: int) -> Found | None:
        match = _distinct().match(text, begin)
        if not match or match.end() < end:
            return None
        reason = "written like a license plate"
        return Found(begin, match.end(), self.label, "plate", reason)

    def _announced(self, reading: Reading, begin: int, end: int) -> Found | None:
        match = _forms().match(reading.text, begin)
        if not match or match.end() < end:
            return None
        if not _cue().search(reading.before(begin, _LOOK_BACK)):
            return None
        reason = "announced as a license plate"
        return Found(begin, match.end(), self.label, "plate-context", reason)


def _may_be_plate(page: Page) -> Flags:
    """The numbers that stand in a plate by their own look or are announced as one."""
    runs = page.runs
    one, two, three = (runs.before(distance) for distance in (1, 2, 3))
    capital = among(two, CAPITALS)
    french = (runs.lengths == 3) & (one == _HYPHEN) & capital & (runs.after(1) == _HYPHEN)
    german = (one == _BLANK) & capital & (among(three, "-") | (runs.before(4) == _HYPHEN))
    held: Flags = ((runs.lengths <= 4) & (french | german)) | page.ask(_may_be_told)
    return held


def _may_be_told(page: Page) -> Flags:
    """The short numbers beside letters before which a word for plates or cars seems to stand."""
    runs = page.runs
    one, other = runs.before(1), runs.after(1)
    lettered = among(one, LETTERS) | (among(one, " -") & among(runs.before(2), LETTERS + " -"))
    followed = among(other, LETTERS) | (among(other, " -") & among(runs.after(2), LETTERS))
    beside = lettered | followed | runs.joins("-")
    told = page.told_on_line(_LAST_WORDS, _BETWEEN + _LONGEST_LEAD)
    return page.where_can(automaton(_forms()), (runs.lengths <= 4) & beside & told, *range(8))


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


_WORDS = (
    r"(?:(?:licen[cs]e|number|car|vehicle|reg(?:istration)?) ?)?plates?|licen[cs]e no"
    r"|reg(?:\.|istration)?"
    r"(?: (?:no|number|nr)\.?)?|vrm|(?:amtliches )?kennzeichen|kfz-?kennzeichen|kennz\.?|kfz"
    r"|pkw"
    r"|matr[íi]cula|plaque(?: d'immatriculation)?|immat(?:riculation|ricul[ée]e?)?|targa"
    r"|kenteken"
    r"|(?:my|the|his|her|a|white|black|red|blue|grey|gray|silver) (?:car|van|truck)|coche"
    r"|voiture|auto|wagen|placa"
)
# The last words of these.
_LAST_WORDS = frozenset(
    (
        *("*plate", "*plates", "no", "reg", "registration", "number", "nr", "vrm", "*kennzeichen"),
        *("kennz", "kfz", "pkw", "matrícula", "matricula", "plaque", "immat*", "targa", "kenteken"),
        *("car", "van", "truck", "coche", "voiture", "auto", "wagen", "placa"),
    )
)
_BETWEEN = 24 + 1  # characters, a full stop among them, from these words to a plate


@cache
def _cue() -> Expression:
    return Expression(
        rf"(?i)(?<![\p{{L}}])(?:{_WORDS})(?!\p{{L}})(?:(?![.!?;] )[^\n0-9]){{0,24}}\Z"
    )
