"""Postcodes by region: those that look like nothing else, and plain numbers in context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.automaton import automaton, backward
from sfumato.policies.pii.expressions import Expression, Match
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.openings import words_of
from sfumato.policies.pii.reading import Page, Reading, cue
from sfumato.policies.pii.runs import CAPITALS, DIGITS, LETTERS, Flags, among, surely
from sfumato.policies.pii.street import US_STATES

# Forms that are a postcode wherever they stand. Those with letters begin at most two characters
# before their first digit.
_FORMS = {
    "US": r"[0-9]{5}-[0-9]{4}",
    "GB": r"(?i:[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][ABD-HJLNP-UW-Z]{2})",
    "CA": r"(?i:[ABCEGHJ-NPRSTVXY][0-9][A-Z][ -]?[0-9][A-Z][0-9])",
    "IE": r"(?i:[AC-FHKNPRTV-Y](?:[0-9]{2}|6W) ?[0-9AC-FHKNPRTV-Y]{4})",
    "NL": r"[1-9][0-9]{3} ?(?!AD|AM|BC|CE|CM|GB|HP|KG|KM|MB|MM|MW|PM|TV|UK|US)[A-Z]{2}",
    "PT": r"[0-9]{4}-[0-9]{3}",
    "PL": r"[0-9]{2}-[0-9]{3}",
    "BR": r"[0-9]{5}-[0-9]{3}",
    "JP": r"[0-9]{3}-[0-9]{4}",
    "LV": r"LV-[0-9]{4}",
    "LT": r"LT-[0-9]{5}",
    "LU": r"L-[0-9]{4}",
    "SE": r"(?:SE-|S-)?[1-9][0-9]{2} [0-9]{2}(?= \p{Lu})",
    "CZ": r"(?:CZ-)?[1-7][0-9]{2} [0-9]{2}(?= \p{Lu})",
    "SK": r"(?:SK-)?[089][0-9]{2} [0-9]{2}(?= \p{Lu})",
    "GR": r"(?:GR-)?[1-8][0-9]{2} [0-9]{2}(?= \p{Lu})",
    "IN": r"[1-9][0-9]{2} [0-9]{3}(?=\s*(?:[,.]|\n|India|$))",
}
# How many digits a plain postcode has.
_LENGTHS = {
    **dict.fromkeys(("US", "DE", "FR", "ES", "IT", "FI", "MX", "HR", "EE", "GR", "CZ", "SK"), 5),
    **dict.fromkeys(("AU", "NZ", "ZA", "AT", "CH", "BE", "NL", "DK", "NO", "HU", "SI", "BG"), 4),
    **dict.fromkeys(("CY", "LV", "LU", "PT"), 4),
    **dict.fromkeys(("IN", "RO"), 6),
    **dict.fromkeys(("SE", "LT", "PL"), 5),
    "IS": 3,
}


@dataclass(frozen=True)
class Postcode:
    """A postal code."""

    regions: tuple[str, ...]

    label: ClassVar[str] = "POSTCODE"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(self._may_be_postcode)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Around every run of digits."""
        reached = 0
        formed, plain = reading.page.flags(self._may_have_form), reading.page.flags(_may_be_plain)
        for first in reading.chosen(self._may_be_postcode):
            start = reading.starts[first]
            if start < reached:
                continue
            match = None
            if formed[reading.first + first]:
                match = self._form(reading.text, start, reading.ends[first])
            if match:
                reached = match.end()
                reason = f"written like a postcode of region {match.lastgroup}"
                yield Found(match.start(), reached, self.label, "postcode", reason)
                continue
            reason = self._plain(reading, first) if plain[reading.first + first] else ""
            if reason:
                yield Found(start, reading.ends[first], self.label, "postcode-context", reason)

    def _may_be_postcode(self, page: Page) -> Flags:
        return page.ask(self._may_have_form) | page.ask(_may_be_plain)

    def _may_have_form(self, page: Page) -> Flags:
        machine = automaton(self._forms)
        return page.where_can(machine, _may_be_lettered(page), *range(_LONGEST_LEAD + 1))

    def _form(self, text: str, start: int, end: int) -> Match | None:
        for back in _leads(text, start, end):
            match = self._forms.match(text, start - back)
            if match:
                return match
        return None

    def _plain(self, reading: Reading, first: int) -> str:
        start, end = reading.starts[first], reading.ends[first]
        text = reading.text
        if not 3 <= end - start <= 6 or _joined().match(text, end):
            return ""
        if start and (text[start - 1].isalnum() or text[start - 1] in "$€£¥.,#"):
            return ""
        if reading.is_chosen(_may_be_announced, first) and _cue().search(
            reading.before(start, _BACK)
        ):
            return "a number, announced as a postcode"
        return _placed(reading, start, end) if end - start in self._lengths else ""

    @cached_property
    def _forms(self) -> Expression:
        return _forms(self.regions)

    @cached_property
    def _lengths(self) -> frozenset[int]:
        return _lengths(self.regions)


_BACK = 30
_LONGEST_LEAD = 3  # characters before the first digit


def _may_be_lettered(page: Page) -> Flags:
    """Numbers beside letters or hyphens, or in groups."""
    runs = page.runs
    length, one, two = runs.lengths, runs.before(1), runs.before(2)
    after, second = runs.after(1), runs.after(2)
    # At most two letters stand before the first digit, and nothing else right before them.
    begun = ~(surely(two, LETTERS + DIGITS) & surely(runs.before(3), LETTERS + DIGITS))
    joined = (length == 6) | ((length <= 5) & among(after, LETTERS + " "))
    lettered = among(one, LETTERS) & begun & joined
    lettered |= (length <= 5) & among(one, "-") & among(two, LETTERS)
    hyphened = (length >= 2) & (length <= 5) & among(after, "-")
    grouped = (length == 3) & among(after, " ") & among(second, DIGITS)
    dutch = (length == 4) & (among(after, CAPITALS) | among(second, CAPITALS))
    held: Flags = lettered | hyphened | grouped | dutch
    return held


