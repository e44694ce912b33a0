"""A tokenizer from private documents: what it shows, what is written, and what is refused."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from sfumato.core.errors import BadInput, InvalidArgument, OutputExists, UndecodableText
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.corpora.wikitext import read_wikitext
from sfumato.histograms.thresholds import Contribution
from sfumato.histograms.words import Budget
from sfumato.models import private_tokenizer
from sfumato.models.bpe import default_tokenizer, refuse_private_words
from sfumato.models.learned import Bpe, WordPiece
from sfumato.models.private_tokenizer import (
    FEWEST_WORDS,
    PrivateTokenizer,
    learn_privately,
    listed_words,
    load_private,
    save_private,
)
from sfumato.models.provenance import read_provenance
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document

SECRET = "Quetzalcoatl"
BUDGET = Budget(epsilon=8.0, delta=1e-3, contribution=Contribution(words=40))
DOCUMENTS = [
    # Each has a word of its own; digits would be words of their own, and the rest be shared.
    Document(f"{one.document.text} {SECRET}{chr(97 + number % 26)}{chr(97 + number // 26)} said so")
    for number, one in enumerate(generate_customersim(400, Randomness.reproducible(2)))
]


@pytest.fixture(scope="module")
def made() -> PrivateTokenizer:
    return learn_privately(DOCUMENTS, Bpe(), 900, BUDGET, Randomness.secure())


def test_common_words_are_learned_and_what_few_say_is_not(made: PrivateTokenizer) -> None:
    assert made.words >= FEWEST_WORDS
    assert len(made.tokenizer.encode(" order")) == 1
    assert made.tokenizer.size > 400
    vocabulary = made.tokenizer.backend.get_vocab()
    assert not any("tzalco" in token for token in vocabulary)
    assert len(made.tokenizer.encode("5551234")) == 7


def test_what_is_proven_is_said(made: PrivateTokenizer) -> None:
    sentence = made.guarantee.sentence()
    assert made.guarantee.for_release
    assert (made.guarantee.epsilon, made.guarantee.delta) == (8.0, 1e-3)
    assert sentence.startswith("For the tokenizer and the word counts it was learned from")
    assert "lacks one example of the other" in sentence
    assert sentence in repr(made)
    assert "<table>" in made._repr_html_()
    assert f"{made.words:,} words of 400 examples" in made.summary()
    assert SECRET not in json.dumps(made.as_dict())


def test_it_is_written_with_its_guarantee_and_read_again(
    made: PrivateTokenizer, tmp_path: Path
) -> None:
    saved = save_private(made, tmp_path / "voc")
    assert saved.folder == tmp_path / "voc"
    assert {one.name for one in (tmp_path / "voc").iterdir()} >= {
        "tokenizer.json",
        "guarantee.json",
    }
    assert not any(SECRET in one.read_text() for one in (tmp_path / "voc").iterdir())
    again = load_private(tmp_path / "voc")
    assert again.guarantee == made.guarantee
    assert again.noise == made.noise
    assert again.tokenizer.backend.get_vocab() == made.tokenizer.backend.get_vocab()
    assert again.tokenizer.guarantee == made.tokenizer.guarantee == made.guarantee
    assert read_provenance(tmp_path) is None
    # The guarantee of something else, such as that of a run, is none of its tokenizer.
    (tmp_path / "guarantee.json").write_text('{"schema": 1, "guarantee": {}}')
    assert read_provenance(tmp_path) is None
    (tmp_path / "guarantee.json").unlink()
    with pytest.raises(OutputExists, match="exists already"):
        save_private(made, tmp_path / "voc")
    assert list(tmp_path.iterdir()) == [tmp_path / "voc"]
    (tmp_path / "voc" / "guarantee.json").write_text('{"schema": 1}')
    with pytest.raises(BadInput, match="damaged"):
        load_private(tmp_path / "voc")
    with pytest.raises(InvalidArgument, match="not saved"):
        made.__fspath__()


def test_a_seed_makes_it_the_same_and_not_for_release() -> None:
    one, two = (
        learn_privately(DOCUMENTS, WordPiece(), 900, BUDGET, Randomness.reproducible(4))
        for _ in range(2)
    )
    assert one.tokenizer.backend.get_vocab() == two.tokenizer.backend.get_vocab()
    assert not one.guarantee.for_release
    assert "not for release" in one.guarantee.sentence()


def test_public_words_are_counted_without_a_threshold() -> None:
    other = generate_customersim(100, Randomness.reproducible(9))
    listed = sorted({word for one in other for word in one.document.text.split()})
    assert listed_words(Bpe(), ["order"]) == {"order", "Ġorder"}
    found = learn_privately(
        DOCUMENTS, Bpe(), 600, BUDGET, Randomness.reproducible(1), public_words=listed
    )
    assert found.noise.threshold is None
    assert len(found.tokenizer.encode(" order")) == 1
    assert "dropped" not in found.summary()


def test_too_few_documents_are_refused() -> None:
    with pytest.raises(BadInput, match=r"too few examples for a tokenizer: \d words came through"):
        learn_privately(DOCUMENTS[:20], Bpe(), 900, BUDGET, Randomness.secure())


def test_half_a_character_is_refused_without_quoting_the_word() -> None:
    with pytest.raises(UndecodableText, match="a text is not Unicode: lone surrogate") as refused:
        learn_privately([Halved("patient\ud800smith")] * 2, Bpe(), 900, BUDGET, Randomness.secure())  # type: ignore[list-item]
    assert "smith" not in repr(refused.value)
    assert refused.value.__context__ is None


@dataclass
class Halved:
    """A document of somebody's own class, which checks nothing."""

    text: str


