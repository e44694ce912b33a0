"""Street addresses in the orders in which people write them.

Addresses of several parts between commas, told by how they begin or by the code at their end.

"Plot 12, Jasmine Layout, near the tank, Navsagar - 603 855", "The Old Forge, Mill Lane, Orme,
TH9 6AB".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple

from sfumato.policies.pii import street
from sfumato.policies.pii.anchors import letters
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.reading import Reading, cue
from sfumato.policies.pii.street import any_of, tail_end
from sfumato.text.span import Span

_REACH = 110
_WORD = r"(?:\p{Lu}[\p{L}\p{M}'.\-]*+|[0-9]{1,3}(?:st|nd|rd|th)|of|the|de|la|upon|on)"
_PART = rf"(?:\p{{Lu}}[\p{{L}}\p{{M}}'.\-]*+|[0-9]{{1,3}}(?:st|nd|rd|th))(?: {_WORD}){{0,4}}+"
_NEAR = r"(?:near|opp\.?|opposite|behind|beside|next to|off) [\p{L}\p{M} '\-]{3,40}?"
_INDIAN = r"[1-9][0-9]{2} ?[0-9]{3}(?![0-9])"
_HEADS = """
no h.no hno house plot flat door d.no shop villa block sector quarter qtr survey room gali ward
"""


def unit_first(text: str, start: int) -> tuple[int, int] | None:
    """From a house, plot or flat number over the parts after it to the code or a street."""
    match = _after_head().match(text, start)
    head = _head_before().search(text, max(0, start - 12), start) if match else None
    if not match or not (head or match["code"]):
        return None
    if not match["code"] and not _street_inside().search(match[0]):
        return None
    return (head.start() if head else start), match.end()


def before_code(text: str, start: int) -> tuple[int, int] | None:
    """Parts with a street among them that stand right before a postcode."""
    code = _code().match(text, max(0, start - 2)) or _code().match(text, max(0, start - 1))
    if not code or code.start("digit") != start:
        return None
    match = _parts_before().search(text, max(0, start - _REACH), code.start())
    if not match or not _street_inside().search(match[0]):
        return None
    return match.start(), code.end()


def heading(address: str) -> str:
    """What an address without a house number is mentioned by: its first two parts."""
    parts = address.split(", ")
    head = ", ".join(parts[:2])
    return head if len(parts) > 2 and not any(letter.isdigit() for letter in head) else ""


@cache
def _head_before() -> Expression:
    return Expression(rf"(?<![\p{{L}}\p{{N}}])(?i:(?:{any_of(_HEADS)})\.? ?|[a-z]-?)\Z")


@cache
def _after_head() -> Expression:
    number = r"[0-9]{1,5}\p{L}?(?:[\-/][0-9]{1,5}\p{L}?){0,3}"
    return Expression(
        rf"{number}(?:,? {_PART}(?=,|\s|\.|\Z)|, {_NEAR}(?=,| \p{{Lu}}|[.;\n]|\Z)){{1,5}}?"
        rf"(?:,? (?:- ?)?(?P<code>{_INDIAN})|(?=[.;\n?!]|, \p{{Ll}}| \p{{Ll}}|\Z))"
    )


@cache
def _parts_before() -> Expression:
    return Expression(
        rf"(?<![\p{{L}}\p{{N}}])(?<!\p{{L}}['\-])(?:{_PART}, ){{1,4}}(?:{_PART})?,? ?\Z"
    )


@cache
def _code() -> Expression:
    return Expression(
        r"(?<![\p{L}\p{N}])[A-Z]{1,2}(?P<digit>)[0-9][A-Z0-9]? ?[0-9][A-Z]{2}(?![\p{L}\p{N}])"
    )


@cache
def _street_inside() -> Expression:
    return Expression(rf" (?:{any_of(street.SUFFIXES)}|Layout|Nagar|Enclave|Vihar|Cross)\b")


_NAME = r"(?:\p{Lu}[\p{L}\p{M}'.\-]*+|[0-9]{1,3}(?:st|nd|rd|th))"
_STREET_BEFORE = 60
_MOST_HEADINGS = 50
_STREET_AFTER = 160
_LONGEST_NUMBER = 6
_ZIP_LENGTH = 5
_AFTER_NUMBER = frozenset(" ,-/")
_UNITS = """
box psc cmr postfach postale correos apartado postbus apt apartment suite ste flat bag no unit
"""
_ORDINARY = """
a about after and around as at before between by during early for from has have in january
february march april may june july august september october november december is late least
mid nearly of on only or over since some than that the then through to under until was were
with
"""


class _Found(NamedTuple):
    start: int
    end: int
    rule: str
    reason: str


_Rule = Callable[[str, int], _Found | None]


@dataclass(frozen=True)
class Address:
    """Where somebody lives or a parcel goes."""

    label: ClassVar[str] = "ADDRESS"

    def find(self, reading: Reading) -> Iterator[Span]:
        """At every number: a house number before or after its street, a box, a town."""
        reached, headings = 0, dict[str, None]()
        for start, end in zip(reading.starts, reading.ends, strict=True):
            if start < reached:
                continue
            found = _first_found(reading.text, start, end)
            if found:
                reached = tail_end(reading.text, found.end)
                headings[heading(reading.text[found.start : reached])] = None
                yield Span(found.start, reached, self.label, found.rule, found.reason)
        yield from self._mentioned(reading, [each for each in headings if each][:_MOST_HEADINGS])

    def _mentioned(self, reading: Reading, headings: list[str]) -> Iterator[Span]:
        """The beginning of an address that has no number, wherever it stands again."""
        if headings:
            again = re.compile("|".join(map(re.escape, sorted(headings, key=len, reverse=True))))
            for match in again.finditer(reading.text):
                reason = "the beginning of an address found elsewhere in the document"
                yield Span(match.start(), match.end(), self.label, "address-again", reason)


def _first_found(text: str, start: int, end: int) -> _Found | None:
    for rule in _rules_for(text, start, end):
        found = rule(text, start)
        if found:
            return found
    return None


def _rules_for(text: str, start: int, end: int) -> Iterator[_Rule]:
    """The rules that can hold, by a quick look at what stands around the number."""
    if _is_inside(text, start):
        yield _coded
        return
    before = text[max(0, start - _STREET_BEFORE) : start]
    word, length = _last_word(before), end - start
    small = word.casefold()
    goes_on = length <= _LONGEST_NUMBER and _goes_on(text[end : end + 1])
    if goes_on:
        yield _parts
    if small in _words(_UNITS):
        yield _box
    if goes_on and _may_name_street(text, end):
        yield _number_then_street
    if goes_on:
        yield _framed
    if length == _ZIP_LENGTH and small in _words(street.US_STATES):
        yield _town
    if length < _LONGEST_NUMBER and _may_end_street(before, word, small):
        yield _street_then_number
    if goes_on:
        yield _announced


def _is_inside(text: str, start: int) -> bool:
    """Whether the number is the end of a word, a price or the decimals of another number."""
    return start > 0 and (text[start - 1].isalpha() or text[start - 1] in "$€£.,")


def _goes_on(character: str) -> bool:
    """Whether the rest of an address can follow a house number with this character after it."""
    return character in _AFTER_NUMBER or character.isalpha()


def _number_then_street(text: str, start: int) -> _Found | None:
    match = _number_first().match(text, start)
    if not match:
        return None
    return _Found(_earlier(text, start), match.end(), "address-street", "a number before a street")


def _parts(text: str, start: int) -> _Found | None:
    place = unit_first(text, start)
    reason = "parts of an address after a house number"
    return _Found(*place, "address-parts", reason) if place else None


def _coded(text: str, start: int) -> _Found | None:
    place = before_code(text, start)
    reason = "parts of an address before a postcode"
    return _Found(*place, "address-parts", reason) if place else None


def _framed(text: str, start: int) -> _Found | None:
    match = _two_numbers().match(text, start)
    if not match:
        return None
    return _Found(start, match.end(), "address-street", "a name between two numbers, and a unit")


def _box(text: str, start: int) -> _Found | None:
    match = _box_before().search(text, max(0, start - _STREET_BEFORE), start)
    end = _word_end().match(text, start)
    if not match or not end:
        return None
    return _Found(match.start(), end.end(), "address-box", "a box or a unit")


def _town(text: str, start: int) -> _Found | None:
    match = _town_before().search(text, max(0, start - _STREET_BEFORE), start)
    code = _zip().match(text, start)
    if not match or not code:
        return None
    return _Found(match.start(), code.end(), "address-town", "a town, a state and a number")


def _street_then_number(text: str, start: int) -> _Found | None:
    house = _house().match(text, start)
    floor = max(0, start - _STREET_BEFORE)
    match = _street_before().search(text, floor, start) if house else None
    if not match or not house:
        return None
    first = _earlier(text, match.start())
    return _Found(first, house.end(), "address-street", "a street before a number")


def _may_name_street(text: str, end: int) -> bool:
    """Whether a word soon after a number is one that streets are told by."""
    words = letters(text).findall(text, end, end + _STREET_AFTER)
    return not _street_words().isdisjoint(map(str.casefold, words))


@cache
def _street_words() -> frozenset[str]:
    words = f"{street.SUFFIXES} {street.PLAIN_SUFFIXES} {street.FRENCH}"
    return frozenset(words.replace(".", "").casefold().split())


def _may_end_street(before: str, word: str, small: str) -> bool:
    """Whether the last word here ends like a street's name, or follows what begins one."""
    if small in _words(_ORDINARY) or not (small[:1].isalpha() or any(map(str.isalpha, small))):
        return False
    if small in _words(street.SUFFIXES) or small in ("n", "nr"):
        return True
    if small.endswith(_street_endings()):
        return True
    words = letters(before).findall(before)
    if word.islower():
        return not _words(street.SMALL_LEADING).isdisjoint(words)
    # The other forms end with a capital, after a word that begins a street's name.
    return not _street_beginnings().isdisjoint(words)


