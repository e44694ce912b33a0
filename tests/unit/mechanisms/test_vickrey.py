"""The Vickrey rule exactly, its inequality on a line exactly, and the twin that looks back."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.vickrey import Vickrey, chance_of_first
from sfumato.vectors import search
from sfumato.vectors.search import NearestTwo
from sfumato.vectors.space import Space
from statistical.rows import piecewise_integral, worst_excess

Rows = NDArray[np.float64]

LINE = Space(
    "line",
    ["zero", "almost", "one", "two", "five", "far"],
    np.array([[0.0], [0.0625], [1.0], [2.5], [5.0], [9.0]], dtype=np.float32),
)
INPUTS = LINE.at(np.arange(len(LINE) + 1))


# --- the two nearest words -------------------------------------------------------------------


@pytest.mark.parametrize(("width", "queries"), [(1, 7), (2, 1024), (5, 3), (4096, 1024)])
def test_the_two_nearest_words_are_those_of_a_plain_loop(
    small_space: Space, width: int, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "WORDS", width)
    monkeypatch.setattr(search, "QUERIES", queries)
    places = np.random.default_rng(2).normal(size=(50, 3)) * 1.5
    words, distances = NearestTwo(small_space.vectors).find(places)
    for place, two, away in zip(places, words, distances, strict=True):
        naive = [math.dist(place, vector) for vector in small_space.vectors.tolist()]
        order = sorted(range(12), key=naive.__getitem__)
        assert two.tolist() == order[:2]
        assert away == pytest.approx([naive[order[0]], naive[order[1]]], abs=1e-12)


def test_words_at_one_place_come_in_public_order_at_distance_zero() -> None:
    vectors = np.array([[5.0, 5.0], [1.0, 1.0], [3.0, 3.0], [1.0, 1.0]], dtype=np.float32)
    words, distances = NearestTwo(vectors).find(np.array([[1.0, 1.0]]))
    assert words.tolist() == [[1, 3]]
    assert distances.tolist() == [[0.0, 0.0]]


def test_no_vectors_have_no_neighbors(small_space: Space) -> None:
    words, distances = NearestTwo(small_space.vectors).find(np.empty((0, 3)))
    assert words.shape == distances.shape == (0, 2)


# --- the rule --------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_chance_of_the_first_is_the_formula(t: float) -> None:
    nearer, farther = np.array([0.0, 0.5, 1.0, 2.0, 1e13]), np.array([1.0, 0.5, 3.0, 2.5, 1.1e13])
    for chance, one, two in zip(chance_of_first(nearer, farther, t), nearer, farther, strict=True):
        below = t * one + (1 - t) * two
        assert chance == pytest.approx((1 - t) * two / below if below else 1 - t, rel=1e-15)
        assert 0.0 <= chance <= 1.0


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
def test_two_words_at_the_noisy_vector_itself_are_chosen_by_t(t: float) -> None:
    with np.errstate(all="raise"):
        assert chance_of_first(np.zeros(1), np.zeros(1), t).tolist() == [1 - t]


def test_the_nearest_always_wins_at_zero_and_never_at_one() -> None:
    nearer, farther = np.array([0.0, 1.0]), np.array([2.0, 2.0])
    assert chance_of_first(nearer, farther, 0.0).tolist() == [1.0, 1.0]
    assert chance_of_first(nearer, farther, 1.0).tolist() == [0.0, 0.0]


def test_with_t_zero_it_is_the_laplace_mechanism(small_space: Space) -> None:
    points = np.tile(np.arange(13), 100)
    ours = Vickrey(space=small_space, epsilon=2, t=0).privatize(points, Randomness.reproducible(3))
    plain = Laplace(space=small_space, epsilon=2).privatize(points, Randomness.reproducible(3))
    assert (ours == plain).all()


def test_with_t_one_it_is_always_the_second_nearest(small_space: Space) -> None:
    points = np.tile(np.arange(13), 100)
    ours = Vickrey(space=small_space, epsilon=2, t=1).privatize(points, Randomness.reproducible(3))
    noise = Laplace(space=small_space, epsilon=2).noise(len(points), Randomness.reproducible(3))
    words, _ = NearestTwo(small_space.vectors).find(small_space.at(points) + noise)
    assert (ours == words[:, 1]).all()


def test_the_mechanism_is_noise_then_the_rule_word_by_word(small_space: Space) -> None:
    points = np.tile(np.arange(13), 30)
    vickrey = Vickrey(space=small_space, epsilon=1.5, t=0.4)
    outputs = vickrey.privatize(points, Randomness.reproducible(8))
    source = Randomness.reproducible(8)
    noisy = small_space.at(points) + Laplace(space=small_space, epsilon=1.5).noise(390, source)
    for output, place, draw in zip(outputs, noisy, source.uniform(390), strict=True):
        away = [math.dist(place, vector) for vector in small_space.vectors.tolist()]
        one, two = sorted(range(12), key=away.__getitem__)[:2]
        chance = 0.6 * away[two] / (0.4 * away[one] + 0.6 * away[two])
        assert output == (one if draw < chance else two)


# --- the inequality on a line ----------------------------------------------------------------


@cache
def exact_rows(epsilon: float, t: float, *, dropping: bool = False) -> Rows:
    """P[output | input] by integrating the choice over the noise; the twin drops the input."""
    return np.stack([_row(point, epsilon, t, dropping) for point in range(len(LINE) + 1)])


def _row(point: int, epsilon: float, t: float, dropping: bool) -> Rows:
    kept = [word for word in range(len(LINE)) if not (dropping and word == point)]
    space = Space("kept", [LINE.words[word] for word in kept], LINE.vectors[kept])
    vickrey = Vickrey(space=space, epsilon=epsilon, t=t)
    here, places = float(INPUTS[point, 0]), space.vectors.ravel().astype(float)

    def density(at: Rows) -> Rows:
        words, first = vickrey.choices(at[:, None])
        rows, each = np.zeros((len(at), len(LINE))), np.arange(len(at))
        for place, share in enumerate((first, 1 - first)):
            rows[each, np.array(kept)[words[:, place]]] += share
        return rows * (epsilon / 2 * np.exp(-epsilon * np.abs(at - here)))[:, None]

    # The choice has kinks at the words and jumps halfway between any two.
    halfway = ((places[:, None] + places[None]) / 2).ravel().tolist()
    breaks = sorted({here, *halfway})
    return piecewise_integral(
        density, [breaks[0] - 40 / epsilon, *breaks, breaks[-1] + 40 / epsilon]
    )


@pytest.mark.parametrize(("epsilon", "t"), [(0.5, 0.3), (2.0, 0.5), (2.0, 1.0)])
def test_no_pair_of_words_exceeds_the_claim(epsilon: float, t: float) -> None:
    rows = exact_rows(epsilon, t)
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-8)
    assert worst_excess(rows, INPUTS, epsilon) <= 1e-6


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_twin_that_drops_the_input_word_is_caught(epsilon: float) -> None:
    assert worst_excess(exact_rows(epsilon, 0.5, dropping=True), INPUTS, epsilon) == math.inf


def test_twin_with_half_the_noise_is_caught() -> None:
    assert worst_excess(exact_rows(2.0, 0.5), INPUTS, 1.0) > 1e-3


# --- as a component --------------------------------------------------------------------------


def test_the_guarantee_is_that_of_the_noise(small_space: Space) -> None:
    vickrey = Vickrey(space=small_space, epsilon=3)
    assert isinstance(vickrey, PointMechanism)
    assert vickrey.guarantee() == Laplace(space=small_space, epsilon=3).guarantee()


@pytest.mark.parametrize("t", [-0.1, 1.1, math.nan, math.inf, "half", None])
def test_a_t_outside_zero_to_one_is_refused(small_space: Space, t: float) -> None:
    with pytest.raises(InvalidArgument, match="t="):
        Vickrey(space=small_space, epsilon=1, t=t)


def test_the_allowed_range_is_named(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match=r"t=2 must lie between 0 and 1"):
        Vickrey(space=small_space, epsilon=1, t=2)


def test_t_is_read_from_the_command_line(small_space: Space) -> None:
    built = build_mechanism("vickrey", space=small_space, epsilon=1.0, settings={"t": "0.25"})
    assert isinstance(built, Vickrey)
    assert built.t == 0.25
