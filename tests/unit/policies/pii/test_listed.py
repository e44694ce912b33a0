"""Names by a list, without any cue."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.capitals import chains
from sfumato.policies.pii.listed import is_thing, names_in


def found(text: str) -> list[str]:
    return [
        text[chain.words[first].start : chain.end_of(last)]
        for chain in chains(text, frozenset())
        for first, last in names_in(chain.words)
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Why is Deborah so late?", "Deborah"),
        ("we saw Deborah Qemali there", "Deborah Qemali"),
        ("we saw Harriet S. Entwistle there", "Harriet S. Entwistle"),
        ("we saw Anneke van der Meer there", "Anneke van der Meer"),
        ("we saw Eduardo C. de la Cruz there", "Eduardo C. de la Cruz"),
        ("we saw DEBORAH QEMALI there", "DEBORAH QEMALI"),
        ("Élodie left", "Élodie"),
        ("Jean-Marc left", "Jean-Marc"),
        ("we saw Mark Gutierrez there", "Mark Gutierrez"),
        ("we saw Paris Gutierrez there", "Paris Gutierrez"),
        ("we saw Xanthi Gutierrez there", "Xanthi Gutierrez"),
        ("we saw J. K. Gutierrez there", "J. K. Gutierrez"),
        ("we saw Xanthi R. Qemali there", "Xanthi R. Qemali"),
        ("Deborah's brother", "Deborah"),
    ],
)
def test_names_are_found_whole(text: str, name: str) -> None:
    assert found(text) == [name]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Mark my words",
            "Will you?",
            "May came",
            "Rose petals",
            "Hope so",
            "Grant it",
            "Bill me",
        ),
        *(
            "in Paris",
            "to Washington",
            "from Austin",
            "in Charlotte",
            "Sydney is big",
            "in Georgia",
        ),
        *("in April", "on Sunday", "Fort Wayne", "Lake Charles", "San Antonio", "St. Louis"),
        *("Deborah Street", "Howard University", "Alright Then", "Although Good", "The IDA met"),
        *("Hepatitis C. The end", "U. S. Navy", "New York", "Operation Claret", "deborah"),
    ],
)
def test_words_places_and_months_are_no_names(text: str) -> None:
    assert found(text) == []


def test_things_are_told_from_names() -> None:
    assert is_thing("university")
    assert is_thing("australia")
    assert not is_thing("deborah")
