"""What stands at a number makes it a part of an address: the rules, one after the other."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from sfumato.policies.pii import street
from sfumato.policies.pii.address_parts import before_code, unit_first
from sfumato.policies.pii.expressions import Expression, letters
from sfumato.policies.pii.reading import cue
from sfumato.policies.pii.street import any_of

_NAME = r"(?:\p{Lu}[\p{L}\p{M}'.\-]*+|[0-9]{1,3}(?:st|nd|rd|th))"
STREET_BEFORE = 60
ANNOUNCED_BEFORE = 40
UNITS = """
box psc cmr postfach postale correos apartado postbus apt apartment suite ste flat bag no unit
"""
_ORDINARY = """
a about after and around as at before between by during early for from has have in january
february march april may june july august september october november december is late least
mid nearly of on only or over since some than that the then through to under until was were
with
"""
CUES = (
    r"(?:shipping|home|billing|mailing|postal|street|delivery|my|your|new|old|his|her) address",
    r"address(?:: | is)|live[sd]? at|living at|resid(?:es?|ing) at|located at",
    r"(?:shipped|sent|send|deliver(?:ed)?|ship|return(?:ed)?|moved|goes|go|everything) to",
    r"(?:arrived|office is|house is|home is|shop is|store is|stop) at|address (?:with|to|of)",
    r"adresse|direcci[óo]n|indirizzo|adres|endere[çc]o|wohnhaft|habite|anschrift|domicilio|r/o",
)


class Place(NamedTuple):
    """Where an address stands, by which rule and why."""

    start: int
    end: int
    rule: str
    reason: str


def match_number_then_street(text: str, start: int) -> Place | None:
    """A house number before its street."""
    match = number_first().match(text, start)
    if not match:
        return None
    return Place(_earlier(text, start), match.end(), "address-street", "a number before a street")


def match_parts(text: str, start: int) -> Place | None:
    """A house, plot or flat and the parts after it."""
    place = unit_first(text, start)
    reason = "parts of an address after a house number"
    return Place(*place, "address-parts", reason) if place else None


def match_coded(text: str, start: int) -> Place | None:
    """Parts before a postcode."""
    place = before_code(text, start)
    reason = "parts of an address before a postcode"
    return Place(*place, "address-parts", reason) if place else None


def match_framed(text: str, start: int) -> Place | None:
    """A street without a word for streets, between two numbers."""
    match = two_numbers().match(text, start)
    if not match:
        return None
    return Place(start, match.end(), "address-street", "a name between two numbers, and a unit")


def match_box(text: str, start: int) -> Place | None:
    """The number of a box or a unit."""
    if _last_word(text[max(0, start - STREET_BEFORE) : start]).casefold() not in _words(UNITS):
        return None
    match = box_before().search(text, max(0, start - STREET_BEFORE), start)
    end = _word_end().match(text, start)
    if not match or not end:
        return None
    return Place(match.start(), end.end(), "address-box", "a box or a unit")


def match_town(text: str, start: int) -> Place | None:
    """An American town, its state and its code."""
    state = _last_word(text[max(0, start - STREET_BEFORE) : start]).casefold()
    if state not in _words(street.US_STATES):
        return None
    match = town_before().search(text, max(0, start - STREET_BEFORE), start)
    code = zip_code().match(text, start)
    if not match or not code:
        return None
    return Place(match.start(), code.end(), "address-town", "a town, a state and a number")


def match_street_then_number(text: str, start: int) -> Place | None:
    """A street's name before its number."""
    if not _may_end_street(text[max(0, start - STREET_BEFORE) : start]):
        return None
    house = house_number().match(text, start)
    floor = max(0, start - STREET_BEFORE)
    match = street_before().search(text, floor, start) if house else None
    if not match or not house:
        return None
    first = _earlier(text, match.start())
    return Place(first, house.end(), "address-street", "a street before a number")


def _may_end_street(before: str) -> bool:
    """Whether the last word here ends like a street's name, or follows what begins one."""
    word = _last_word(before)
    small = word.casefold()
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
    return not street_beginnings().isdisjoint(words)


