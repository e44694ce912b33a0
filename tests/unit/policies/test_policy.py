"""Many documents: each with its own spans, in order, read when needed and a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policies import policy as policies
from sfumato.policies.combine import Minus, Priority, Union
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.patterns import Digits, Regex
from sfumato.policies.policy import Batched, Policy, find_each, find_in
from sfumato.text.document import Document
from sfumato.text.span import Spans


@dataclass(frozen=True)
class InBatches:
    """The policy ``digits``, but only for several documents at once."""

    sizes: list[int] = field(default_factory=list)
    name: ClassVar[str] = "batches"

    def find(self, document: Document) -> Spans:
        raise AssertionError(f"{document!r} came alone")

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        self.sizes.append(len(documents))
        return [Digits().find(document) for document in documents]


def test_a_policy_that_can_gets_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "DOCUMENTS_AT_ONCE", 3)
    monkeypatch.setattr(policies, "CHARACTERS_AT_ONCE", 10)
    documents = [Document(text) for text in ("1", "2", "3", "4" * 10, "5", "6")]
    batched = InBatches()
    assert list(find_in(batched, iter(documents))) == list(find_in(Digits(), documents))
    assert batched.sizes == [3, 1, 2]
    assert list(find_in(batched, [])) == []


def test_documents_are_read_when_they_are_needed() -> None:
    read = []

    def reading() -> Iterator[Document]:
        for number in range(5):
            read.append(number)
            yield Document(f"{number}")

    next(find_in(Digits(), reading()))
    assert read == [0]


@pytest.mark.parametrize(
    "combined",
    [
        lambda inner: Union((inner, Regex("x"))),
        lambda inner: Priority((Regex("x"), inner)),
        lambda inner: Minus(Regex("."), inner),
        lambda inner: Minus(inner, Regex("7")),
        lambda inner: Imperfect(policy=inner, misses=0.5, seed=3),
    ],
)
def test_a_combination_hands_batches_on(combined: Callable[[Policy], Policy]) -> None:
    documents = [Document(text) for text in ("x 1", "", "77 x7 9", "x")]
    inner = InBatches()
    outer = combined(inner)
    assert isinstance(outer, Batched)
    assert outer.find_many(documents) == [combined(Digits()).find(one) for one in documents]
    assert inner.sizes == [4]


@given(st.lists(st.text("ab12 ", max_size=12), max_size=20))
def test_batches_change_nothing_that_is_found(given_texts: list[str]) -> None:
    documents = [Document(text) for text in given_texts]
    one_by_one = [Digits().find(document) for document in documents]
    assert find_each(InBatches(), documents) == find_each(Digits(), documents) == one_by_one
