"""Numbers as they are written: read, and written again in the same form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.texts import texts
from sfumato.mechanisms.written_numbers import MOST_DIGITS, NumberForm, read_number

# Written, written again, and what stands there for 1234567 units of the last decimal.
OTHERWISE = {
    "81 mg": ("81 mg", "1234567 mg"),
    "81": ("81", "1234567"),
    "$1,234.50": ("$1234.50", "$12345.67"),
    "1.234,50 €": ("1234,50 €", "12345,67 €"),
    "12 000": ("12000", "1234567"),
    "12\u202f000 km": ("12000 km", "1234567 km"),
    "1'234": ("1234", "1234567"),
    "3.5 %": ("3.5 %", "123456.7 %"),
    "3,5 %": ("3,5 %", "123456,7 %"),
    ".5": ("0.5", "123456.7"),
    "007": ("7", "1234567"),
    "0.000001": ("0.000001", "1.234567"),
    "٨١": ("٨١", "١٢٣٤٥٦٧"),
    "８１ mg": ("８１ mg", "１２３４５６７ mg"),
    "about 20 percent": ("about 20 percent", "about 1234567 percent"),
    "$3 million": ("$3 million", "$1234567 million"),
    "3 mg/dl": ("3 mg/dl", "1234567 mg/dl"),
    "5 m²": ("5 m²", "1234567 m²"),
    "~40": ("~40", "~1234567"),
    "1 year old": ("1 year old", "1234567 years old"),
    "20 years old": ("20 years old", "1234567 years old"),
}


@pytest.mark.parametrize("text", OTHERWISE)
def test_a_number_is_written_again_in_its_form(text: str) -> None:
    found = read_number(text)
    assert found is not None
    assert (found.form.spell(found.ticks), found.form.spell(1_234_567)) == OTHERWISE[text]


@pytest.mark.parametrize(
    "text",
    ["", "twenty", "1e5", "10-12 mg", "120/80", "1,2,3", "12,345,67", "1  2", "½", "²", "1٨",
     "81 Baker Street", "Ada 81", "81\nmg", "81  mg", "3rd", "0." + "1" * 13, "9" * 1001, "1 2 3",
     "555-0142", "(5)", "5\u200b", "1.234.567", "1234,567", "1st"],
)  # fmt: skip
def test_what_is_not_one_number_is_not_read(text: str) -> None:
    assert read_number(text) is None


def test_the_language_or_a_setting_says_what_stands_before_decimals() -> None:
    def ticks(text: str, language: str = "", mark: str = "") -> tuple[int, int]:
        found = read_number(text, language, mark)
        assert found is not None
        return found.ticks, found.form.decimals

    assert ticks("1,234") == ticks("1,234", "en") == ticks("1.234", "de") == (1234, 0)
    assert ticks("1.234") == ticks("1,234", "fr") == ticks("1,234", "en", ",") == (1234, 3)
    assert ticks("1,23") == (123, 2)  # only one reading makes sense
    assert read_number("1,23", mark=".") is None


def test_the_sign_is_no_part_of_the_form() -> None:
    plus, minus, other = (read_number(text) for text in ("+5 °C", "-5 °C", "\u22125 °C"))
    assert plus is not None
    assert minus is not None
    assert minus == other
    assert plus.form == minus.form
    assert (plus.ticks, minus.ticks) == (5, -5)
    assert minus.form.spell(-7) == "-7 °C"
    money = read_number("-$5")
    assert money is not None
    assert (money.ticks, money.form.spell(-7)) == (-5, "-$7")


def test_there_is_no_negative_zero() -> None:
    for text in ("-0", "\u22120", "-0"):
        found = read_number(text)
        assert found is not None
        assert (found.ticks, found.form.spell(found.ticks)) == (0, "0")


def test_a_number_of_400_digits_is_beyond_all_others() -> None:
    found = read_number("9" * 400)
    assert found is not None
    assert found.ticks == 10**MOST_DIGITS
    assert found.form == NumberForm("", "")


@given(
    st.integers(-(10**14), 10**14),
    st.integers(0, 12),
    st.sampled_from(["", " mg", "%"]),
)
def test_every_number_comes_back(ticks: int, decimals: int, after: str) -> None:
    form = NumberForm("", after, decimals, "." if decimals else "")
    text = form.spell(ticks)
    found = read_number(text, mark=".")
    assert found is not None
    assert found.ticks == ticks
    assert found.form.spell(ticks) == text


@given(texts, st.sampled_from(["", "en", "de", "xx"]))
def test_every_text_is_read_or_not(text: str, language: str) -> None:
    found = read_number(text, language)
    if found is not None:
        found.form.spell(found.ticks)
