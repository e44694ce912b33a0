"""Numbers that only the words before them tell: of passports, patients, accounts and cards' backs.

The words are English, German, Spanish and French. What stands between them and the number may be
"number", "is", a colon and the like, and no other number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.card import passes_luhn
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.openings import words_of
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import Flags

_LOOK_BACK = 64
_LONGEST_LEAD = 8  # letters and signs before the first digit
_MARK = (
    r"(?:numbers?|num|no|nr|n[°ºo]|nummer|n[úu]mero|num[ée]ro|id|code|#|card|book|holder"
    r"|de (?:la )?(?:tarjeta|carte|cuenta|compte|pasaporte))"
)
_BETWEEN = (
    rf"(?:[ \t\-]?[(\[]?{_MARK}(?!\p{{L}})[.:]?){{0,2}}[\"')]?"
    r"(?:[ \t]?(?:is|was|ist|lautet|es|est|war|hei(?:ß|ss)t|from|for|of|on (?:the )?(?:card"
    r"|file)|f[üu]r"
    r"|with|ends?|the|der|die|das|le|la|el|mein\p{L}?|my|it'?s|still|again|on|back|=>"
    r"|[:=#\-,(\"'|]))"
    r"{0,4}[ \t:#=\"'(]{0,4}"
)
# The words with which what announces a number goes on, and those that may stand between.
_PASSED_WORDS = """
m r n med medical rec record recs records id nr nummer clínica clinica médical patient insurance
plan card member policy d adhérent adherent médico medico case file licence license de conduire
conducir bancaria corriente bancaire courant code verification* security seguridad visuel
sécurité sécurite securité securite digits date on in dt thru through until till to bis en el
caducidad vencimiento hasta expiration expire le fin jusqu au à
number numbers num no n o número numero numéro book holder la tarjeta carte cuenta compte
pasaporte is was ist lautet es est war heißt heisst from for of the für fur with end ends
der die das mein* my it s its still again back c account acct acc a good valid* exp*
"""
_GLUED_WORDS = """
is was ist lautet es est war heißt heisst from for of on the card file für fur with end ends der die
das le la el mein meine my it its s still again back in to en au
"""  # two of these may be written as one
_GLUED = (one + other for one in _GLUED_WORDS.split() for other in _GLUED_WORDS.split())
_PASSED = frozenset((*_PASSED_WORDS.split(), *_GLUED))


@dataclass(frozen=True)
class _Kind:
    """What announces a number and how the number looks."""

    words: str
    shape: str
    name: str

    def may_announce(self, page: Page) -> Flags:
        """The numbers that one of the words seems to stand before."""
        words, reach = words_of(self.words), _LOOK_BACK + _LONGEST_LEAD
        return page.told_over(words, _PASSED, reach)

    def find(self, reading: Reading, label: str) -> Iterator[Found]:
        """Numbers right after the words."""
        text, reached = reading.text, 0
        for run in reading.chosen(self.may_announce):
            start = reading.starts[run]
            if start < reached:
                continue
            for begin in dict.fromkeys((_word_begin(text, start), start)):
                match = _shape(self.shape).match(text, begin) if begin >= reached else None
                if match and _cue(self.words).search(reading.before(begin, _LOOK_BACK)):
                    reached = match.end()
                    reason = "follows words that announce such a number"
                    yield Found(begin, reached, label, self.name, reason)
                    break


@dataclass(frozen=True)
class MedicalRecord:
    """The number of a patient, a case or a health insurance."""

    label: ClassVar[str] = "MEDICAL_RECORD"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_MEDICAL.may_announce)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Two to fifteen letters and digits after their cue."""
        return _MEDICAL.find(reading, self.label)