@cache
def _street_endings() -> tuple[str, ...]:
    return tuple({word.rstrip(".").casefold() for word in street.ENDINGS.split()})


@cache
def street_beginnings() -> frozenset[str]:
    """Words with which a street's name begins."""
    words = street.LEADING.replace(".", "").replace("/", "").split()
    return frozenset((*words, *["Am", "Im", "An", "Auf", "Unter", "In", "Zur", "Zum", "Hinter"]))


def _earlier(text: str, start: int) -> int:
    """Where an address begins when one more number stands before it."""
    before = _number_before().search(text, max(0, start - 8), start)
    return before.start() if before else start


def match_announced(text: str, start: int) -> Place | None:
    """What looks like an address after words that announce one."""
    cued = _cue().search(text, max(0, start - ANNOUNCED_BEFORE), start)
    match = address_line().match(text, start) if cued else None
    if not match:
        return None
    end = start + len(match[0].rstrip(".'-"))
    return Place(start, end, "address-context", "looks like an address, in context")


def _last_word(before: str) -> str:
    return before.rstrip(" ,#.°º").rpartition(" ")[2].rpartition("\n")[2]


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


@cache
def number_first() -> Expression:
    """A house number before its street."""
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
def street_before() -> Expression:
    """A street's name, before its number."""
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
def house_number() -> Expression:
    """The number after a street."""
    return Expression(
        r"(?!(?:1[89]|20)[0-9]{2}(?![0-9]))[0-9]{1,5}(?: ?[A-Za-z](?![\p{L}'\-]))?"
        r"(?: ?[\-/] ?[0-9]{1,4}[A-Za-z]?)?(?![0-9\p{L}%:]|[.,][0-9])"
    )


@cache
def _number_before() -> Expression:
    return Expression(r"(?<![\p{L}\p{N}.,\-])[0-9]{1,6} \Z")


@cache
def two_numbers() -> Expression:
    """A street's name between two numbers."""
    name = r"[\p{Lu}\p{Lt}][\p{L}\p{M}'.\-]*+"
    return Expression(
        rf"[0-9]{{1,6}} (?:{name} ){{1,4}}[0-9]{{1,5}}\p{{L}}?\.?"
        r"(?=\s{1,3}[>?]{0,3}\s?(?:Apt|Suite|Unit|Flat)\b|\n[> ?]{0,4}\p{Lu})"
    )


@cache
def box_before() -> Expression:
    """The word for a box or a unit, before its number."""
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
def town_before() -> Expression:
    """A town and its state, before their code."""
    town = rf"(?:{_NAME}[ \n]){{0,5}}{_NAME},?[ \n]{{1,2}}"
    return Expression(rf"(?<![\p{{L}}\p{{N}}])(?:{town})(?:{any_of(street.US_STATES)})\.?,? \Z")


@cache
def zip_code() -> Expression:
    """The code after an American state."""
    return Expression(r"[0-9]{5}(?:-[0-9]{4})?(?![0-9\p{L}])")


@cache
def address_line() -> Expression:
    """What looks like an address, from its number on."""
    return Expression(
        r"(?!(?:1[89]|20)[0-9]{2}\b)[0-9]{1,6}\p{L}?"
        r"(?:[,/\- ]{1,2}(?!(?:and|as|at|before|but|by|for|if|in|is|it|on|or|please|thanks|that"
        r"|this|today|tomorrow|until|when|where|which|with)\b)"
        r"[\p{L}\p{N}#][\p{L}\p{M}\p{N}'.\-]{0,40}+){1,10}+"
    )


@cache
def _cue() -> Expression:
    return cue(*CUES)


@cache
def street_words() -> frozenset[str]:
    """Words that streets are told by when they follow a number."""
    words = f"{street.SUFFIXES} {street.PLAIN_SUFFIXES} {street.FRENCH}"
    return frozenset(words.replace(".", "").casefold().split())
