"""Scores of a reconstruction against published formulas and packages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from sfumato.core.errors import BadInput, MissingModel
from sfumato.metrics import reconstruction as module
from sfumato.metrics.reconstruction import (
    assign_best,
    common_share,
    jaccard,
    longest_common,
    meteor,
    rouge_l,
    rouge_n,
    token_accuracy,
    without_special,
)

texts = st.lists(
    st.sampled_from(["the", "The", "cat", "sat", "mat-s", "on", "12", "Zoë", "…", "don't", ""]),
    max_size=9,
).map(" ".join)


@given(texts, texts)
def test_rouge_l_is_that_of_rouge_score(found: str, wanted: str) -> None:
    reference = RougeScorer(["rougeL"], use_stemmer=False).score(wanted, found)["rougeL"]
    ours = rouge_l(found, wanted)
    if rouge_l("", found).f1 == 1 and rouge_l("", wanted).f1 == 1:
        # Both are empty: the package says 0, which would call a perfect answer wrong.
        assert ours.f1 == 1
        return
    assert ours.precision == pytest.approx(reference.precision)
    assert ours.recall == pytest.approx(reference.recall)
    assert ours.f1 == pytest.approx(reference.fmeasure)


@pytest.mark.parametrize("length", [1, 2])
@given(found=texts, wanted=texts)
def test_rouge_n_is_that_of_rouge_score(length: int, found: str, wanted: str) -> None:
    name = f"rouge{length}"
    reference = RougeScorer([name], use_stemmer=False).score(wanted, found)[name]
    ours = rouge_n(found, wanted, length)
    if reference.fmeasure == 0 and ours.f1 == 1:
        # Too short for a run of words, and equal: the package calls that wrong.
        assert rouge_l(found, wanted).f1 == 1
        return
    assert ours.precision == pytest.approx(reference.precision)
    assert ours.recall == pytest.approx(reference.recall)
    assert ours.f1 == pytest.approx(reference.fmeasure)


@given(texts, texts)
def test_the_share_of_the_longer_text_is_never_above_rouge(found: str, wanted: str) -> None:
    assert common_share(found, wanted) <= rouge_l(found, wanted).f1 + 1e-12
    assert common_share(found, found) == common_share("", "?!") == 1
    assert common_share("", "a") == 0


@given(st.lists(st.sampled_from("abc"), max_size=7), st.lists(st.sampled_from("abc"), max_size=7))
def test_the_common_subsequence_is_the_longest(first: list[str], second: list[str]) -> None:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
            )
    assert longest_common(first, second) == table[-1][-1]


def test_order_counts_for_rouge_and_not_for_jaccard() -> None:
    assert rouge_l("c b a", "a b c").f1 == pytest.approx(1 / 3)
    assert jaccard("c b a a", "a b c") == 1.0


@pytest.mark.parametrize("empty", ["", "  \n", "?!"])
def test_an_empty_answer_scores_nothing(empty: str) -> None:
    assert rouge_l(empty, "a cat").f1 == 0
    assert rouge_l("a cat", empty).f1 == 0
    assert jaccard(empty, "a cat") == 0
    assert rouge_l(empty, "").f1 == jaccard(empty, "") == 1
    assert token_accuracy([], [1, 2]) == 0
    assert token_accuracy([], []) == 1
    assert token_accuracy([1], []) == 0


def test_tokens_in_their_places() -> None:
    assert token_accuracy([1, 2, 3, 4], [1, 2, 3]) == 1
    assert token_accuracy([2, 1, 3], [1, 2, 3]) == pytest.approx(1 / 3)
    assert without_special([101, 7, 8, 102, 0, 0], [101, 102, 0]) == [7, 8]


def test_a_batch_is_put_in_order() -> None:
    references = ["the cat sat on the mat", "a dog ran home", "it rained all day"]
    mixed = ["rained all day", "the cat sat", "a dog ran"]
    assert assign_best(mixed, references) == ["the cat sat", "a dog ran", "rained all day"]
    # Taking the best one first would leave a worse sum.
    greedy = assign_best(["a b c", "a b"], ["a b c d", "a b c x y"], score=lambda one, other: {
        ("a b c", "a b c d"): 0.9, ("a b c", "a b c x y"): 0.8, ("a b", "a b c d"): 0.7,
        ("a b", "a b c x y"): 0.1}[one, other])  # fmt: skip
    assert greedy == ["a b", "a b c"]
    assert assign_best([], ["a"]) == [""]
    assert assign_best(["x"], ["a", "b"]).count("") == 1
    with pytest.raises(BadInput, match="2 reconstructions for 1 references"):
        assign_best(["a", "b"], ["a"])


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
