"""What follows a street."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.street import tail_end


@pytest.mark.parametrize(
    "tail",
    [
        *(
            " Apt 4",
            ", No. 47",
            " #12",
            ", bât. C",
            "\nSuite 5",
            ", Floor 2",
            " Unit 3B",
            ", 3o B, 28013 Madrid",
        ),
        *(
            ", near the tank",
            ", Orme",
            "\nOrme",
            ", 69003 Lyon",
            " Orme, TH9 6AB",
            "\n> Orme\n> 12345",
        ),
        *(", Quarry Lake, MN 55845", "\nQuarry Lake\nMN 55845", " Apt 4 Velm", ", Agra - 603 855"),
    ],
)
def test_units_towns_and_codes_belong_to_the_address(tail: str) -> None:
    text = f"5 Elm Road{tail}"
    assert tail_end(text, len("5 Elm Road")) == len(text)


@pytest.mark.parametrize(
    "rest", [" tomorrow", ". Thanks", "\nSYS: Thanks", ", please", "\nWe are here"]
)
def test_the_sentence_after_it_does_not(rest: str) -> None:
    assert tail_end(f"5 Elm Road{rest}", len("5 Elm Road")) == len("5 Elm Road")
