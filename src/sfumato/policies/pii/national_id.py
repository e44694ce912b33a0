"""Numbers that a state gives to a person: of European countries, the United Kingdom, India, Brazil.

Those of the United States have a recognizer of their own (``ssn``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.checked import Form, Row, Table
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading

_LABEL = "NATIONAL_ID"
_ID = r"national id\w*|identity (?:card|number|no)|id (?:card|number|no)|identification"
_ROWS = (
    Row("France", "fr.nir", "15 1-2-2-2-3-3-2 13-2", True,
        r"nir|n[°º] ?(?:de )?s[ée]cu\w*|s[ée]cu(?:rit[ée] sociale)?|num[ée]ro de s[ée]cu\w*|insee"),
    Row("Poland", "pl.pesel", "11", True, r"pesel\w*"),
    Row("Romania", "ro.cnp", "13", True, r"cnp|cod numeric personal"),
    Row("the Netherlands", "nl.bsn", "9 4-2-3 3-3-3 8", False,
        r"bsn|burgerservicenummer|sofi\w*"),
    Row("Belgium", "be.nn", "11 2-2-2-3-2 6-3-2", True,
        r"rijksregister\w*|insz|niss|num[ée]ro national|registre national"),
    Row("Sweden", "se.personnummer", "6-4 8-4 10 12", True,
        r"personnummer|personal number|pnr"),
    Row("Czechia", "cz.rc", "6-4 6-3 10", True, r"rodn[ée] [čc][íi]slo|r\.?[čc]\.?"),
    Row("Greece", "gr.amka", "11", True, r"amka|αμκα"),
    Row("Portugal", "pt.nif", "9 3-3-3", False, r"n[úu]mero de (?:cidad[ãa]o|identifica\w*)"),
    Row("the United Kingdom", "gb.nhs", "10 3-3-4", False, r"nhs(?: (?:number|no|nr|num)\.?)?"),
    Row("India", "in_.aadhaar", "12 4-4-4", False, rf"aadh?aa?r\w*|uid(?:ai)?|{_ID}"),
    Row("Brazil", "br.cpf", "3-3-3-2 11 9-2", False, r"cpf"),
    Row("Germany", "", "11 2-10", False, r"sozialversicherungs\w*|rv-?nummer|svnr"),
    Row("Austria", "at.vnr", "10 4-6", False, r"svnr|sozialversicherungs\w*|versicherungsnummer"),
    Row("Denmark", "dk.cpr", "6-4 10", False, r"cpr(?:-?(?:nummer|nr))?"),
    Row("Switzerland", "ch.ssn", "3-4-4-2 13", True, r"ahv\w*|avs|n[°º] avs"),
)  # fmt: skip
_FORMS = (
    Form("Italy", "it.codicefiscale",
         r"[a-z]{6}[0-9lmnp-v]{2}[a-z][0-9lmnp-v]{2}[a-z][0-9lmnp-v]{3}[a-z]",
         True, r"codice fiscale|c\.?f\.?|cod\.? ?fisc\w*"),
    Form("Spain", "es.dni", r"[0-9]{8}[ \-]?[a-z]", True, r"dni|nif|documento(?: nacional)?"),
    Form("Spain", "es.dni", r"[0-9]{2}\.[0-9]{3}\.[0-9]{3}[ \-]?[a-z]", True, r"dni|nif"),
    Form("Spain", "es.nie", r"[xyz][ \-]?[0-9]{7}[ \-]?[a-z]", True, r"nie|extranjero"),
    Form("the United Kingdom", "",
         r"(?!bg|gb|nk|kn|tn|nt|zz)[abceghj-prstw-z][abceghj-nprstw-z]"
         r" ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[a-d]",
         True, r"nino|national insurance|ni (?:number|no)"),
    Form("the United Kingdom", "", r"[a-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[a-d]?",
         False, r"nino|national insurance|ni (?:number|no)"),
    Form("Germany", "", r"[0-9]{2} ?[0-9]{6} ?[a-z] ?[0-9]{3}", True,
         r"sozialversicherungs\w*|rv-?nummer|svnr|rentenversicherungs\w*|sv-?nummer"),
    Form("France", "fr.nir",
         r"[12] ?[0-9]{2} ?[0-9]{2} ?2[ab] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
         True, r"nir|s[ée]cu\w*"),
    Form("Finland", "fi.hetu", r"[0-9]{6}[\-+a][0-9]{3}[0-9a-y]", True, r"henkilötunnus|hetu"),
    Form("Germany", "", r"[cfghjklmnprtvwxyz0-9]{9}[0-9]?d?", False,
         r"(?:personal)?ausweis(?:nummer|nr|-?nr\.?)?|perso(?:nummer)?"),
)  # fmt: skip


@dataclass(frozen=True)
class NationalId:
    """A number by which a state knows a person."""

    label: ClassVar[str] = _LABEL

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return _table().where(page)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Numbers that pass their country's check, and announced ones."""
        return _table().find(reading)


@cache
def _table() -> Table:
    return Table(_LABEL, _ROWS, _FORMS)