@cache
def _street_endings() -> tuple[str, ...]:
    return tuple({word.rstrip(".").casefold() for word in street.ENDINGS.split()})


@cache
def _street_beginnings() -> frozenset[str]:
    words = street.LEADING.replace(".", "").replace("/", "").split()
    return frozenset((*words, *["Am", "Im", "An", "Auf", "Unter", "In", "Zur", "Zum", "Hinter"]))


def _earlier(text: str, start: int) -> int:
    """Where an address begins when one more number stands before it."""
    before = _number_before().search(text, max(0, start - 8), start)
    return before.start() if before else start


def _announced(text: str, start: int) -> _Found | None:
    before = text[max(0, start - 40) : start].lower()
    cued = any(piece in before for piece in _PIECES) and _cue().search(
        text, max(0, start - 40), start
    )
    match = _line().match(text, start) if cued else None
    if not match:
        return None
    end = start + len(match[0].rstrip(".'-"))
    return _Found(start, end, "address-context", "looks like an address, in context")


def _last_word(before: str) -> str:
    return before.rstrip(" ,#.°º").rpartition(" ")[2].rpartition("\n")[2]


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


@cache
def _number_first() -> Expression:
    number = r"[0-9]{1,6}(?: ?[A-Za-z](?![\p{L}']))?(?:[\-/][0-9]{1,5}[A-Za-z]?)?,?"
    direction = r"(?:(?:[NSEW]{1,2}\.?|North|South|East|West) )?"
    suffix = rf"(?:{any_of(street.SUFFIXES)})(?![\p{{L}}])"
    english = rf"{direction}(?:{_NAME} ){{1,4}}?{suffix}(?: {suffix}){{0,2}}\.?"
    plain = rf"(?i:{any_of(street.PLAIN_SUFFIXES)})(?![\p{{L}}])"
    lower = (
        r"(?!(?:the|a|an|of|on|in|to|down|along|per|more|miles?|from|at|by|different|main) )"
        rf"\p{{L}}[\p{{L}}']*+ (?:(?!(?:the|a|of|on|in|to) )\p{{L}}++ )?{plain}"
    )
    main = rf"(?i:main|high|church|park|station) {plain}"
    french = (
        rf"(?:(?:bis|ter|quater),? )?(?i:{any_of(street.FRENCH)}) "
        r"(?:(?:de|du|des|la|le|les|l'|d'|aux?|et|saint|st|dr) ?){0,3}[\p{L}\p{M}'\-]++"
        r"(?: \p{Lu}[\p{L}\p{M}'\-]*+){0,4}"
    )
    return Expression(rf"{number} (?:{french}|{english}|{main}|{lower})")


