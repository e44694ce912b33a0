"""Numbers under which somebody pays taxes, persons and companies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.checked import Form, Row, Table
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading

_LABEL = "TAX_ID"
_TAX = r"tax(?:payer)?(?:'s)?[ -]?(?:id|identification|number|no|ref\w*)(?: (?:number|no))?|tin"
_STEUER = r"steuer-?(?:id|nr|nummer|identifikationsnummer|identnummer)\w*|id-?nr|st\.?-?nr|tin"
_ROWS = (
    Row("Germany", "de.idnr", "11 2-3-3-3", False, _STEUER),
    Row("Germany", "", "2-3-5 3-3-5 3-4-4 10 13", False, _STEUER),
    Row("the United Kingdom", "gb.utr", "10 5-5", False, r"utr|unique taxpayer\w*|" + _TAX),
    Row("France", "fr.nif", "13 2-2-3-3-3", False, r"num[ée]ro fiscal|n[°º] fiscal|fiscal|spi"),
    Row("France", "fr.siret", "14 3-3-3-5", False, r"siret"),
    Row("France", "fr.siren", "9 3-3-3", False, r"siren"),
    Row("Italy", "it.iva", "11", False, r"partita iva|p\.? ?iva|piva"),
    Row("Poland", "pl.nip", "10 3-3-2-2 3-2-2-3", False, r"nip"),
    Row("Portugal", "pt.nif", "9 3-3-3", False, r"nif|contribuinte"),
    Row("Brazil", "br.cnpj", "2-3-3-4-2 14", True, r"cnpj"),
    Row("the United States", "us.ein", "2-7 9", False,
        r"ein|fein|employer id\w*|federal id\w*|" + _TAX),
    Row("the United States", "us.itin", "3-2-4 9", False, r"itin|" + _TAX),
)  # fmt: skip
_FORMS = (
    Form("India", "in_.pan", r"[a-z]{5}[0-9]{4}[a-z]", True, r"pan(?: card)?|" + _TAX),
    Form("India", "in_.gstin", r"[0-9]{2}[a-z]{5}[0-9]{4}[a-z][0-9a-z]z[0-9a-z]", True, r"gst\w*"),
    Form("Spain", "es.cif", r"[abcdefghjnpqrsuvw][ \-]?[0-9]{7}[ \-]?[0-9a-j]", True, r"cif|nif"),
    Form("the European Union", "eu.vat",
         r"(?-i:AT ?U|BE ?[01]|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO"
         r"|SE|SI|SK)"
         r" ?[0-9a-z]{1,3}[ .]?[0-9]{2,3}[ .]?[0-9]{2,4}(?:[ .]?[0-9a-z]{1,4})?",
         True, r"vat(?: (?:id|no|number|reg\w*))?|ust-?id\w*(?:-?nr\.?)?|tva|iva|uid|btw"),
    Form("the United Kingdom", "gb.vat", r"(?-i:GB) ?[0-9]{3} ?[0-9]{4} ?[0-9]{2}", True, r"vat"),
)  # fmt: skip


@dataclass(frozen=True)
class TaxId:
    """A number of a tax office."""

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
