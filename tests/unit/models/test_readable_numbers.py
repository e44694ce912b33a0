"""Tokens that a tokenizer has and its network does not: no text fails a run by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, PreTrainedModel

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.masked import Masked
from sfumato.mechanisms.rewriting.temperature import Temperature
from sfumato.models.encoder import load_encoder
from sfumato.models.filling import load_filler
from sfumato.models.readable_numbers import embedding_rows
from sfumato.models.tokenizer import Tokenizer, load_tokenizer
from sfumato.models.writing import load_writer
from sfumato.synthesis.prediction.settings import Prediction
from unit.models.folders import (
    WORDS,
    bert,
    gpt2,
    masked_bert,
    with_our_tokenizer,
    with_word_pieces,
)

ADDED = "zebracanary"
TEXT = f"a {ADDED} was good"


def add(folder: Path, **special: Any) -> Path:
    """One more token of the tokenizer, none of the network."""
    backend = AutoTokenizer.from_pretrained(folder)
    backend.add_tokens([ADDED])
    backend.add_special_tokens(special)
    backend.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = with_our_tokenizer(gpt2(), tmp_path_factory.mktemp("models") / "gpt2")
    return add(folder, pad_token="<filler>")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add(with_word_pieces(masked_bert(), tmp_path_factory.mktemp("models") / "bert"))


def test_without_a_fit_the_number_is_given_and_the_network_fails(causal: Path) -> None:
    raw = load_tokenizer(causal)
    assert max(raw.encode(TEXT)) == 8192
    writer = load_writer(causal)
    with pytest.raises(IndexError):
        writer.begin([raw.encode(TEXT).tolist()])


def test_every_number_of_a_fitted_tokenizer_can_be_read(causal: Path, pieces: Path) -> None:
    fitted = [load_writer(causal).tokenizer, load_filler(pieces).tokenizer]
    for tokenizer in fitted:
        assert tokenizer.rows is not None
        before, after = tokenizer.frame
        around = [*before, *after, tokenizer.padding, tokenizer.unknown, tokenizer.begin or 0]
        assert max([*around, *tokenizer.encode(TEXT)]) < tokenizer.rows
        # Nothing else changes, and places still belong to tokens.
        assert len(tokenizer.places(TEXT)) == len(tokenizer.encode(TEXT))
        raw = Tokenizer(tokenizer.backend)
        assert np.array_equal(raw.encode("the film"), tokenizer.encode("the film"))
    assert fitted[1].unknown == WORDS.index("[UNK]")
    assert fitted[0].unknown == fitted[0].padding == fitted[0].end


def test_no_text_fails_a_run_by_such_a_token(causal: Path, pieces: Path) -> None:
    writing = Temperature(model=str(causal), window=2.0, tokens=2, prompt="{} :", batch=2)
    filling = Masked(model=str(pieces), window=2.0, tokens=6)
    for one in (writing, filling):
        assert len(one.rewrite([TEXT, "the film"], Randomness.reproducible(1))) == 2
    assert max(writing.law.tokens) < 8192
    encoder = load_encoder(pieces)
    assert np.isfinite(encoder.encode_alone([TEXT])).all()
    # It is read as any other unknown word.
    assert np.array_equal(encoder.encode_alone([TEXT]), encoder.encode_alone(["a xyz was good"]))


def test_numbers_with_holes_are_read_too(causal: Path) -> None:
    tokenizer = load_writer(causal).tokenizer
    rows = Tokenizer(tokenizer.backend, rows=3)
    assert rows.encode(TEXT).max() < 3
    assert Tokenizer(tokenizer.backend, rows=2**17).number_type is np.uint32


def test_a_prompt_with_such_a_token_is_refused(causal: Path) -> None:
    made = Temperature(model=str(causal), window=2.0, tokens=2, prompt=f"{ADDED} {{}}")
    with pytest.raises(InvalidArgument, match="embeddings for 8,192; leave it out"):
        made.guarantee()


def test_a_mask_that_the_network_does_not_have_is_refused(tmp_path: Path) -> None:
    config = BertConfig(vocab_size=4, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=24)  # fmt: skip
    small: PreTrainedModel = BertForMaskedLM(config)
    folder = with_word_pieces(small, tmp_path / "small")
    with pytest.raises(BadInput, match=r"the mask token 4, and the model has embeddings\s+for 4"):
        load_filler(folder)


def test_rows_are_those_of_the_table() -> None:
    network = bert()
    assert embedding_rows(network) == len(WORDS)
    network.config.vocab_size = 99
    assert embedding_rows(network) == len(WORDS)


def test_records_of_a_prediction_can_be_read(causal: Path) -> None:
    writer = Prediction(model=str(causal), prompt="{text} :").writer
    (found,) = writer.tokenizer.encode_many([TEXT])
    assert np.isfinite(writer.begin([found.tolist()], width=12).scores).all()
