"""Where names that the tagger finds begin and end, and words that are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policies.pii import Pii, borders
from sfumato.policies.pii.network import KINDS
from sfumato.policies.pii.tagger import spans_of
from sfumato.policies.pii.tokens import Tokens
from sfumato.text.document import Document

PERSON, LOCATION, ORG = range(len(KINDS))


def eager(text: str, kind: int = PERSON) -> list[str]:
    """The names when the network is sure that every single token belongs to one."""
    tokens = Tokens.of([text])
    margins = np.full((len(tokens), len(KINDS)), -9, dtype=np.float32)
    margins[:, kind] = 9
    found = spans_of(tokens, margins, np.zeros(len(KINDS), dtype=np.float32))[0]
    return [text[span.start : span.end] for span in found]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ann Hale. Tom Weber", ["Ann Hale", "Tom Weber"]),
        ("Ann Hale! Tom", ["Ann Hale", "Tom"]),
        ("Ann Hale\nTom Weber", ["Ann Hale", "Tom Weber"]),
        ("Ann\tTom\tKim", ["Ann", "Tom", "Kim"]),
        ("Ann  Tom", ["Ann", "Tom"]),
        ("Kim=Ann;Tom", ["Kim", "Ann", "Tom"]),
        ("Kim: Ann", ["Kim", "Ann"]),
        ('"Ann","Tom"', ["Ann", "Tom"]),
        ("„Ann“ «Tom»", ["Ann", "Tom"]),
        ("Ann (Tom)", ["Ann", "Tom"]),
        ("Ann, Tom", ["Ann", "Tom"]),
        ("Ann/Tom | Kim", ["Ann", "Tom", "Kim"]),
        ("Ann - Tom", ["Ann", "Tom"]),
        ("Anne-Marie O'Hara", ["Anne-Marie O'Hara"]),
        ("Ann and Tom met Kim", ["Ann", "Tom", "Kim"]),
        ("Ana y Luis", ["Ana", "Luis"]),
        ("Ortega y Gasset", ["Ortega y Gasset"]),
        ("Ann 42 Tom", ["Ann", "Tom"]),
        ("Ann's Tom", ["Ann", "Tom"]),
        ("J. R. R. Tolkien", ["J. R. R. Tolkien"]),
        ("Bill D. Hernandez", ["Bill D. Hernandez"]),
        ("Anna B. ", ["Anna B."]),
        ("St. John", ["St. John"]),
        ("Vincent van Gogh", ["Vincent van Gogh"]),
        ("Al Gore", ["Al Gore"]),
        ("Call Ann.", ["Ann"]),
        ("Mein Mann Ann.", ["Ann"]),
        ("Ann Fri. Tom", ["Ann", "Tom"]),
        ("Ann 5 mg Tom", ["Ann", "Tom"]),
    ],
)
def test_a_person_ends_where_no_name_goes_on(text: str, names: list[str]) -> None:
    assert eager(text) == names


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("Bank of America", ORG, ["Bank of America"]),
        ("Marks & Spencer", ORG, ["Marks & Spencer"]),
        ("Johnson and Johnson", ORG, ["Johnson and Johnson"]),
        ("Amazon. Siemens", ORG, ["Amazon", "Siemens"]),
        ("amazon.com", ORG, ["amazon.com"]),
        ("D.C.", LOCATION, ["D.C."]),
        ("St. Louis", LOCATION, ["St. Louis"]),
        ("der Hauptplatz", LOCATION, ["Hauptplatz"]),
        ("los angeles", LOCATION, ["los angeles"]),
        ("Paris, Texas", LOCATION, ["Paris", "Texas"]),
    ],
)
def test_other_kinds_have_their_own_borders(text: str, kind: int, names: list[str]) -> None:
    assert eager(text, kind) == names


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
@pytest.mark.parametrize(
    "text",
    [
        *("Fri.", "Tue", "Monday", "Freitag", "lunes", "mardi", "Sept.", "ETA", "PDF", "Pt.", "Hx"),
        *("120 mmHg", "72 bpm", "16 MP", "500 GB SSD", "10 V", "B", "D", "City: ", "name=", "."),
    ],
)
def test_days_units_abbreviations_and_fields_name_nothing(text: str, kind: int) -> None:
    assert eager(text, kind) == []


@given(st.text(alphabet="Ab vn.,:=\n\t'\"-&1", max_size=40), st.sampled_from([PERSON, ORG]))
def test_no_name_goes_over_a_bar_or_begins_or_ends_with_a_sign(text: str, kind: int) -> None:
    for name in eager(text, kind):
        assert not set(name) & set(',:=\n\t"')
        assert "  " not in name
        assert name[0].isalpha()
        assert name[-1].isalpha() or name.endswith(".")


def test_twin_that_knows_no_borders_goes_over_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borders, "closed", lambda near, *_: np.zeros_like(near.blank_before))
    assert eager("Ann Hale. Tom=Weber") == ["Ann Hale. Tom=Weber"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Anna\tBerlin\tSiemens", {"Anna", "Berlin", "Siemens"}),
        ("I spoke to Maria. Garcia was not there.", {"Maria", "Garcia"}),
        ("Name: Tom Weber; City: Berlin", {"Tom Weber", "Berlin"}),
        ("Mr. Smith's account", {"Mr. Smith"}),
        ("Delivery Tue or Wed, not Fri. ETA soon.", set[str]()),
        ("5 km, 10 kg, 3 GB RAM, 500 GB SSD, 16 MP", set[str]()),
    ],
)
def test_what_is_found_in_the_end(text: str, names: set[str]) -> None:
    assert {text[span.start : span.end] for span in Pii().find(Document(text))} == names


@pytest.mark.parametrize("text", ["odd", "status", "note", "priority", "agent", "plan"])
def test_a_word_in_small_letters_that_is_all_there_is_needs_to_be_surely_a_name(text: str) -> None:
    assert len(Pii().find(Document(text))) == 0
    assert [span.label for span in Pii().find(Document("sarah"))] == ["PERSON"]