def _may_be_plain(page: Page) -> Flags:
    """Numbers of some length where a code can stand, or that are announced."""
    runs = page.runs
    length, one, two = runs.lengths, runs.before(1), runs.before(2)
    after, second = runs.after(1), runs.after(2)
    whole = (length >= 3) & (length <= 6) & ~surely(one, LETTERS + DIGITS + "$.,#")
    whole &= ~surely(after, LETTERS + "%$")
    ended = among(one, " ") & among(after, " \t\n")
    ended &= page.until("\n") - runs.ends == _blanks_after(page)
    led = among(one, "\n;|\t-") | page.told_before(_LEADING, 1)
    led |= among(one, " \r\v\f") & among(two, ",\n;|\t \r\v\f")
    begun = among(after, " ") & among(second, CAPITALS) & led
    placed = page.told_before(_states(), 3) | ended | begun
    placed &= whole & (length > 3)
    named = page.where_can(backward(_state_before(), _named_line()), placed)
    chosen = np.flatnonzero(placed)
    named[chosen] |= automaton(_town()).can_match(runs.codes, runs.ends[chosen])
    return named | (whole & page.ask(_may_be_announced))


def _blanks_after(page: Page) -> NDArray[np.int64]:
    """How many blanks and tabs follow each number."""
    codes, ends = page.runs.codes, page.runs.ends
    others = np.append(np.flatnonzero((codes != _BLANK) & (codes != _TAB)), len(codes))
    counted: NDArray[np.int64] = others[np.searchsorted(others, ends)] - ends
    return counted


_BLANK, _TAB = ord(" "), ord("\t")
_LEADING = frozenset(("à", "en", "nach"))  # before the name of a town and its code


def _may_be_announced(page: Page) -> Flags:
    length = page.runs.lengths
    told = page.told_before(words_of(_cue().pattern), _BACK)
    return (length >= 3) & (length <= 6) & told


@cache
def _states() -> frozenset[str]:
    return frozenset((*US_STATES.split(), "NSW", "VIC", "QLD", "TAS", "ACT"))


def _placed(reading: Reading, start: int, end: int) -> str:
    """Why a number is a postcode by the place where it stands."""
    text = reading.text
    blank = start > 1 and text[start - 1] == " "
    if blank and _state_before().search(reading.before(start, 6)):
        return "a number after a state"
    if blank and _line_end().match(text, end) and _named_line().search(reading.before(start)):
        return "a number after a name, alone on a line"
    if _town().match(text, end) and _line_start().search(reading.before(start, 5)):
        return "a number before a name, where a line of an address begins"
    return ""


def _leads(text: str, start: int, end: int) -> Iterator[int]:
    """How many characters before its first digit a form can begin, the most first."""
    one, two, three = (text[start - back] if back <= start else "" for back in (1, 2, 3))
    if one == "-" and two.isalpha() and three.isalpha():
        yield 3
    if two.isalpha() and (one == "-" or one.isalpha()):
        yield 2
    if one.isalpha():
        yield 1
    length, following = end - start, text[end : end + 2]
    if (
        (2 <= length <= 5 and following[:1] == "-")
        or (length == 3 and following[:1] == " " and following[1:].isdigit())
        or (length == 4 and (following[:1].isupper() or following[1:].isupper()))
    ):
        yield 0


@cache
def _lengths(regions: tuple[str, ...]) -> frozenset[int]:
    # Three digits are too few to tell a postcode by its place.
    return frozenset(_LENGTHS[region] for region in regions if region in _LENGTHS) - {3}


@cache
def _forms(regions: tuple[str, ...]) -> Expression:
    forms = "|".join(f"(?P<{code}>{_FORMS[code]})" for code in regions if code in _FORMS)
    return Expression(
        rf"(?<![\p{{L}}\p{{N}}])(?<![0-9][\-. ])(?:{forms or '(?!)'})(?![\p{{L}}\p{{N}}]|-[0-9])"
    )


@cache
def _cue() -> Expression:
    return cue(
        r"zip(?: ?code)?|post(?:al)? ?codes?|postcode|plz|postleitzahl|code postal|cp|pin ?code",
        r"cap(?=:? ?[0-9])|c[óo]digo postal|postnummer|postinumero",
        r"irányítószám|kod pocztowy|psč|cep|eircode",
    )


@cache
def _state_before() -> Expression:
    states = "|".join(sorted(_states()))
    return Expression(rf"(?<!\p{{L}})(?:{states})\.?,? \Z")


@cache
def _line_start() -> Expression:
    return Expression(r"(?:^|[\n;|\t]\s*|,\s|\b[A-Z]{1,2}-|\b(?:à|en|nach) )\Z")


@cache
def _named_line() -> Expression:
    name = r"\p{Lu}[\p{L}\p{M}'\-]++"
    return Expression(rf"[\n>] {{0,4}}(?:{name} ){{1,3}}\Z")


@cache
def _line_end() -> Expression:
    return Expression(r"[ \t]*+(?:\n|\Z)")


@cache
def _town() -> Expression:
    return Expression(r" \p{Lu}[\p{L}\p{M}'\-]++")


@cache
def _joined() -> Expression:
    return Expression(r"[0-9\p{L}%°]|[.,:\-/][0-9]| ?[€$£%]")
