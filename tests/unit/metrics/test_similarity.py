"""Cosines of sentences with their floor, and distances from words to their replacements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, MissingModel
from sfumato.core.randomness import Randomness
from sfumato.metrics.similarity import (
    mean_pooled,
    random_pairs_distance,
    semantic_distance,
    sentence_similarity,
)
from sfumato.vectors.space import Space
from unit.attacks.inference.tiny_masked import trained_masked

SEED = Randomness.reproducible
TEXTS = [f"{letter} {letter}{letter}" for letter in "abcdefgh"]


def letters(texts: Sequence[str]) -> Floats:
    """An encoder that knows letters, with a part that all texts share."""
    rows = np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], np.float64)
    return np.hstack([rows, np.full((len(texts), 1), 3.0)])


def test_the_same_texts_are_near_and_strangers_are_not() -> None:
    found = sentence_similarity(TEXTS, TEXTS, letters, SEED(1))
    assert found.cosine.value == pytest.approx(1)
    # The shared part alone: 9 of 18.
    assert found.floor.value == pytest.approx(0.5)
    assert found.floor.low == pytest.approx(0.5)
    assert found.cosine.n == 8


def test_wrong_answers_score_the_floor() -> None:
    wrong = [*TEXTS[1:], TEXTS[0]]
    found = sentence_similarity(wrong, TEXTS, letters, SEED(1))
    assert found.cosine.value == pytest.approx(0.5)


def test_rescaled_equal_texts_are_1_and_wrong_answers_0() -> None:
    same = sentence_similarity(TEXTS, TEXTS, letters, SEED(1)).rescaled
    assert same is not None
    assert same.value == pytest.approx(1)
    assert same.value <= 1
    assert same.high == 1
    # Strangers that are other strangers than those of the floor.
    wrong = sentence_similarity([*TEXTS[1:], TEXTS[0]], TEXTS, letters, SEED(1)).rescaled
    assert wrong is not None
    assert wrong.value == pytest.approx(0, abs=0.2)
    half = [*TEXTS[:4], *TEXTS[5:], TEXTS[4]]
    between = sentence_similarity(half, TEXTS, letters, SEED(1)).rescaled
    assert between is not None
    assert between.low is not None
    assert between.high is not None
    assert between.value == pytest.approx(0.5, abs=0.1)
    assert between.low < between.value < between.high <= 1


def test_texts_that_are_all_alike_cannot_be_rescaled() -> None:
    assert sentence_similarity(["a"] * 4, ["a"] * 4, letters, SEED(1)).rescaled is None


def test_empty_answers_score_nothing() -> None:
    found = sentence_similarity([" "] * 8, TEXTS, letters, SEED(1))
    assert found.cosine.value == found.floor.value == 0


def test_bad_encoders_and_numbers() -> None:
    with pytest.raises(BadInput, match="7 reconstructions"):
        sentence_similarity(TEXTS[1:], TEXTS, letters, SEED(1))
    with pytest.raises(BadInput, match="at least two"):
        sentence_similarity(["a"], ["a"], letters, SEED(1))
    with pytest.raises(BadInput, match=r"shape \(8,\)"):
        sentence_similarity(TEXTS, TEXTS, lambda texts: np.ones(len(texts)), SEED(1))
    with pytest.raises(BadInput, match="not finite"):
        sentence_similarity(TEXTS, TEXTS, lambda texts: letters(texts) * np.nan, SEED(1))


def test_a_folder_is_an_encoder(small_space: Space, tmp_path: Path) -> None:
    """The mean of the last hidden states over the tokens of each text, padding left out."""
    folder = trained_masked(tmp_path / "model", small_space, [("cat", "dog")], steps=0)
    encoder = mean_pooled(folder)
    together = encoder(["cat", "paris rome berlin cat dog", ""])
    alone = encoder(["cat"])
    assert together[0] == pytest.approx(alone[0], abs=1e-5)
    assert (together[2] == 0).all()
    texts = ["cat dog", "paris rome", "12 7", "quark"]
    assert sentence_similarity(texts, texts, encoder, SEED(1)).cosine.value == pytest.approx(1)
    with pytest.raises(MissingModel, match="holds no model"):
        mean_pooled(tmp_path)
    (folder / "config.json").write_text('{"model_type": "nonsense"}')
    with pytest.raises(BadInput, match="cannot be loaded"):
        mean_pooled(folder)


def test_a_word_that_stayed_is_at_distance_zero(small_space: Space) -> None:
    points = np.arange(len(small_space))
    assert semantic_distance(points, points, small_space, 2.0).mean == 0.0


def test_the_mean_is_that_of_distances_one_by_one(random_space: Space) -> None:
    first, second = np.array([0, 5, 9, 30]), np.array([0, 6, 100, 31])
    naive = [random_space.distances_from(int(a))[b] for a, b in zip(first, second, strict=True)]
    found = semantic_distance(first, second, random_space, 2.0)
    assert found.mean == pytest.approx(math.fsum(naive) / 4, rel=1e-6)
    assert found.relative == pytest.approx(found.mean / 2)


def test_random_pairs_are_drawn_from_the_whole_vocabulary(random_space: Space) -> None:
    pairs = [random_space.distances_from(point).mean() for point in range(len(random_space))]
    found = random_pairs_distance(random_space, Randomness.reproducible(1))
    assert found == pytest.approx(np.mean(pairs), rel=0.02)


def test_words_that_share_one_place_have_no_scale() -> None:
    space = Space("one", ["a", "b"], np.zeros((2, 3), dtype=np.float32))
    points = np.array([0, 1])
    assert semantic_distance(points, points[::-1], space, 0.0).relative == 0.0
