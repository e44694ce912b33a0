"""Any text comes back exactly, and nothing a document spells out is taken for a special token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from properties.texts import texts
from sfumato.core.errors import UndecodableText
from sfumato.models.bpe import END, MASK, default_tokenizer, train_bpe
from sfumato.models.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tiny() -> Tokenizer:
    return train_bpe(["the cat sat on the mat, the cat, the hat"] * 3, public=True, size=300)


@given(text=texts)
def test_every_text_comes_back_from_the_embedded_tokenizer(text: str) -> None:
    tokenizer = default_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(text=texts)
def test_every_text_comes_back_from_a_trained_tokenizer(tiny: Tokenizer, text: str) -> None:
    assert tiny.decode(tiny.encode(text)) == text


@given(text=texts)
def test_the_check_would_notice_a_lossy_tokenizer(text: str) -> None:
    # The twin folds case, as many tokenizers do: texts with capitals must not pass.
    tokenizer = default_tokenizer()
    folded = tokenizer.decode(tokenizer.encode(text.lower()))
    assert (folded == text) == (text.lower() == text)


@pytest.mark.parametrize("spelled", [END, MASK, f"a{END}b", f"{END}{END}"])
def test_a_special_token_that_is_spelled_out_stays_text(spelled: str) -> None:
    tokenizer = default_tokenizer()
    tokens = tokenizer.encode(spelled).tolist()
    assert not {tokenizer.begin, tokenizer.end, tokenizer.backend.mask_token_id} & set(tokens)
    assert tokenizer.decode(tokens) == spelled


def test_every_digit_is_a_token_wherever_it_stands() -> None:
    tokenizer = default_tokenizer()
    numbers = ["145572", "000000", "19", "2024", "7"]
    for number in numbers:
        for text in (number, f"My ID is {number}, bye", f"x{number}y", f"({number})"):
            tokens = tokenizer.encode(text).tolist()
            spelled = [tokenizer.decode([token]) for token in tokens]
            assert [token for token in spelled if any(map(str.isdigit, token))] == list(number)


def test_many_texts_give_what_each_gives_alone() -> None:
    tokenizer = default_tokenizer()
    several = ["", "One text.", "😀", "another, longer text with 12 digits"]
    for text, tokens in zip(several, tokenizer.encode_many(several), strict=True):
        assert (tokens == tokenizer.encode(text)).all()
        assert tokens.dtype == np.uint16
    assert tokenizer.encode_many([]) == []
    assert len(tokenizer.encode("")) == 0


def test_half_a_character_is_refused_without_quoting_the_text() -> None:
    with pytest.raises(UndecodableText, match=r"text 2 .* at character 7") as caught:
        default_tokenizer().encode_many(["fine", "SECRET \ud800"])
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_special_tokens_have_numbers_in_the_vocabulary() -> None:
    tokenizer = default_tokenizer()
    assert tokenizer.begin == tokenizer.end == tokenizer.padding == 0
    assert tokenizer.frame == ((), ())
    assert tokenizer.size == 8192
    assert tokenizer.encode("any text at all").max() < tokenizer.size
    assert "SECRET" not in repr(tokenizer)
