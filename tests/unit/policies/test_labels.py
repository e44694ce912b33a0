"""Types of a table must mean something: a misspelt one is refused, one's own is not."""

from __future__ import annotations

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.mechanisms.redact import Redact
from sfumato.policies.combine import Minus, Union
from sfumato.policies.labels import check_types, labels_of
from sfumato.policies.parsing import combine_policies
from sfumato.policies.patterns import Digits, Regex
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans


class Own:
    """A policy of somebody's own that does not say what it finds."""

    name = "own"

    def find(self, document: Document) -> Spans:  # noqa: ARG002
        return Spans.of([Span(0, 3, "SHIP")])


class Declared(Own):
    labels = ("PERSN",)


TICKETS = Regex("[A-Z]+-[0-9]+", label="TICKET")


@pytest.mark.parametrize("policy", ["pii", "regex:x", "digits", "everything"])
@pytest.mark.parametrize("label", ["PERSN", "EMIAL", "SHIP", ""])
def test_a_type_that_nothing_is_found_as_is_refused(policy: str, label: str) -> None:
    with pytest.raises(InvalidArgument, match="type"):
        Privatizer(policy=policy, by_type={label: "redact"}).guarantee()


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(InvalidArgument, match="did you mean 'PERSON'"):
        Privatizer(by_type={"PERSN": "redact"}).guarantee()


def test_labels_that_the_policy_gives_can_be_used() -> None:
    for policy in (TICKETS, Union((TICKETS, Digits())), Minus(TICKETS, Digits())):
        (after,) = Privatizer(policy=policy, by_type={"TICKET": "redact"}).privatize(["See AB-12"])
        assert after.startswith("See [TICKET]")
    check_types(["MATCH", "NUMBER"], combine_policies(["regex:x", "digits"]))
    (after,) = Privatizer(policy=Own(), by_type={"SHIP": Redact()}).privatize(["Ada sails"])
    assert after == "[SHIP] sails"


def test_a_policy_that_says_nothing_takes_any_label_but_a_slip_and_can_force_that_too() -> None:
    assert labels_of(Own()) is None
    assert labels_of(Union((Own(), Digits()))) is None
    with pytest.raises(InvalidArgument, match="labels"):
        check_types(["PERSN"], Own())
    check_types(["PERSN"], Declared())
