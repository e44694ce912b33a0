"""The policy ``pii``: all recognizers of personal data and a trained tagger together.

Rules find what has a structure, and names that words around announce or a list holds. The tagger
(``tagger``) finds names of people, places and organizations by how they read. What either finds
counts; a setting says how readily the tagger calls something a name.

All documents are read together (``reading.Page``): each recognizer says first in which of them it
can find anything, and reads only those.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Protocol

from sfumato.core.checks import one_of
from sfumato.policies.identity import Identity
from sfumato.policies.pii.found import Found
from sfumato.text.document import Document
from sfumato.text.language import guess_language
from sfumato.text.span import Spans

if TYPE_CHECKING:
    from sfumato.policies.pii.reading import Page, Reading


class Recognizer(Protocol):
    """Finds one kind of personal data.

    Every span names its rule and gives a reason; neither may hold any of the text.
    """

    @property
    def label(self) -> str:
        """The label of all its spans."""
        ...

    def where(self, page: Page) -> Iterable[int]:
        """The numbers of the documents in which anything can be found, by a quick look at all."""
        ...

    def find(self, reading: Reading) -> Iterator[Found]:
        """The stretches of this kind, in any order; they may overlap."""
        ...


# The regions of the world by their ISO 3166 codes, so that a mistyped one is refused early. The
# list is that of phonenumbers; a test compares the two. Building a policy must not load it.
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
    "email": "email:Email",
    "url": "url:Url",
    "api_key": "secrets:ApiKey",
    "crypto": "crypto:Crypto",
    "national_id": "national_id:NationalId",
    "tax_id": "tax_id:TaxId",
    "iban": "iban:Iban",
    "card": "card:Card",
    "ssn": "ssn:Ssn",
    "ip": "ip:Ip",
    "coordinates": "coordinates:Coordinates",
    "medical_record": "cued_numbers:MedicalRecord",
    "passport": "cued_numbers:Passport",
    "bank_account": "cued_numbers:BankAccount",
    "cvv": "cued_numbers:Cvv",
    "card_expiry": "cued_numbers:CardExpiry",
    "license_plate": "plates:LicensePlate",
    "age": "age:Age",
    "dates": "dates:Dates",
    "address": "address:Address",
    "postcode": "postcode:Postcode",
    "phone": "phone:Phone",
    "code": "code:Code",
    "person": "person:Person",
}
_TAGGED = {"person": "PERSON", "location": "LOCATION", "org": "ORG"}
TYPES = tuple(dict.fromkeys((*_RECOGNIZERS, *_TAGGED)))
RECALLS = ("low", "balanced", "high")
_SETTLING = "PHONE"  # most of what kinds after it find is found by it already
_MONSIEUR = "M. "
_ENOUGH_TO_TELL = 4_000  # characters, of which the language is that of the text
_REGIONAL = ("phone", "postcode")
_ON_A_PAGE = 500_000  # characters of documents that are read together, unless one has more


def found_labels() -> frozenset[str]:
    """The labels of all that can be found."""
    ruled = (one.label for one in _recognizers(TYPES, DEFAULT))
    return frozenset((*ruled, *_TAGGED.values()))


@dataclass(frozen=True)
class Pii:
    """Personal data by pattern, context, a list of common names and a small trained tagger.

    ``types`` says what is looked for (email, url, api_key, crypto, national_id, tax_id, iban, card,
    ssn, ip, coordinates, medical_record, passport, bank_account, cvv, card_expiry, license_plate,
    age, dates, address, postcode, phone, code, person, location, org; all of them unless told).
    ``regions`` says whose telephone numbers and postcodes are known: US, CA, GB, IE, AU, NZ, IN,
    ZA, DE, AT, CH, FR, BE, NL, LU, ES, PT, IT, SE, NO, DK, FI, IS, EE, LV, LT, PL, CZ, SK, HU, SI,
    HR, RO, BG, GR, CY, BR, MX and JP unless told. International numbers are found whatever the
    regions. ``recall`` says how readily a word is taken for a name of a person, place or
    organization: "high" misses fewer and takes more words without need, "low" the other way round.

    >>> [span.label for span in Pii().find(Document("Mail zoe@example.org or call 020 7946 0958"))]
    ['EMAIL', 'PHONE']
    """

    regions: tuple[str, ...] = DEFAULT
    types: tuple[str, ...] = TYPES
    recall: str = "balanced"

    argument: ClassVar[str] = "types"

    def __post_init__(self) -> None:
        for region in self.regions:
            one_of("regions", region, list_regions())
        for kind in self.types:
            one_of("types", kind, TYPES)
        one_of("recall", self.recall, RECALLS)

    @property
    def name(self) -> str:
        """The word pii, with the settings that were chosen: other things are found then."""
        chosen = [", ".join(self.types)] if self.types != TYPES else []
        if self.regions != DEFAULT:
            chosen.append("regions " + ", ".join(self.regions))
        if self.recall != "balanced" and self._tagged:
            chosen.append(f"recall {self.recall}")
        return f"pii({'; '.join(chosen)})" if chosen else "pii"

    def find(self, document: Document) -> Spans:
        """What any recognizer or the tagger finds; a span inside another one is left out."""
        return self.find_many([document])[0]

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """The same for several documents, which the tagger reads faster together."""
        found: list[Spans] = []
        with _collector_paused():
            for texts in _pages([document.text for document in documents]):
                found += self._read(texts)
        return found

    def _read(self, texts: list[str]) -> list[Spans]:
        """What is found in the texts of a page."""
        from sfumato.policies.pii.gathering import Gathered  # these load numpy
        from sfumato.policies.pii.reading import Page

        gathered = Gathered(len(texts))
        with closing(Page(texts)) as page:
            # One kind after the other: a recognizer reads a text faster right after another one.
            for rank, recognizer in enumerate(_recognizers(self.types, self.regions)):
                for number in recognizer.where(page):
                    gathered.add(number, rank, recognizer.find(page.readings[number]))
                if recognizer.label == _SETTLING:
                    page.settled = gathered.places_of(rank)
            for number, spans in enumerate(self._tag(page)):
                if spans:
                    gathered.add(number, len(TYPES), spans)
            return [
                _without_monsieur(text, spans)
                for text, spans in zip(page.texts, gathered.outermost(), strict=True)
            ]

    def identity(self) -> Identity:
        """What is looked for, for whose numbers, how readily, and by which weights."""
        parts = ("pii", self.types, self.regions)
        if not self._tagged:
            return Identity(parts)
        from sfumato.policies.pii.network import weights_version

        return Identity((*parts, self.recall, weights_version()))

    @property
    def _tagged(self) -> frozenset[str]:
        """The labels that the tagger is asked for."""
        return frozenset(label for kind, label in _TAGGED.items() if kind in self.types)

    def _tag(self, page: Page) -> list[list[Found]]:
        wanted = self._tagged
        if not wanted:
            return [[] for _ in page.texts]
        from sfumato.policies.pii.tagger import tag

        found = tag(page.texts, self.recall, page.tokens)
        if len(wanted) == len(_TAGGED):
            return found
        return [[span for span in spans if span.label in wanted] for spans in found]


def _pages(texts: list[str]) -> Iterator[list[str]]:
    """Texts that are read together: many, so that little is done anew, and bounded in memory."""
    page: list[str] = []
    characters = 0
    for text in texts:
        if page and characters + len(text) > _ON_A_PAGE:
            yield page
            page, characters = [], 0
        page.append(text)
        characters += len(text)
    yield page


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep Python from looking for cycles while very many small objects are made and dropped.

    What is made here is freed without that, for a page is closed. It takes a fifth of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _without_monsieur(text: str, spans: Spans) -> Spans:
    """Names begin after a French "M.", which is a title there and an initial everywhere else."""
    if _MONSIEUR not in text:
        return spans
    titled = [span.label == "PERSON" and text.startswith(_MONSIEUR, span.start) for span in spans]
    if not any(titled) or guess_language(text[:_ENOUGH_TO_TELL].replace(",", "").split()) != "fr":
        return spans
    return Spans(
        tuple(
            replace(span, start=span.start + len(_MONSIEUR)) if found else span
            for span, found in zip(spans, titled, strict=True)
        )
    )


@cache
def _recognizers(types: tuple[str, ...], regions: tuple[str, ...]) -> tuple[Recognizer, ...]:
    return tuple(_recognizer(kind, regions) for kind in _RECOGNIZERS if kind in types)


def _recognizer(kind: str, regions: tuple[str, ...]) -> Recognizer:
    module, _, name = _RECOGNIZERS[kind].partition(":")
    recognizer = getattr(import_module(f"sfumato.policies.pii.{module}"), name)
    made: Recognizer = recognizer(regions) if kind in _REGIONAL else recognizer()
    return made
