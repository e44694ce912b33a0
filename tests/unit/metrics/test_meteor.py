"""METEOR: with WordNet as published, without it not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.core.errors import MissingModel
from sfumato.metrics import reconstruction as module
from sfumato.metrics.reconstruction import meteor


@pytest.fixture
def wordnet(resources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(resources / "nltk_data")])


@pytest.mark.resources
@pytest.mark.usefixtures("wordnet")
def test_synonyms_stems_and_order_count() -> None:
    reference = "the cat sat on the mat"
    assert meteor(reference, reference) == pytest.approx(1, abs=0.01)
    # WordNet knows that an auto is a car; a word that has nothing to do with it scores less.
    assert meteor("a fast auto", "a fast car") > meteor("a fast banana", "a fast car")
    assert meteor("dogs running", "dog runs") > meteor("dogs running", "cat sleeps")
    assert meteor("mat the on sat cat the", reference) < meteor(reference, reference)
    assert meteor("", reference) == 0
    assert meteor("?", "") == 1
    # Banerjee and Lavie's formula for two of three words in one run.
    precision = recall = 2 / 3
    mean = 10 * precision * recall / (recall + 9 * precision)
    assert meteor("a fast qqq", "a fast zzz") == pytest.approx(mean * (1 - 0.5 * (1 / 2) ** 3))


def test_without_wordnet_there_is_no_score(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import nltk
    from nltk.corpus.reader import WordNetCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    fresh = LazyCorpusLoader("wordnet", WordNetCorpusReader, None)
    monkeypatch.setattr(nltk.corpus, "wordnet", fresh)
    with pytest.raises(MissingModel, match="NLTK_DATA"):
        meteor("a cat", "a cat")
    with pytest.raises(MissingModel, match="NLTK_DATA"):
        module.require_wordnet()
