"""Patterns of a user's own: what they may cost, and what is said when they cost more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import regex

from sfumato.core.errors import InvalidArgument, TookTooLong
from sfumato.policies.combine import Minus, Priority, Union
from sfumato.policies.patterns import Digits, Regex
from sfumato.policies.policy import Policy
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.vectors.space import Space

SECRET = "Zyxquorthane"
# Each further letter makes it 1.6 times slower.
SLOW = Regex("(?:x|xx)+[0-9]", seconds=0.01)
DOCUMENT = Document(f"{SECRET} {'x' * 30} 7", place="line 12")


def test_a_pattern_that_hardly_ends_is_an_error_that_names_the_line() -> None:
    with pytest.raises(TookTooLong, match="on the document at line 12; simplify it") as caught:
        SLOW.find(DOCUMENT)
    assert SECRET not in str(caught.value)
    assert "x|xx" not in str(caught.value)


def test_the_check_of_the_limit_notices_a_pattern_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unlimited:
        def finditer(self, text: str, timeout: float) -> Any:  # noqa: ARG002
            return regex.compile(SLOW.pattern).finditer(text)

    monkeypatch.setitem(SLOW.__dict__, "_compiled", Unlimited())
    assert len(SLOW.find(DOCUMENT)) == 0


@pytest.mark.parametrize(
    ("combined", "named"),
    [
        (lambda: Union((Digits(), SLOW, Regex("a"))), "policy 2 of 3: the"),
        (lambda: Priority((SLOW, Digits())), "policy 1 of 2: the"),
        (lambda: Minus(Digits(), SLOW), "what is excepted: the"),
        (lambda: Minus(SLOW, Digits()), "the regular expression"),
        (lambda: Union((Digits(), Union((Digits(), SLOW)))), "policy 2 of 2: policy 2 of 2: the"),
    ],
)
def test_of_several_policies_the_slow_one_is_named(
    combined: Callable[[], Policy], named: str
) -> None:
    with pytest.raises(TookTooLong) as caught:
        combined().find(DOCUMENT)
    assert str(caught.value).startswith(named)
    assert "line 12" in str(caught.value)


def test_of_several_levels_and_of_items_in_memory_too(small_space: Space) -> None:
    levelled = Privatizer(levels=[(9, Digits()), (2, SLOW)], vectors=small_space)
    with pytest.raises(TookTooLong, match=r"the level 2: .* at item 1"):
        levelled.privatize(["Room 7", DOCUMENT.text])


def test_more_time_is_given_on_request_and_is_no_other_policy() -> None:
    patient = Regex(SLOW.pattern, seconds=3600)
    assert len(patient.find(DOCUMENT)) == 0
    assert patient == SLOW
    for seconds in (0, -1, float("nan")):
        with pytest.raises(InvalidArgument, match="seconds"):
            Regex("a", seconds=seconds)