def test_a_list_of_words_that_is_private_text_is_refused() -> None:
    words = ["order", "parcel", "refund"]
    refuse_private_words([*words, "invoice"], [Document(one) for one in words])
    refuse_private_words(words, DOCUMENTS)
    with pytest.raises(InvalidArgument, match="are documents of the private corpus"):
        refuse_private_words(words, [Document(f" {one}\n") for one in words])
    with pytest.raises(InvalidArgument, match="are documents of the private corpus"):
        refuse_private_words([*words, DOCUMENTS[3].text], DOCUMENTS)


def test_a_size_without_room_is_refused_before_anything_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(private_tokenizer, "count_words", pytest.fail)
    with pytest.raises(InvalidArgument, match="size=100 must be at least"):
        learn_privately(DOCUMENTS, Bpe(), 100, BUDGET, Randomness.secure())


def test_only_noisy_counts_reach_the_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is learned is a function of the release: the same counts give the same tokenizer."""
    seen: list[dict[str, float]] = []
    real = Bpe.learn

    def noted(self: Bpe, counts: dict[str, float], size: int) -> object:
        seen.append(dict(counts))
        return real(self, counts, size)

    monkeypatch.setattr(Bpe, "learn", noted)
    made = learn_privately(DOCUMENTS, Bpe(), 900, BUDGET, Randomness.reproducible(4))
    (counts,) = seen
    assert len(counts) == made.words
    assert min(counts.values()) >= (made.noise.threshold or 0)
    assert real(Bpe(), counts, 900).backend.get_vocab() == made.tokenizer.backend.get_vocab()


def tokens_per_word(tokenizer: Tokenizer, documents: list[Document]) -> float:
    """Line breaks are neither words nor counted as tokens."""
    lines = [line for document in documents for line in document.text.split("\n")]
    return sum(map(len, tokenizer.encode_many(lines))) / sum(len(line.split()) for line in lines)


@pytest.mark.resources
def test_narrow_text_is_shorter_than_with_the_public_tokenizer(resources: Path) -> None:
    def read(part: str) -> list[Document]:
        path = resources / "data" / "customersim" / f"{part}.jsonl.gz"
        lines = gzip.decompress(path.read_bytes()).splitlines()
        return [Document(json.loads(line)["text"]) for line in lines]

    budget = Budget(epsilon=0.5, delta=1e-6)
    found = learn_privately(read("train"), Bpe(), 8000, budget, Randomness.reproducible(1))
    other = read("test")[:300]
    assert tokens_per_word(found.tokenizer, other) <= 1.90
    assert tokens_per_word(default_tokenizer(), other) == pytest.approx(2.03, abs=0.02)


@pytest.mark.resources
def test_articles_are_too_few(resources: Path) -> None:
    path = resources / "data" / "wikitext-2" / "train.raw.gz"
    articles = list(read_wikitext(path, record="article"))
    budget = Budget(epsilon=1.0, delta=1e-6, record="article")
    with pytest.raises(BadInput, match=r"too few examples for a tokenizer: \d+ words.*are 629"):
        learn_privately(articles, Bpe(), 8000, budget, Randomness.reproducible(1))
