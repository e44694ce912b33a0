"""Scores tell apart what can be told apart, and are defined for every output."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.audits.distinguishers import vector_scores, word_scores
from sfumato.audits.events import DrawnSample, Score
from sfumato.vectors.space import Space

NAMES = ("the one", "the other")


def named(scores: list[Score], part: str) -> Score:
    (found,) = (score for score in scores if part in score.name)
    return found


def vectors(*rows: list[float]) -> NDArray[np.float64]:
    return np.array(rows)


def test_words_are_scored_by_distance_side_and_how_often_they_came(small_space: Space) -> None:
    points = np.array([0, 11])
    first = DrawnSample(np.array([0, 1]), np.array([90, 10]))
    second = DrawnSample(np.array([1, 11]), np.array([20, 80]))
    scores = word_scores(small_space, small_space.at(points), NAMES, first, second)
    words = np.arange(len(small_space))
    distances = named(scores, "distance to the one").of(words)
    assert distances == pytest.approx(small_space.distances_from(0), abs=1e-6)
    assert named(scores, "distance to the other").of(words)[11] == 0
    side = named(scores, "line from the one to the other").of(words)
    assert side.argmax() == 11
    learned = named(scores, "learned").of(words)
    assert learned.argmax() == 0
    assert learned.argmin() == 11
    assert learned[5] == 0  # never seen: no evidence
    assert named(scores, "learned").of(np.array([small_space.unknown]))[0] == 0


def test_flipped_bits_are_scored_by_their_likelihood() -> None:
    generator = np.random.default_rng(5)
    left = (generator.random((4000, 3)) < [0.9, 0.5, 0.2]).astype(np.float64)
    right = (generator.random((4000, 3)) < [0.1, 0.5, 0.2]).astype(np.float64)
    scores = vector_scores(NAMES, DrawnSample.of(left), DrawnSample.of(right))
    ratios = named(scores, "densities").of(vectors([1, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 0]))
    assert ratios[0] - ratios[1] == pytest.approx(2 * np.log(9), abs=0.2)
    assert ratios[2] == pytest.approx(ratios[3], abs=0.15)


def test_a_coordinate_that_is_almost_always_one_keeps_its_two_values() -> None:
    left, right = np.ones((500, 1)), np.ones((500, 1))
    left[:40] = 0.0
    ratios = named(vector_scores(NAMES, DrawnSample.of(left), DrawnSample.of(right)), "densities")
    assert ratios.of(vectors([0.0]))[0] > 2
    assert abs(ratios.of(vectors([1.0]))[0]) < 0.2


def test_an_end_that_is_never_passed_is_seen_from_the_box() -> None:
    generator = np.random.default_rng(6)
    left = generator.exponential(size=(2000, 4))
    right = left + 0.5
    out = named(
        vector_scores(NAMES, DrawnSample.of(left), DrawnSample.of(right)),
        "box of draws for the other",
    )
    assert out.of(vectors([0.4, 1, 1, 1]))[0] > 0
    assert out.of(vectors([1.0, 1, 1, 1]))[0] < 0


def test_the_most_telling_coordinates_are_among_the_scores() -> None:
    generator = np.random.default_rng(7)
    left, right = generator.normal(size=(2, 1000, 30))
    right[:, 17] += 1
    names = [
        score.name for score in vector_scores(NAMES, DrawnSample.of(left), DrawnSample.of(right))
    ]
    assert names[0] == "coordinate 18"
    assert len(names) == len(set(names))
