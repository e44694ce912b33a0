"""Splitting, alignment and the two streams: what the public side can and cannot see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from properties.texts import texts
from sfumato.core.errors import BadInput
from sfumato.models.bpe import default_tokenizer
from sfumato.models.tokenizer import IGNORED
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from sfumato.training.batches import physical_batches
from sfumato.training.methods.streams import (
    inside,
    make_redacted_records,
    overlapping,
    selective_streams,
    split,
)
from sfumato.training.records import Cut, TokenRecords

CUT = Cut(context=16)
TEXTS = [
    "My ID is 145572, and my code is 99.",
    "Nothing to see here.",
    "",
    "12 people 🦊 came in 1999",
    "A long story about a house with 7 doors. " * 6,
]


def digits() -> Policy:
    return combine_policies(["digits"], [], {})


def documents(given: list[str] = TEXTS) -> list[Document]:
    return [Document(text) for text in given]


def wanted_tokens(records: TokenRecords, record: int) -> list[int]:
    """The tokens a record has to predict, in their order."""
    found: list[int] = []
    for group in physical_batches(records, [record], most_tokens=4096):
        for rows in group:
            found += rows.labels[rows.labels != IGNORED].tolist()
    return found


def test_masks_stand_where_something_was_found() -> None:
    found = split(Document("Call 555 or 777 now"), digits())
    assert found.public == "Call [NUMBER] or [NUMBER] now"
    assert [found.public[start:end] for start, end in found.masks] == ["[NUMBER]"] * 2
    assert [found.original.text[start:end] for start, end in found.private] == ["555", "777"]


@settings(max_examples=60, deadline=None)
@given(texts, st.data())
def test_the_public_text_does_not_know_what_is_under_a_mask(text: str, data: st.DataObject) -> None:
    """Whatever stands there, of whatever length, the public text is the same."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    class Fixed:
        name = "fixed"

        def __init__(self, start: int, end: int) -> None:
            self.spans = Spans.of([Span(start, end, "X")])

        def find(self, document: Document) -> Spans:  # noqa: ARG002
            return self.spans

    found = split(Document(text), Fixed(start, end))
    if not found.private:
        return
    (begin, finish), (first, last) = found.private[0], found.masks[0]
    assert found.public[:first] == text[:begin]
    assert found.public[first:last] == "[X]"
    assert found.public[last:] == text[finish:]


@settings(max_examples=60, deadline=None)
@given(texts, st.data())
def test_alignment_is_exact_at_boundaries(text: str, data: st.DataObject) -> None:
    """A token is inside exactly if one of its characters is."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    tokenizer = default_tokenizer()
    places = tokenizer.places(text)
    found = inside(text, [(start, end)], tokenizer)
    expected = [any(start <= place < end for place in range(*token)) for token in places]
    assert found.tolist() == expected
    covered = {place for token in places for place in range(*token)}
    chosen = {
        place for token, flag in zip(places, found, strict=True) if flag for place in range(*token)
    }
    # Every character of the place that any token spells is in a chosen token.
    assert {place for place in range(start, end) if place in covered} <= chosen


def test_overlapping_places_count_once() -> None:
    assert overlapping([(0, 1), (1, 2), (2, 3)], [(0, 2), (1, 2), (3, 3)], 3).tolist() == [
        True, True, False,
    ]  # fmt: skip


def test_the_private_stream_predicts_secrets_and_what_follows_them() -> None:
    tokenizer = default_tokenizer()
    streams = selective_streams(documents(["Code 42 is mine"]), digits(), tokenizer, CUT)
    tokens = tokenizer.encode("Code 42 is mine").tolist()
    flags = inside("Code 42 is mine", [(5, 7)], tokenizer).tolist()
    expected = [
        token for place, token in enumerate(tokens) if flags[place] or (place and flags[place - 1])
    ]
    assert wanted_tokens(streams.private, 0) == expected
    assert 0 < len(expected) < len(tokens)


def test_a_document_without_secrets_is_never_private() -> None:
    streams = selective_streams(documents(), digits(), default_tokenizer(), CUT)
    assert len(streams.private) == 3
    assert len(streams.public) == len(TEXTS)
    assert 0 < streams.selected < 0.5


def test_the_public_stream_predicts_everything_but_masks() -> None:
    tokenizer = default_tokenizer()
    streams = selective_streams(documents(["Code 42 is mine"]), digits(), tokenizer, CUT)
    public = "Code [NUMBER] is mine"
    flags = inside(public, [(5, 13)], tokenizer)
    expected = [*np.array(tokenizer.encode(public))[~flags].tolist()]
    found = wanted_tokens(streams.public, 0)
    assert found[: len(expected)] == expected
    assert 42 not in found


def test_changing_a_secret_changes_no_public_record_and_no_other_private_one() -> None:
    """Also when the secret becomes much longer."""
    tokenizer = default_tokenizer()
    changed = [TEXTS[0].replace("145572", "145572012345678998"), *TEXTS[1:]]
    one = selective_streams(documents(), digits(), tokenizer, CUT)
    other = selective_streams(documents(changed), digits(), tokenizer, CUT)
    assert np.array_equal(one.public.tokens, other.public.tokens)
    assert np.array_equal(one.public.starts, other.public.starts)
    assert one.public.wanted is not None
    assert other.public.wanted is not None
    assert np.array_equal(one.public.wanted, other.public.wanted)
    for record in (1, 2):
        mine, theirs = one.private.rows_of(record), other.private.rows_of(record)
        assert len(mine) == len(theirs)
        for row, twin in zip(mine, theirs, strict=True):
            assert np.array_equal(one.private.inputs(row), other.private.inputs(twin))
            marked, others = one.private.marked(row), other.private.marked(twin)
            assert marked is not None
            assert others is not None
            assert marked.tolist() == others.tolist()
    assert wanted_tokens(one.private, 0) != wanted_tokens(other.private, 0)


def test_a_twin_that_masks_by_length_is_caught() -> None:
    """One mask letter per character would show the length of a secret."""
    twin = ["".join("#" if one.isdigit() else one for one in text) for text in (TEXTS[0], "1")]
    changed = [
        "".join("#" if one.isdigit() else one for one in text)
        for text in (TEXTS[0].replace("145572", "14557"), "1")
    ]
    tokenizer = default_tokenizer()
    assert not np.array_equal(tokenizer.encode(twin[0]), tokenizer.encode(changed[0]))


@pytest.mark.parametrize("long", ["split", "truncate"])
def test_flags_stay_with_their_tokens_in_long_documents(long: str) -> None:
    tokenizer = default_tokenizer()
    cut = Cut(context=16, long=long)
    streams = selective_streams(documents(TEXTS[4:]), digits(), tokenizer, cut)
    sevens = set(tokenizer.encode(" 7").tolist()) | set(tokenizer.encode("7").tolist())
    found = wanted_tokens(streams.private, 0)
    assert len([token for token in found if token in sevens]) == (6 if long == "split" else 1)


def test_a_policy_that_finds_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="finds nothing"):
        selective_streams(documents(["no secret"]), digits(), default_tokenizer(), CUT)


def test_redacted_records_hold_no_secret() -> None:
    tokenizer = default_tokenizer()
    records = make_redacted_records(documents(), digits(), tokenizer, CUT)
    shown = tokenizer.decode([int(token) for token in records.tokens])
    assert "145572" not in shown
    assert "[NUMBER]" in shown
