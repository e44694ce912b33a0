"""Tokenizers are saved and read in Hugging Face's format; a missing one is named by its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.core.errors import BadInput, MissingModel
from sfumato.models.bpe import default_tokenizer
from sfumato.models.tokenizer import load_tokenizer

TEXT = "My ID is 145572 <|endoftext|> 😀 naïve\r\n"


def test_a_saved_tokenizer_is_the_same(tmp_path: Path) -> None:
    tokenizer = default_tokenizer()
    tokenizer.backend.save_pretrained(tmp_path)
    again = load_tokenizer(tmp_path)
    assert (again.encode(TEXT) == tokenizer.encode(TEXT)).all()
    assert again.decode(again.encode(TEXT)) == TEXT
    for name in ("size", "begin", "end", "padding", "frame"):
        assert getattr(again, name) == getattr(tokenizer, name)


def test_a_missing_folder_and_a_folder_without_tokenizer_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match=r"no folder .*nowhere"):
        load_tokenizer(tmp_path / "nowhere")
    with pytest.raises(MissingModel, match=r"holds no tokenizer \(tokenizer.json, "):
        load_tokenizer(tmp_path)


def test_a_damaged_tokenizer_is_named_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "TokenizersBackend"}')
    with pytest.raises(BadInput, match="cannot be loaded as a tokenizer") as caught:
        load_tokenizer(tmp_path)
    assert caught.value.__context__ is None


@pytest.mark.resources
def test_the_tokenizer_of_a_real_model(resources: Path) -> None:
    tokenizer = load_tokenizer(resources / "models" / "stories15m")
    assert (tokenizer.size, tokenizer.begin, tokenizer.end) == (32_000, 1, 2)
    tokens = tokenizer.encode("Once upon a time <s> there was 😀")
    assert not {1, 2} & set(tokens.tolist())
    assert tokenizer.decode(tokens) == "Once upon a time <s> there was 😀"
