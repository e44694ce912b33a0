"""The policy ``pii``: all recognizers of personal data together.

What every recognizer can do.

The regions of the world by their ISO 3166 codes, so that a mistyped one is refused early.

The list is that of phonenumbers; a test compares the two. It stands here because building a
policy must not load that library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import ClassVar, Protocol

from sfumato.core.checks import one_of
from sfumato.policies.identity import Identity
from sfumato.policies.pii.reading import Reading
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans


class Recognizer(Protocol):
    """Finds one kind of personal data.

    Every span names its rule and gives a reason; neither may hold any of the text.
    """

    @property
    def label(self) -> str:
        """The label of all its spans."""
        ...

    def find(self, reading: Reading) -> Iterator[Span]:
        """The stretches of this kind, in any order; they may overlap."""
        ...


_KNOWN = """
AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR
BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC
EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK
HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB
LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY
MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO RS
RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL
TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
"""

# Where English is read most, the European Union and its neighbours, and a few large others.
DEFAULT = (
    *("US", "CA", "GB", "IE", "AU", "NZ", "IN", "ZA"),
    *("DE", "AT", "CH", "FR", "BE", "NL", "LU", "ES", "PT", "IT"),
    *("SE", "NO", "DK", "FI", "IS", "EE", "LV", "LT"),
    *("PL", "CZ", "SK", "HU", "SI", "HR", "RO", "BG", "GR", "CY"),
    *("BR", "MX", "JP"),
)


@cache
def list_regions() -> frozenset[str]:
    """Every region that has telephone numbers."""
    return frozenset(_KNOWN.split())


# Where two kinds claim the same stretch, the one that stands first here names it.
_RECOGNIZERS = {
    "email": "Email",
    "url": "Url",
    "iban": "Iban",
    "card": "Card",
    "ssn": "Ssn",
    "ip": "Ip",
    "dates": "Dates",
    "address": "Address",
    "postcode": "Postcode",
    "phone": "Phone",
    "code": "Code",
    "person": "Person",
}
TYPES = tuple(_RECOGNIZERS)
_REGIONAL = ("phone", "postcode")


@dataclass(frozen=True)
class Pii:
    """Personal data by pattern, context and a list of common names; no model.

    ``types`` says which recognizers look (email, url, iban, card, ssn, ip, dates, address,
    postcode, phone, code, person; all of them unless told). ``regions`` says whose telephone
    numbers and postcodes are known: US, CA, GB, IE, AU, NZ, IN, ZA, DE, AT, CH, FR, BE, NL, LU,
    ES, PT, IT, SE, NO, DK, FI, IS, EE, LV, LT, PL, CZ, SK, HU, SI, HR, RO, BG, GR, CY, BR, MX
    and JP unless told. International numbers are found whatever the regions.

    >>> [span.label for span in Pii().find(Document("Mail zoe@example.org or call 020 7946 0958"))]
    ['EMAIL', 'PHONE']
    """

    regions: tuple[str, ...] = DEFAULT
    types: tuple[str, ...] = TYPES

    argument: ClassVar[str] = "types"

    def __post_init__(self) -> None:
        for region in self.regions:
            one_of("regions", region, list_regions())
        for kind in self.types:
            one_of("types", kind, TYPES)

    @property
    def name(self) -> str:
        """The word pii, with the types and regions where they were chosen: less is found then."""
        chosen = [", ".join(self.types)] if self.types != TYPES else []
        if self.regions != DEFAULT:
            chosen.append("regions " + ", ".join(self.regions))
        return f"pii({'; '.join(chosen)})" if chosen else "pii"

    def find(self, document: Document) -> Spans:
        """What any recognizer finds; a span inside another one is left out."""
        reading = Reading.of(document.text)
        return _outermost(
            (span, rank)
            for rank, recognizer in enumerate(_recognizers(self.types, self.regions))
            for span in recognizer.find(reading)
        )

    def identity(self) -> Identity:
        """Which recognizers look, and for whose numbers."""
        return Identity(("pii", self.types, self.regions))


def _outermost(ranked: Iterable[tuple[Span, int]]) -> Spans:
    """Drop spans that lie inside another; of equal ones keep the first kind's.

    No character that was covered is uncovered by this.
    """
    kept: list[Span] = []
    reached = 0
    for span, _ in sorted(ranked, key=lambda each: (each[0].start, -each[0].end, _rank(*each))):
        if span.end > reached:
            kept.append(span)
            reached = span.end
    return Spans(tuple(kept))


def _rank(span: Span, kind: int) -> tuple[bool, int]:
    # "555-0142" has the shape of a Japanese postcode; by its shape alone it is rather a telephone.
    return span.rule == "postcode", kind


@cache
def _recognizers(types: tuple[str, ...], regions: tuple[str, ...]) -> tuple[Recognizer, ...]:
    return tuple(_recognizer(kind, regions) for kind in TYPES if kind in types)


def _recognizer(kind: str, regions: tuple[str, ...]) -> Recognizer:
    module = import_module(f"sfumato.policies.pii.{kind}")
    recognizer = getattr(module, _RECOGNIZERS[kind])
    made: Recognizer = recognizer(regions) if kind in _REGIONAL else recognizer()
    return made
