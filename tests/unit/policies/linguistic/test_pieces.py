"""Long texts: the pieces are the text, and what is found in them stands where it stood."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.texts import texts
from sfumato.policies.linguistic import pipelines
from sfumato.policies.linguistic.entities import Entities
from sfumato.policies.linguistic.pipelines import group_pieces, in_pieces, join_pieces
from sfumato.text.document import Document
from sfumato.text.span import Span


@given(st.lists(texts, max_size=5), st.integers(1, 30))
def test_pieces_are_short_and_together_the_texts(several: list[str], longest: int) -> None:
    pieces = in_pieces(several, longest)
    for owner, text in enumerate(several):
        own = [piece for piece in pieces if piece.owner == owner]
        assert "".join(piece.text for piece in own) == text
        assert all(len(piece.text) <= longest for piece in own)
        assert all(text.startswith(piece.text, piece.start) for piece in own)


@given(st.lists(texts, max_size=5), st.integers(1, 30))
def test_what_is_found_goes_back_to_its_place(several: list[str], longest: int) -> None:
    pieces = in_pieces(several, longest)
    whole = [[Span(0, len(piece.text), "ALL", "test", "all")] for piece in pieces]
    for text, spans in zip(several, join_pieces(pieces, whole, len(several)), strict=True):
        assert "".join(text[span.start : span.end] for span in spans) == text


@given(st.lists(texts, max_size=5), st.integers(1, 30), st.integers(1, 60))
def test_groups_hold_every_piece_and_not_too_much(
    several: list[str], longest: int, most: int
) -> None:
    pieces = in_pieces(several, longest)
    groups = list(group_pieces(pieces, most))
    assert [piece for group in groups for piece in group] == pieces
    for group in groups:
        assert len(group) == 1 or sum(len(piece.text) for piece in group) <= most


def test_sentences_stay_whole_where_they_fit() -> None:
    text = "Ann went. " * 50
    assert {piece.text for piece in in_pieces([text], 35)} == {"Ann went. " * 3, "Ann went. " * 2}
    assert [piece.text for piece in in_pieces(["some words only"], 12)] == ["some words ", "only"]
    assert [piece.text for piece in in_pieces(["unbroken"], 5)] == ["unbro", "ken"]


def test_a_run_without_white_space_is_cut() -> None:
    # The time of spaCy's tokenizer grows with the square of such a run.
    text = f"Ann {'(' * 2500} Zoë {'b' * 1000} end"
    lengths = [len(piece.text) for piece in in_pieces([text], 100_000)]
    assert lengths == [1004, 1000, len(text) - 2004]


def test_a_text_beyond_the_limit_is_found_in_like_a_short_one(
    entity_pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "We saw Ann there. Then Zoë left New York for Paris\n" * 40
    policy = Entities(model=str(entity_pipeline))
    whole = policy.find(Document(text))
    assert len(whole) == 160
    monkeypatch.setattr(pipelines, "LONGEST_PIECE", 100)
    monkeypatch.setattr(pipelines, "CHARACTERS_AT_ONCE", 250)
    assert policy.find(Document(text)) == whole
    language = pipelines.load(str(entity_pipeline), policy="entities").language
    monkeypatch.setattr(language, "max_length", 60)
    assert policy.find(Document(text)) == whole
