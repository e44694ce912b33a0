"""Stretches of documents, and the order in which they take turns."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.errors import BadInput
from sfumato.models.bpe import default_tokenizer
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.training.methods.stretch_records import (
    StretchRecords,
    all_steps,
    epoch,
    steps_per_epoch,
    stretch_records,
    turns_of,
)

TEXTS = ["Code 42 is mine", "Nothing here", "Ring 12345 or else 678 now", "", "Room 9"]


def cut(texts: list[str], policy: str = "digits") -> StretchRecords:
    documents = [Document(text) for text in texts]
    return stretch_records(documents, combine_policies([policy], [], {}), default_tokenizer())


def stretches(records: StretchRecords, document: int) -> list[tuple[list[int], list[int]]]:
    """The tokens that are read in the public and in the private stretch of every turn."""
    found = []
    for number in range(records.turns[document]):
        turn = records.turn(document, number)
        found.append(
            (
                records.tokens[slice(*turn.public)].tolist(),
                records.tokens[slice(*turn.private)].tolist(),
            )
        )
    return found


def decoded(tokens: list[int]) -> str:
    return str(default_tokenizer().backend.decode(tokens))


@given(st.lists(st.booleans(), max_size=30))
@settings(max_examples=200, deadline=None)
def test_turns_cover_every_place_once_and_mark_it_right(bits: list[bool]) -> None:
    turns = turns_of(np.array(bits, dtype=np.bool_), start=5)
    marks = [
        private
        for turn in turns
        for private, (begin, end) in ((False, turn.public), (True, turn.private))
        for _ in range(begin, end)
    ]
    assert marks == [one or other for one, other in pairwise(bits)]
    if turns:
        assert turns[0].begin == 5
        assert turns[-1].end == 5 + len(bits) - 1
    for before, after in pairwise(turns):
        assert before.end == after.begin
        assert before.middle < before.end
        assert after.begin < after.middle


def test_no_token_crosses_a_boundary() -> None:
    records = cut(TEXTS)
    (public, private), (rest, none) = stretches(records, 0)
    # The last public token before a secret predicts it, so its place is private.
    assert public[0] == default_tokenizer().begin
    assert decoded([*public[1:], private[0]]) == "Code"
    assert decoded(private[1:]) == " 42"
    assert decoded(rest) == " is mine"
    assert none == []
    assert records.private.tolist() == [1, 0, 2, 1]
    assert records.without_text == 1


@pytest.mark.parametrize("secret", ["7", "999999999999", "1 2 3 4 5 6 7"])
def test_a_longer_secret_moves_nothing_of_anybody_else(secret: str) -> None:
    changed = [text.replace("12345", secret) for text in TEXTS]
    before, after = cut(TEXTS), cut(changed)
    assert after.turns.tolist() == before.turns.tolist()
    assert after.private.tolist() == before.private.tolist()
    for document in (0, 1, 3):
        assert stretches(after, document) == stretches(before, document)
    mine, other = stretches(before, 2), stretches(after, 2)
    # Of the document itself only what is read in that one private stretch.
    assert [public for public, _ in mine] == [public for public, _ in other]
    assert mine[1:] == other[1:]
    assert mine[0] != other[0]
    # And who takes a turn when is the same.
    for one, another in zip(
        all_steps(before.turns, 2, 2, 9), all_steps(after.turns, 2, 2, 9), strict=True
    ):
        assert one.documents.tolist() == another.documents.tolist()
        assert one.numbers.tolist() == another.numbers.tolist()


def test_rows_cut_from_one_stream_would_move() -> None:
    """A twin that lays documents end to end and cuts rows of equal length fails the check."""
    rows = []
    for secret in ("12345", "999999999999"):
        tokens = cut([text.replace("12345", secret) for text in TEXTS]).tokens
        rows.append([tokens[start : start + 8].tolist() for start in range(0, len(tokens), 8)])
    assert rows[0][-1] != rows[1][-1]


def test_nothing_private_is_refused() -> None:
    with pytest.raises(BadInput, match="finds nothing"):
        cut(["plain", "words"])


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=25),
    st.integers(1, 8),
    st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_every_turn_once_in_order_and_never_two_of_a_document_in_a_step(
    counts: list[int], size: int, seed: int
) -> None:
    turns = np.array(counts, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(turns))
    taken: dict[int, list[int]] = defaultdict(list)
    steps = list(epoch(turns, size, order))
    assert len(steps) == steps_per_epoch(turns, size) == max(*counts, -(-sum(counts) // size))
    for documents, numbers in steps:
        assert len(documents) <= size
        assert len(set(documents.tolist())) == len(documents)
        for document, number in zip(documents.tolist(), numbers.tolist(), strict=True):
            taken[document].append(number)
    assert taken == {document: list(range(count)) for document, count in enumerate(counts)}


def test_steps_go_on_where_they_stopped() -> None:
    turns = np.array([3, 1, 4, 1, 5], dtype=np.int64)
    whole = list(all_steps(turns, 2, 3, key=4))
    assert [one.step for one in whole] == list(range(21))
    for first in (0, 1, 6, 7, 8, 20, 21):
        rest = list(all_steps(turns, 2, 3, key=4, first=first))
        assert [one.step for one in rest] == list(range(first, 21))
        for one, other in zip(rest, whole[first:], strict=True):
            assert one.documents.tolist() == other.documents.tolist()
    orders = [np.concatenate([one.documents for one in whole[e * 7 : e * 7 + 7]]) for e in (0, 1)]
    assert orders[0].tolist() != orders[1].tolist()