@cache
def _street_before() -> Expression:
    capital = r"\p{Lu}[\p{L}\p{M}'.\-]*+"
    small = (
        r"(?:de|da|do|dos|del|della|dei|di|du|des|la|le|les|el|los|las|der|den|dem|van|von|i|e|y)"
    )
    compound = rf"(?:{capital} ){{0,2}}[\p{{L}}\p{{M}}\-]{{2,40}}?(?:{any_of(street.JOINED)})"
    split = rf"\p{{Lu}}[\p{{L}}\p{{M}}'\-]*+[ \-](?i:{any_of(street.ENDINGS)})"
    leading = (
        rf"(?:{any_of(street.LEADING)}) ?(?<=[ ./])(?:{small} ){{0,3}}{capital}"
        rf"(?: (?:{small} ){{0,2}}{capital}){{0,4}}"
    )
    german = rf"(?:Am|Im|An de[rnm]|Auf de[rm]|Unter den|In de[rn]|Zu[rm]|Hinter de[rm]) {capital}"
    uncapital = r"\p{Ll}[\p{L}\p{M}'\-]++"
    lower = (
        rf"(?:{any_of(street.SMALL_LEADING)}) ?(?<=[ /])(?:{small} ){{0,3}}{uncapital}"
        rf"(?: (?:{small} ){{0,2}}{uncapital}){{0,2}}"
    )
    named = rf"{_NAME} (?:{any_of(street.SUFFIXES)})"
    return Expression(
        rf"(?<![\p{{L}}\p{{N}}])(?:{compound}|{split}|{leading}|{german}|{named}|{lower})"
        r",?(?: [nN][°ºr.]{1,2}|,? ?#)? ?\Z"
    )


