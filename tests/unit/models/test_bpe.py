"""Byte-pair encoding is learned from public text only."""

from __future__ import annotations

import json

import pytest

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.models.bpe import SMALLEST, assemble_tokenizer, learn_merges, train_bpe

TEXTS = ["the cat sat on the mat", "the hat of the cat", "14 cats and 15 hats"] * 5


def test_private_text_is_refused_with_a_reason() -> None:
    with pytest.raises(InvalidArgument, match="private text; a vocabulary shows which strings"):
        train_bpe(["SECRET"], public=False)


def test_frequent_words_become_one_token() -> None:
    tokenizer = train_bpe(TEXTS, public=True, size=300)
    assert len(tokenizer.encode(" the")) == 1
    assert len(tokenizer.encode(" zebra")) > 3
    assert tokenizer.size <= 300


def test_numbers_never_become_one_token_however_frequent() -> None:
    tokenizer = train_bpe(["call 555 555 555"] * 50, public=True, size=400)
    assert len(tokenizer.encode("555")) == 3


def test_merges_alone_define_the_tokenizer() -> None:
    backend = learn_merges(TEXTS, size=300)
    merges = [(left, right) for left, right in json.loads(backend.to_str())["model"]["merges"]]
    again = assemble_tokenizer(merges)
    assert again.get_vocab() == backend.get_vocab()
    for text in (*TEXTS, "something else, 77 😀"):
        assert again.encode(text).ids == backend.encode(text).ids


def test_learning_twice_gives_the_same() -> None:
    assert learn_merges(TEXTS, size=300).to_str() == learn_merges(TEXTS, size=300).to_str()


@pytest.mark.parametrize("size", [0, SMALLEST - 1, 2.5, "many"])
def test_a_vocabulary_without_room_for_all_bytes_is_refused(size: int) -> None:
    with pytest.raises(InvalidArgument, match="size="):
        train_bpe(TEXTS, public=True, size=size)


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_no_text_is_no_tokenizer(texts: list[str]) -> None:
    with pytest.raises(BadInput, match="no text to train a tokenizer on"):
        train_bpe(texts, public=True)
