"""Numbers that only the words before them tell."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.cued_numbers import (
    BankAccount,
    CardExpiry,
    Cvv,
    MedicalRecord,
    Passport,
)
from sfumato.policies.pii.detector import Pii, Recognizer
from sfumato.policies.pii.reading import Reading
from sfumato.text.document import Document


def found(recognizer: Recognizer, text: str) -> list[str]:
    return [text[span.start : span.end] for span in recognizer.find(Reading.of(text))]


@pytest.mark.parametrize(
    ("recognizer", "text", "expected"),
    [
        (MedicalRecord(), "MRN 0058213, chest pain", "0058213"),
        (MedicalRecord(), "medical record AB-771203: discharged", "AB-771203"),
        (MedicalRecord(), "Patient ID: 9920417 DOB", "9920417"),
        (MedicalRecord(), "insurance member id XWA 4410298", "XWA 4410298"),
        (MedicalRecord(), "Fallnummer 2024/118837", "2024/118837"),
        (MedicalRecord(), "Patienten-ID 55-20917", "55-20917"),
        (MedicalRecord(), "historia clínica HC-20931", "HC-20931"),
        (MedicalRecord(), "IPP 80041922", "80041922"),
        (Passport(), "my passport (no. 533081942)", "533081942"),
        (Passport(), "passport number is C01X00T47.", "C01X00T47"),
        (Passport(), "Reisepass-Nr. C4VPF8R1K", "C4VPF8R1K"),
        (Passport(), "pasaporte PAB441902", "PAB441902"),
        (Passport(), "mon passeport est le 12AB34567", "12AB34567"),
        (Passport(), "Driver's license D4410928 was rejected", "D4410928"),
        (BankAccount(), "acct no 71940288", "71940288"),
        (BankAccount(), "sort code 20-17-44,", "20-17-44"),
        (BankAccount(), "Kontonummer 5320130944", "5320130944"),
        (BankAccount(), "BLZ 37040044", "37040044"),
        (BankAccount(), "número de cuenta 0049 1500 05 1234567892", "0049 1500 05 1234567892"),
        (BankAccount(), "compte bancaire n° 00418829301", "00418829301"),
        (Cvv(), "cvv 318", "318"),
        (Cvv(), "the security code is 9921.", "9921"),
        (Cvv(), "Prüfnummer: 455", "455"),
        (Cvv(), "cryptogramme 663", "663"),
        (Cvv(), '"cvv":"207"', "207"),
        (CardExpiry(), "4111 1111 1111 1111 exp 04/27 cvv 123", "04/27"),
        (CardExpiry(), "expires 12/2026", "12/2026"),
        (CardExpiry(), "Exp. date: 4/27", "4/27"),
        (CardExpiry(), "valid thru 11-25.", "11-25"),
        (CardExpiry(), "Kreditkarte gültig bis 09/28", "09/28"),
        (CardExpiry(), "tarjeta, caduca en 09/28", "09/28"),
        (CardExpiry(), "carte, expire fin 03/29", "03/29"),
        (CardExpiry(), "4111 1111 1111 1111, 04/27", "04/27"),
        (CardExpiry(), "4111111111111111|04/27", "04/27"),
    ],
)
def test_announced_numbers_are_found(recognizer: Recognizer, text: str, expected: str) -> None:
    assert found(recognizer, text) == [expected]


@pytest.mark.parametrize(
    ("recognizer", "text"),
    [
        (MedicalRecord(), "the patient waited. 45 minutes"),
        (MedicalRecord(), "0058213"),
        (Passport(), "passed 20000 people"),
        (Passport(), "533081942"),
        (BankAccount(), "on account of 3.5 %"),
        (BankAccount(), "according to 12 people"),
        (Cvv(), "cvv 12345"),
        (Cvv(), "security code. Call 911"),
        (CardExpiry(), "valid until 3/4 of it is sold"),
        (CardExpiry(), "expires 13/27 or 04/27/2019"),
        (CardExpiry(), "04/27"),
    ],
)
def test_other_numbers_are_left_alone(recognizer: Recognizer, text: str) -> None:
    assert found(recognizer, text) == []


@pytest.mark.parametrize("text", ["4111111111111111 04/27 123", "4111 1111 1111 1111, 04/27, 123."])
def test_a_card_with_its_date_and_the_digits_behind_it(text: str) -> None:
    found = Pii(types=("card", "card_expiry", "cvv", "phone")).find(Document(text))
    labels = [(text[span.start : span.end], span.label) for span in found]
    assert labels[1:] == [("04/27", "DATE_TIME"), ("123", "CVV")]
    assert labels[0][1] == "CREDIT_CARD"


def test_digits_after_a_number_without_the_check_of_cards_are_no_code_of_one() -> None:
    text = "4111111111111112 04/27 123"
    assert [span.label for span in Pii(types=("cvv",)).find(Document(text))] == []
