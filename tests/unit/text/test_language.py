"""The light guess of a language: right where it answers, and no answer where it cannot tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.text.language import LANGUAGES, guess_language
from sfumato.text.words import Words

TEXTS = {
    "en": "I was told that the parcel is on its way, but it has not arrived. Please call me.",
    "de": "Ich habe mein Paket nicht erhalten und bin sehr verärgert, bitte rufen Sie mich an.",
    "es": "No he recibido el paquete y es la segunda vez. Por favor, llámenme a mi número.",
    "fr": "Je n’ai pas reçu le colis et je ne suis pas content. Merci de m’appeler, il est tard.",
    "it": "Non ho ricevuto il pacco e sono molto arrabbiato, per favore chiamate il mio numero.",
    "pt": "Não recebi a encomenda e estou muito zangado, por favor liguem para o meu número.",
    "nl": "Ik heb het pakket niet ontvangen en ik ben boos, bel mij op mijn nummer.",
    "pl": "Nie otrzymałem paczki i jestem zły, proszę zadzwonić na mój numer.",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_ticket_in_each_language_is_told(language: str) -> None:
    assert guess_language(Words.of(TEXTS[language])) == language
    assert guess_language(Words.of(TEXTS[language].upper())) == language


@pytest.mark.parametrize("text", ["", "Ada Lovelace", "no", "12 / 77", "🙂", "おはようございます"])
def test_too_little_is_no_answer(text: str) -> None:
    assert guess_language(Words.of(text)) == ""


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert guess_language(Words.of(text)) in {"", *LANGUAGES}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Mein Mann (67) nimmt 100 mg Metoprolol täglich. Unsere Adresse:", "de"),
        ("IBAN:, Kontoinhaber , Betrag 1.249,90 €", "de"),
        ("Cuenta a nombre de. Importe: 1.500,00 €", "es"),
        ("Paciente varón de años, ingresado el. Glucemia 142 mg/dl.", "es"),
        ("Mon père, 78 ans, prend 20 mg de simvastatine.", "fr"),
        ("IBAN, titulaire :. Montant : 249,90 €", "fr"),
        ("née le à, Mme", "fr"),
        ("So busy to tweet! As it was, I am in", "en"),
    ],
)
def test_a_line_of_a_form_is_told(text: str, language: str) -> None:
    assert guess_language(Words.of(text)) == language