@cache
def _house() -> Expression:
    return Expression(
        r"(?!(?:1[89]|20)[0-9]{2}(?![0-9]))[0-9]{1,5}(?: ?[A-Za-z](?![\p{L}'\-]))?"
        r"(?: ?[\-/] ?[0-9]{1,4}[A-Za-z]?)?(?![0-9\p{L}%:]|[.,][0-9])"
    )


@cache
def _number_before() -> Expression:
    return Expression(r"(?<![\p{L}\p{N}.,\-])[0-9]{1,6} \Z")


@cache
def _two_numbers() -> Expression:
    name = r"[\p{Lu}\p{Lt}][\p{L}\p{M}'.\-]*+"
    return Expression(
        rf"[0-9]{{1,6}} (?:{name} ){{1,4}}[0-9]{{1,5}}\p{{L}}?\.?"
        r"(?=\s{1,3}[>?]{0,3}\s?(?:Apt|Suite|Unit|Flat)\b|\n[> ?]{0,4}\p{Lu})"
    )


@cache
def _box_before() -> Expression:
    return Expression(
        r"(?<![\p{L}\p{N}])(?i:p\.? ?o\.? ?box|post(?:al)? (?:office )?box|gpo box|postfach"
        r"|bo[iî]te postale|apartado(?: de correos)?|casella postale|postbus|apt|apartment"
        r"|suite|ste|flat|locked bag|psc|cmr|unit|(?:psc|cmr|unit) [0-9]{1,5},? box)"
        r"\.? ?(?:no\.? ?|#)?\Z"
    )


@cache
def _word_end() -> Expression:
    return Expression(r"[\p{L}\p{N}\-]{1,12}+")


@cache
def _town_before() -> Expression:
    town = rf"(?:{_NAME}[ \n]){{0,5}}{_NAME},?[ \n]{{1,2}}"
    return Expression(rf"(?<![\p{{L}}\p{{N}}])(?:{town})(?:{any_of(street.US_STATES)})\.?,? \Z")


@cache
def _zip() -> Expression:
    return Expression(r"[0-9]{5}(?:-[0-9]{4})?(?![0-9\p{L}])")


@cache
def _line() -> Expression:
    return Expression(
        r"(?!(?:1[89]|20)[0-9]{2}\b)[0-9]{1,6}\p{L}?"
        r"(?:[,/\- ]{1,2}(?!(?:and|as|at|before|but|by|for|if|in|is|it|on|or|please|thanks|that"
        r"|this|today|tomorrow|until|when|where|which|with)\b)"
        r"[\p{L}\p{N}#][\p{L}\p{M}\p{N}'.\-]{0,40}+){1,10}+"
    )


# What every phrase that announces an address has a piece of.
_PIECES = (
    *("addres", " at", " to", "adres", "direcc", "indiriz", "endere", "wohnh", "habite", "anschr"),
    *("domici", "r/o"),
)


@cache
def _cue() -> Expression:
    return cue(
        r"(?:shipping|home|billing|mailing|postal|street|delivery|my|your|new|old|his|her) address",
        r"address(?:: | is)|live[sd]? at|living at|resid(?:es?|ing) at|located at",
        r"(?:shipped|sent|send|deliver(?:ed)?|ship|return(?:ed)?|moved|goes|go|everything) to",
        r"(?:arrived|office is|house is|home is|shop is|store is|stop) at|address (?:with|to|of)",
        r"adresse|direcci[óo]n|indirizzo|adres|endere[çc]o|wohnhaft|habite|anschrift|domicilio|r/o",
    )
