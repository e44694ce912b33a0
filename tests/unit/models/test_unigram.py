"""SentencePiece from counts: its pieces, cut as it cuts them, and nothing that was dropped."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import sentencepiece

from sfumato.core.errors import BadInput, InvalidArgument, MissingExtra
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.models import unigram
from sfumato.models.learned import Bpe, byte_words
from sfumato.models.tokenizer import Tokenizer
from sfumato.models.unigram import SentencePiece

TEXTS = [one.document.text for one in generate_customersim(40, Randomness.reproducible(1))]
COUNTS = Counter(word for text in TEXTS for word in byte_words(text))
HARD = "‿ein ##x 😀  \n\t ü\x00 <|endoftext|> <unk> ▁ ١٢ 12ab"


@pytest.fixture(autouse=True, scope="module")
def few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unigram, "TOTAL", 10_000)
        yield


@pytest.fixture(scope="module")
def learned() -> tuple[Tokenizer, dict[str, Any]]:
    """The tokenizer, and the options and the model of SentencePiece."""
    seen: dict[str, Any] = {}
    real = sentencepiece.SentencePieceTrainer.train

    def noted(**options: Any) -> None:
        given = list(options["sentence_iterator"])
        seen.update(options, given=given)
        real(**options | {"sentence_iterator": iter(given)})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentencepiece.SentencePieceTrainer, "train", staticmethod(noted))
        made = SentencePiece().learn(COUNTS, 700)
    return made, seen


def test_all_text_comes_back(learned: tuple[Tokenizer, Any]) -> None:
    for text in (*TEXTS[:5], HARD, "", "x" * 3000):
        assert learned[0].decode(learned[0].encode(text)) == text
    assert learned[0].size <= 700
    assert len(learned[0].encode("5551234")) == 7


def tokens_of(tokenizer: Tokenizer) -> int:
    return sum(map(len, tokenizer.encode_many(TEXTS)))


def test_words_are_cut_as_sentencepiece_cuts_them(learned: tuple[Tokenizer, Any]) -> None:
    made, options = learned
    assert tokens_of(made) < 1.1 * tokens_of(Bpe().learn(COUNTS, 700))
    own: io.BytesIO = options["model_writer"]
    model: Any = sentencepiece.SentencePieceProcessor(model_proto=own.getvalue())
    backend: Any = made.backend
    for word in list(COUNTS)[:200]:
        ours = backend.backend_tokenizer.model.tokenize(word)
        assert [one.value for one in ours] == model.encode(word, out_type=str)


def test_its_own_privacy_is_off_and_no_sample_is_kept(learned: tuple[Tokenizer, Any]) -> None:
    options = learned[1]
    assert options["self_test_sample_size"] == 0
    assert not any("differential" in name for name in options)
    # What it reads is each word as often as its count says, and nothing else.
    assert "input" not in options
    given = Counter(options["given"])
    scale = unigram.TOTAL / sum(COUNTS.values())
    assert given == {word: max(1, round(scale * count)) for word, count in COUNTS.items()}


def test_twin_a_kept_sample_would_show_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the option is for: with samples, the model file has words that are no pieces."""
    monkeypatch.setattr(unigram, "TOTAL", 500)
    kept: dict[int, bytes] = {}
    real = sentencepiece.SentencePieceTrainer.train
    words = {"SMITHSONIANA": 1, **dict(COUNTS.most_common(300))}
    for samples in (0, 1000):  # none, or all that it was given

        def train(samples: int = samples, **options: Any) -> None:
            real(**options | {"self_test_sample_size": samples})
            kept[samples] = options["model_writer"].getvalue()

        monkeypatch.setattr(unigram, "extra", lambda *_, **__: _Patched(train))
        SentencePiece().learn(words, 400)
    assert b"SMITHSONIANA" in kept[1000]
    assert b"SMITHSONIANA" not in kept[0]


class _Patched:
    """The library with another trainer."""

    def __init__(self, train: Any) -> None:
        self.SentencePieceTrainer = type("Trainer", (), {"train": staticmethod(train)})
        self.SentencePieceProcessor = sentencepiece.SentencePieceProcessor


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="no words to learn"):
        SentencePiece().learn({}, 700)
    with pytest.raises(InvalidArgument, match="size=100 must be at least"):
        SentencePiece().learn(COUNTS, 100)

    def fails(**_: Any) -> None:
        raise RuntimeError("Vocabulary size is smaller than required_chars: SECRET")

    monkeypatch.setattr(sentencepiece.SentencePieceTrainer, "train", staticmethod(fails))
    with pytest.raises(InvalidArgument, match="size=300 is too small for SentencePiece") as said:
        SentencePiece().learn(COUNTS, 300)
    assert "SECRET" not in str(said.value)
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[sentencepiece\]"):
        SentencePiece().learn(COUNTS, 300)
