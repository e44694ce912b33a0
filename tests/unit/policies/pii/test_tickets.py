"""What forms, letters and notes call things stays, and names, numbers and streets are typed."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.detector import Pii
from sfumato.text.document import Document

TICKETS = [
    ("Tel. privat 06221 55 12 90. RR 150/95.", {("06221 55 12 90", "PHONE")}),
    ("Estimada Dra. Quiroga: con HTA", {("Dra. Quiroga", "PERSON")}),
    ("Notfallkontakt: Ehemann Rolf", {("Rolf", "PERSON")}),
    ("My SSN is 229-54-8812.", {("229-54-8812", "US_SSN")}),
    ("double charge of 1.250.000 VND", set()),
    ("Von: Heiko Brandt <h@web.de>", {("Heiko Brandt", "PERSON"), ("h@web.de", "EMAIL")}),
    ("Tel. 612 345 678", {("612 345 678", "PHONE")}),
    ("DNI 12345678Z", {("12345678Z", "NATIONAL_ID")}),
    ("a nombre de Ana Torres. Importe: 10 €", {("Ana Torres", "PERSON")}),
    ("Der Techniker Jonas war da", {("Jonas", "PERSON")}),
    ("thx, sarah", {("sarah", "PERSON")}),
    ("me llamo lucía y vivo aquí", {("lucía", "PERSON")}),
    ("llamen a Paco o a Marisol al trabajo", {("Paco", "PERSON"), ("Marisol", "PERSON")}),
    (
        "JANE DOE CALLED ABOUT THE ORDER. JANE IS ANGRY.",
        {("JANE DOE", "PERSON"), ("JANE", "PERSON")},
    ),
    ("Meine Bestellung 4711-0815 fehlt", {("4711-0815", "CODE")}),
    (
        "mit Frau Becker telefoniert, Kundennummer 8812345.",
        {("Frau Becker", "PERSON"), ("8812345", "CODE")},
    ),
    ("Mi pedido 99-8812 no ha llegado", {("99-8812", "CODE")}),
    ("Telefonnummer: 030 1234567", {("030 1234567", "PHONE")}),
    (
        "wohne in der lindenallee 7, 12043 berlin. danke",
        {("lindenallee 7, 12043 berlin", "ADDRESS")},
    ),
    (
        "vivo en la calle mayor 15, 3ºB, 28013 madrid.",
        {("calle mayor 15, 3ºB, 28013 madrid", "ADDRESS")},
    ),
    (
        "to 22 Elm Street, Springfield, IL 62704 instead.",
        {("22 Elm Street, Springfield, IL 62704", "ADDRESS")},
    ),
    (
        "Madame Dubois a parlé avec M. Laurent Petit pour le contrat",
        {("Madame Dubois", "PERSON"), ("Laurent Petit", "PERSON")},
    ),
    ("I spoke with M. Laurent Petit about the order", {("M. Laurent Petit", "PERSON")}),
    ("Rechnung an Müller & Söhne OHG senden", {("Müller & Söhne OHG", "ORG")}),
    (
        "de Construcciones Hermanos Vega S.L. está mal",
        {("Construcciones Hermanos Vega S.L.", "ORG")},
    ),
]


@pytest.mark.parametrize(("text", "found"), TICKETS)
def test_what_is_found_in_a_ticket(text: str, found: set[tuple[str, str]]) -> None:
    spans = Pii().find(Document(text))
    assert {(text[span.start : span.end], span.label) for span in spans} == found


@pytest.mark.parametrize(
    "digits", ["4711-0815", "99-8812", "8812345", "123-45-6789", "12/34567", "1636-4735-6614"]
)
@pytest.mark.parametrize("cue", ["order ", "Order no. ", "Kundennummer ", "pedido ", "ref: "])
def test_no_digit_of_an_announced_number_stays(cue: str, digits: str) -> None:
    text = f"Call about {cue}{digits} today"
    covered = {
        place for span in Pii().find(Document(text)) for place in range(span.start, span.end)
    }
    assert {place for place, sign in enumerate(text) if sign.isdigit()} <= covered
