"""What an attacker guesses of one word, against brute force over all rules and all words."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.attacks.inference.word_guesses import (
    WEIGHT,
    guess_by_distance,
    guess_by_rows,
    guess_from_places,
    public_knowledge,
    rule_for,
)
from sfumato.core.randomness import Randomness
from sfumato.mechanisms import rows as rows_module
from sfumato.mechanisms import sanitize_plus
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.claims import loss_bounds
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.noise import ByNoise
from sfumato.mechanisms.rows import FromRows
from sfumato.vectors.space import Space
from statistical.hidden_rows import WithoutRows
from unit.attacks.inference.made import rows_of

WITH_ROWS: dict[str, tuple[float, dict[str, object]]] = {
    "exponential": (2.0, {}),
    "truncated": (2.0, {"gamma": 1.5}),
    "hyperbolic": (3.0, {"form": "rows"}),
    "custom": (3.0, {"size": 4}),
    "sanitize-plus": (2.0, {"sensitive_share": 0.5, "p": 0.8}),
}
BY_NOISE: dict[str, tuple[float, dict[str, object]]] = {
    "laplace": (4.0, {}),
    "mahalanobis": (4.0, {"lambda": 0.5}),
    "vickrey": (4.0, {}),
    "projected": (4.0, {"dimensions": 2}),
    "binary": (1.0, {"bits": 7}),
    "hyperbolic": (9.0, {"form": "noise"}),
}


def with_rows(name: str, space: Space) -> FromRows:
    epsilon, settings = WITH_ROWS[name]
    made = build_mechanism(name, space=space, epsilon=epsilon, settings=settings)
    assert isinstance(made, FromRows)
    return made


def by_noise(name: str, space: Space) -> ByNoise:
    epsilon, settings = BY_NOISE[name]
    made = build_mechanism(name, space=space, epsilon=epsilon, settings=settings)
    assert isinstance(made, ByNoise)
    return made


def joint(mechanism: PointMechanism) -> NDArray[np.float64]:
    """prior(x) · P[y | x], one row for each x."""
    known = public_knowledge(mechanism.space, "public")
    shares: NDArray[np.float64] = known.shares[:-1, None] * rows_of(mechanism)
    return shares


def reached(both: NDArray[np.float64], guesses: NDArray[np.intp]) -> float:
    """How often a rule is right, over all words by their prior."""
    return float(both[guesses, np.arange(len(guesses))].sum())


@pytest.mark.parametrize("name", WITH_ROWS)
def test_with_all_words_looked_at_the_guess_is_bayes(small_space: Space, name: str) -> None:
    mechanism = with_rows(name, small_space)
    both, every = joint(mechanism), np.arange(12)
    possible = every[both.max(axis=0) > 0]
    known = public_knowledge(small_space, "public")
    found = guess_by_rows(mechanism, known, possible, 400)
    assert found.settled.all()
    most = float(both.max(axis=0).sum())
    guesses = every.copy()
    guesses[possible] = found.points
    assert reached(both, guesses) == pytest.approx(most, rel=1e-12)


def test_no_rule_beats_it_and_twins_fall_short(small_space: Space) -> None:
    mechanism = with_rows("sanitize-plus", small_space)
    both, every = joint(mechanism), np.arange(12)
    known = public_knowledge(small_space, "public")
    best = reached(both, guess_by_rows(mechanism, known, every, 400).points)
    rules = np.random.default_rng(3).integers(12, size=(5000, 12))
    assert max(reached(both, rule) for rule in rules) <= best
    # Nor does any rule that differs in one guess.
    guesses = guess_by_rows(mechanism, known, every, 400).points
    for y in range(12):
        for x in range(12):
            other = guesses.copy()
            other[y] = x
            assert reached(both, other) <= best * (1 + 1e-12)
    rows = rows_of(mechanism)
    without_prior = rows.argmax(axis=0)
    transposed = (known.shares[:-1, None] * rows.T).argmax(axis=0)
    assert reached(both, without_prior) < 0.99 * best
    assert reached(both, transposed) < 0.99 * best


@pytest.mark.parametrize("name", WITH_ROWS)
def test_what_is_settled_is_bayes_guess_among_all_words(random_space: Space, name: str) -> None:
    mechanism, every = with_rows(name, random_space), np.arange(200)
    both = joint(mechanism)
    found = guess_by_rows(mechanism, public_knowledge(random_space, "public"), every, 5)
    value, most = both[found.points, every], both.max(axis=0)
    beaten = value < most * (1 - 1e-9)
    assert found.settled.any()
    assert not (found.settled & beaten).any()
    # The rule looks at few words here, so it would be false to call all of its guesses settled.
    if name in ("exponential", "sanitize-plus"):
        assert beaten.any()


@pytest.mark.parametrize("name", WITH_ROWS)
def test_no_other_word_exceeds_the_bound_on_rivals(random_space: Space, name: str) -> None:
    mechanism, every = with_rows(name, random_space), np.arange(200)
    shares = public_knowledge(random_space, "public").shares[:-1]
    own, bound = mechanism.own_and_rivals(every, shares)
    both = shares[:, None] * rows_of(mechanism)
    assert np.allclose(own, np.diagonal(rows_of(mechanism)), rtol=2e-3)
    np.fill_diagonal(both, 0.0)
    rivals = both.max(axis=0)
    assert (rivals <= bound * 1.005).all()
    if name != "custom":  # says nothing, for all that can become a word is looked at there
        # A bound of half as much would be false.
        assert (rivals > bound / 2).any()


@pytest.mark.parametrize("name", WITH_ROWS)
def test_quick_chances_are_those_of_the_rows(
    random_space: Space, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "FEW_WORDS", 0)
    monkeypatch.setattr(sanitize_plus, "FEW_WORDS", 0)
    mechanism = with_rows(name, random_space)
    points, words = np.array([0, 5, 77, 150, 199, random_space.unknown]), np.arange(0, 200, 7)
    exact = np.exp(mechanism.log_rows(points)[:, words])
    assert np.allclose(mechanism.chances(points, words), exact, rtol=2e-3, atol=1e-12)


@pytest.mark.parametrize("name", BY_NOISE)
def test_noise_is_drawn_in_the_distance_that_is_stated(small_space: Space, name: str) -> None:
    mechanism, every = by_noise(name, small_space), np.arange(12)
    found = mechanism.distances_from(mechanism.places(every))
    stated = np.array([loss_bounds(mechanism, x)[:-1] for x in range(12)]) / mechanism.epsilon
    # In single precision the distance of a place from itself is not quite 0.
    assert np.allclose(found, stated, rtol=1e-3, atol=0.06 if name == "hyperbolic" else 5e-3)
    assert np.array_equal(mechanism.distances_from(mechanism.places(every), 5), found[:, :5])


@pytest.mark.parametrize("name", BY_NOISE)
def test_a_draw_is_noise_and_what_is_read_off_it(small_space: Space, name: str) -> None:
    mechanism, points = by_noise(name, small_space), np.arange(13).repeat(4)
    first, second = Randomness.reproducible(4), Randomness.reproducible(4)
    drawn = mechanism.privatize(points, first)
    places = mechanism.moved(points, second)
    assert np.array_equal(drawn, mechanism.words_at(places, second))


def test_who_sees_the_place_has_the_exact_posterior(small_space: Space) -> None:
    mechanism = by_noise("laplace", small_space)
    known = public_knowledge(small_space, "public")
    places = mechanism.moved(np.array([0, 3, 7, 11] * 5), Randomness.reproducible(5))
    guesses, beliefs = guess_from_places(mechanism, known, places, 3)
    away = np.linalg.norm(places[:, None] - small_space.vectors[None], axis=2)

    def posterior(epsilon: float) -> NDArray[np.float64]:
        weights = known.shares[:-1] * np.exp(-epsilon * away)
        found: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return found

    assert np.allclose(beliefs, posterior(4.0)[:, 3], rtol=1e-3)
    assert np.array_equal(guesses, posterior(4.0).argmax(axis=1))
    assert not np.allclose(beliefs, posterior(8.0)[:, 3], rtol=1e-2)


def test_a_guess_by_distance_is_the_best_by_its_formula(random_space: Space) -> None:
    mechanism, every = by_noise("laplace", random_space), np.arange(200)
    known = public_knowledge(random_space, "public")
    vectors = random_space.vectors.astype(np.float64)
    away = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    scores = np.log(known.shares[:-1]) - WEIGHT * mechanism.epsilon * away
    found = guess_by_distance(mechanism, known, every)
    assert np.allclose(scores[every, found], scores.max(axis=1), atol=0.02)


def test_of_an_unknown_law_what_came_out_is_taken_at_its_word(small_space: Space) -> None:
    hidden = WithoutRows(with_rows("exponential", small_space))
    known = public_knowledge(small_space, "public")
    found = rule_for(hidden, known, 400)(np.arange(12))
    assert np.array_equal(found.points, np.arange(12))
    assert not found.settled.any()


def test_words_that_look_the_same_are_one_output() -> None:
    vectors = np.array([[0, 0], [1, 0], [0.2, 0.1], [5, 5]], dtype=np.float32)
    space = Space("twice", ["rome", "paris", "Rome", "far"], vectors)
    mechanism = build_mechanism("exponential", space=space, epsilon=2.0)
    known = public_knowledge(space, "restore")
    assert not known.spelled_apart
    assert known.seen_as.tolist() == [0, 1, 0, 3]
    rows = rows_of(mechanism)
    rows[:, 0] += rows[:, 2]
    both = known.shares[:-1, None] * rows
    found = guess_by_rows(mechanism, known, np.array([0, 1, 3]), 400)  # type: ignore[arg-type]
    assert found.points.tolist() == both[:, [0, 1, 3]].argmax(axis=0).tolist()