@dataclass(frozen=True)
class Passport:
    """The number of a passport or another paper to travel or drive with."""

    label: ClassVar[str] = "PASSPORT"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_PASSPORT.may_announce)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Six to twelve letters and digits after their cue."""
        return _PASSPORT.find(reading, self.label)


@dataclass(frozen=True)
class BankAccount:
    """The number of an account or a bank, where it is no international one."""

    label: ClassVar[str] = "BANK_ACCOUNT"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_BANK.may_announce)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Groups of digits after their cue."""
        return _BANK.find(reading, self.label)


@dataclass(frozen=True)
class Cvv:
    """The three or four digits on the back of a card."""

    label: ClassVar[str] = "CVV"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return sorted({*page.choose(_CVV.may_announce), *page.choose(_may_follow_card)})

    def find(self, reading: Reading) -> Iterator[Found]:
        """After their cue, or after the number of a card and its date."""
        yield from _CVV.find(reading, self.label)
        for _, end in card_ends(reading):
            match = _three_digits().match(reading.text, end)
            if match:
                reason = "follows the number of a card and its date"
                yield Found(*match.span("digits"), self.label, "cvv-card", reason)


@dataclass(frozen=True)
class CardExpiry:
    """The month and year until which a card is valid."""

    label: ClassVar[str] = "DATE_TIME"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a month and a year after their cue or after another number."""
        return sorted({*page.choose(_EXPIRY.may_announce), *page.choose(_may_follow_card)})

    def find(self, reading: Reading) -> Iterator[Found]:
        """After their cue, or right after the number of a card."""
        yield from _EXPIRY.find(reading, self.label)
        if reading.chosen(_may_follow_card):
            for match in _after_card().finditer(reading.text):
                reason = "follows the number of a card"
                yield Found(*match.span("expiry"), self.label, "card-expiry", reason)


_MEDICAL = _Kind(
    r"mrn|m\.r\.n\.?|med(?:ical)?\.? ?rec(?:ord)?s?|patient(?:en)?(?:-?(?:id|nr|nummer))?|chart"
    r"|hospital"
    r"|fall(?:nummer|-?nr)|aufnahme(?:nummer|-?nr)|historia(?: cl[íi]nica)?|nhc"
    r"|dossier(?: (?:m[ée]dical|patient))?"
    r"|ipp|(?:kranken)?versicher(?:ten|ungs)-?(?:nummer|nr)|kvnr|health (?:insurance|plan"
    r"|card)(?: (?:id|member))?"
    r"|(?<!national )insurance(?: (?:id|member|policy))?|member|mutuelle|n[°º] d'adh[ée]rent"
    r"|seguro m[ée]dico|afiliad[oa]"
    r"|medical (?:case|file)|hn",
    r"[A-Z]{0,4}[\-/ ]?[0-9]{2,}[0-9A-Z]{0,12}(?:[\-/ ](?=[A-Z]{0,3}[0-9])[0-9A-Z]{1,8}){0,3}",
    "medical-record",
)
_PASSPORT = _Kind(
    r"passports?|pass|reisep(?:ass|\.)|(?:reise)?pass-?(?:nummer|nr)|pasaporte|passeport"
    r"|driv(?:er'?s?|ing) licen[cs]e|dl|licen[cs]e|f(?:ü|ue)hrerschein(?:nummer|-?nr)?"
    r"|permis de conduire|permiso de conducir|carnet de conducir|visa",
    r"(?=(?:[A-Z]*[0-9]){2})[A-Z]{0,3} ?[0-9][A-Z0-9]{4,11}"
    r"(?:[ \-](?=[A-Z]{0,3}[0-9])[A-Z0-9]{2,5}){0,3}",
    "passport",
)
_BANK = _Kind(
    r"(?:bank |checking |savings |current |giro)?acc(?:oun)?t|acct|a/c|konto(?:nummer|-?nr)?"
    r"|ktonr|kto(?:\.?-?nr)?"
    r"|cuenta(?: (?:bancaria|corriente))?|compte(?: (?:bancaire|courant))?|sort ?code|routing"
    r"|aba|blz|bankleitzahl"
    r"|rib|ccc",
    r"[0-9]{2,18}(?:[ \-./][0-9]{1,12}){0,4}",
    "bank-account",
)
_CVV = _Kind(
    r"cv[vc]2?|csc|cid|card verification\p{L}*|(?:card )?security code|pr(?:ü|ue)f(?:nummer"
    r"|ziffer|code|zahl)"
    r"|sicherheitscode|c[óo]digo de seguridad|cryptogramme(?: visuel)?|code de s[ée]curit[ée]"
    r"|(?:3|three) digits",
    r"[0-9]{3,4}",
    "cvv",
)
_MONTH = r"(?:0?[1-9]|1[0-2]) ?[/\-] ?(?:20)?[2-4][0-9](?![/\-])"
_EXPIRY = _Kind(
    r"exp(?:iry|iration|ires|iring|ire|\.)?(?: (?:date|on|in|dt))?|valid(?:ity)?"
    r"(?: (?:thru|through|until|till|to))?|(?:good )?thru|g(?:ü|ue)ltig(?: bis)?|ablauf(?:datum)?"
    r"|verfall(?:sdatum)?|caduca(?: en| el)?|(?:fecha de )?caducidad|vence(?: en| el)?"
    r"|(?:fecha de )?vencimiento|v[áa]lida? hasta|(?:date d')?expir(?:ation|e)(?: (?:le|en|fin))?"
    r"|valable jusqu'(?:en|au|à)",
    _MONTH,
    "card-expiry",
)


def _may_follow_card(page: Page) -> Flags:
    """One or two digits near the number before them, and a sign and two or four digits after."""
    runs = page.runs
    following = runs.following(runs.lengths)
    dated = runs.joins(" /-", 3) & ((following == 2) | (following == 4))
    held: Flags = (runs.lengths <= 2) & (runs.gaps_before <= 3) & dated
    return held


_NO_PREFIXES = ("id", "nr", "no")


def _word_begin(text: str, start: int) -> int:
    """Where letters begin that stand right before a number, over one blank or hyphen at most."""
    begin = start
    while begin and start - begin < 6 and text[begin - 1].isalpha():
        begin -= 1
    if begin == start and start > 2 and text[start - 1] in "- /" and text[start - 2].isupper():
        begin = start - 1
        while begin and start - begin < 5 and text[begin - 1].isupper():
            begin -= 1
        if begin and text[begin - 1].isalpha():
            return start
    return start if text[begin:start].strip("- /").lower() in _NO_PREFIXES else begin


def card_ends(reading: Reading) -> list[tuple[int, int]]:
    """Where the date stands that follows a number with the check digit of a card."""
    found: list[tuple[int, int]] = []
    if reading.number not in reading.page.choose(_may_follow_card):
        return found
    for match in _after_card().finditer(reading.text):
        start, end = match.span("expiry")
        digits = "".join(filter(str.isdigit, reading.text[match.start() : start]))
        if passes_luhn(digits):
            found.append((start, end))
    return found


@cache
def _three_digits() -> Expression:
    return Expression(r"[ ,;|/]{1,3}(?P<digits>[0-9]{3,4})(?![\p{L}\p{N}]|[.,:\-/][0-9])")


@cache
def _after_card() -> Expression:
    return Expression(
        rf"(?<![0-9])[0-9]{{4}}(?:[ \-]?[0-9]{{2,6}}){{2,3}}[0-9]{{0,3}}[ ,;|/]{{1,3}}"
        rf"(?P<expiry>{_MONTH})(?![0-9])"
    )


@cache
def _shape(pattern: str) -> Expression:
    return Expression(
        rf"(?<![\p{{L}}\p{{N}}])(?<![0-9][.,])(?:(?i:{pattern}))(?![\p{{L}}\p{{N}}]|[.,:][0-9]|%)"
    )


@cache
def _cue(words: str) -> Expression:
    return Expression(rf"(?i)(?<![\p{{L}}])(?:{words})(?!\p{{L}})[.]?{_BETWEEN}\Z")
