"""Addresses of several parts between commas."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.address_parts import before_code, heading, unit_first


def test_parts_after_a_house_number_reach_to_the_code() -> None:
    text = "at Plot 12, Rose Layout, Agra - 603 855 now"
    place = unit_first(text, text.index("12"))
    assert place is not None
    assert text[slice(*place)] == "Plot 12, Rose Layout, Agra - 603 855"


@pytest.mark.parametrize("text", ["No. 12, a man", "12, Rose, Lily", "Plot 12, Rose, Lily.", "12"])
def test_without_a_code_or_a_street_there_is_no_address(text: str) -> None:
    assert unit_first(text, text.index("12")) is None


def test_parts_before_a_postcode_need_a_street() -> None:
    text = "The Mill, Oak Lane, Orme, TH9 6AB"
    assert before_code(text, text.index("9")) == (0, len(text))
    text = "The Barn, Orme, TH9 6AB"
    assert before_code(text, text.index("9")) is None


def test_only_an_address_without_a_number_has_a_heading() -> None:
    assert heading("The Mill, Oak Lane, Orme, TH9 6AB") == "The Mill, Oak Lane"
    assert heading("12 Oak Lane, Orme, TH9 6AB") == ""
    assert heading("The Mill, Oak Lane") == ""
