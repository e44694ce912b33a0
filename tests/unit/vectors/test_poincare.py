"""The ball by its textbook formulas, where those have the digits, and beyond."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.typing import NDArray

from pairs import all_points
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.vectors import poincare as module
from sfumato.vectors.poincare import Ball
from sfumato.vectors.space import Space

Numbers = NDArray[np.float64]


def in_the_ball(ball: Ball) -> Numbers:
    """Every point in the Poincaré ball, by the map as it is documented."""
    points = all_points(ball.space)
    return np.asarray(np.tanh(ball.radii / 2)[:, None] * ball.directions(points))


def ball_distance(x: Numbers, y: Numbers) -> float:
    """The textbook formula."""
    gap = float(np.square(x - y).sum())
    return math.acosh(1 + 2 * gap / ((1 - float(x @ x)) * (1 - float(y @ y))))


def klein_distance(x: Numbers, y: Numbers) -> float:
    """The textbook formula for places of the Klein model."""
    room = (1 - float(x @ x)) * (1 - float(y @ y))
    return math.acosh(max(1.0, (1 - float(x @ y)) / math.sqrt(room)))


def moebius(x: Numbers, z: Numbers) -> Numbers:
    """x ⊕ z, written out (Ungar 2008)."""
    inner, xx, zz = float(x @ z), float(x @ x), float(z @ z)
    return ((1 + 2 * inner + zz) * x + (1 - xx) * z) / (1 + 2 * inner + xx * zz)


def unit(randomness: Randomness, count: int, dimension: int) -> Numbers:
    directions = randomness.normal(count, dimension)
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def test_the_distances_are_those_of_the_poincare_ball(small_space: Space) -> None:
    ball = Ball.of(small_space, 0.7)
    places = in_the_ball(ball)
    for point in all_points(small_space).tolist():
        naive = [ball_distance(places[point], other) for other in places]
        # The textbook formula loses digits near 0; ours must not.
        assert ball.distances_from(point) == pytest.approx(naive, rel=1e-6, abs=2e-7)
        assert ball.distances_from(point)[point] == 0.0


def test_words_at_one_place_are_at_distance_0(random_space: Space) -> None:
    ball = Ball.of(random_space)
    found = ball.distances(np.arange(5), slice(190, 195))
    assert (np.diag(found) == 0.0).all()


def precise_distance(space: Space, scale: float, one: int, two: int) -> float:
    """The textbook formula for two words, with eighty digits."""
    with localcontext() as context:
        context.prec = 80
        centroid = [Decimal(float(value)) for value in space.centroid]
        places = []
        for word in (one, two):
            vector = [
                Decimal(float(v)) - c for v, c in zip(space.vectors[word], centroid, strict=True)
            ]
            length = sum((value * value for value in vector), Decimal(0)).sqrt()
            grown = (Decimal(scale) * length).exp()  # tanh(x/2) = (eˣ − 1)/(eˣ + 1)
            places.append([value / length * (grown - 1) / (grown + 1) for value in vector])
        x, y = places
        gap = sum(((a - b) * (a - b) for a, b in zip(x, y, strict=True)), Decimal(0))
        room = (1 - sum(a * a for a in x)) * (1 - sum(b * b for b in y))
        cosh = 1 + 2 * gap / room
        return float((cosh + (cosh * cosh - 1).sqrt()).ln())


def test_towards_the_rim_near_duplicates_keep_their_digits() -> None:
    # At radius 11, 1 − |y|² is 7e-5 of 1e-4; the near-duplicates are 1e-5 apart.
    vectors = np.array([[14, 0.5], [14 - 2**-16, 0.5], [14, 0.5 + 2**-18], [-14, 1], [2, 9]])
    space = Space("rim", ["a", "b", "c", "d", "e"], vectors.astype(np.float32))
    scale = 11 / float(np.linalg.norm(space.vectors - space.centroid, axis=1).max())
    found = Ball.of(space, scale).distances(np.arange(5), slice(None))
    for one in range(5):
        for two in range(5):
            precise = precise_distance(space, scale, one, two) if one != two else 0.0
            assert found[one, two] == pytest.approx(precise, rel=1e-8, abs=1e-11)


def test_distances_do_not_depend_on_blocks(
    random_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    ball = Ball.of(random_space)
    whole = ball.distances(all_points(random_space), slice(None))
    monkeypatch.setattr(module, "WORDS", 24)
    parts = ball.distances(all_points(random_space), slice(None))
    assert np.abs(parts - whole).max() < 1e-13
    assert ball.distances(np.arange(7), slice(30, 41)) == pytest.approx(whole[:7, 30:41], abs=1e-13)


def test_distances_satisfy_the_triangle_inequality(random_space: Space) -> None:
    ball = Ball.of(random_space, 2.4)
    points = all_points(random_space)
    apart = np.stack([ball.distances_from(int(point)) for point in points])
    for middle in points[::7]:
        around = apart[:, middle, None] + apart[None, middle, :]
        assert (apart <= around * (1 + 1e-12) + 1e-12).all()


def test_the_map_keeps_distances_from_the_centroid(small_space: Space) -> None:
    ball = Ball.of(small_space, 0.7)
    lengths = np.linalg.norm(small_space.vectors - small_space.centroid, axis=1)
    assert ball.distances_from(small_space.unknown)[:-1] == pytest.approx(0.7 * lengths)
    assert ball.distances_from(small_space.unknown)[-1] == 0.0


def test_a_small_scale_is_nearly_flat(random_space: Space) -> None:
    ball = Ball.of(random_space, 1e-4)
    flat = np.linalg.norm(random_space.vectors - random_space.vectors[7], axis=1)
    assert ball.distances_from(7)[:-1] / 1e-4 == pytest.approx(flat, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("scale", [0.1, 1.0, 2.0])
def test_every_pair_is_stretched_by_the_scale_or_more_but_not_beyond_the_stated_factor(
    random_space: Space, scale: float
) -> None:
    ball = Ball.of(random_space, scale)
    places = random_space.at(all_points(random_space))
    longest = np.linalg.norm(places - random_space.centroid, axis=1).max()
    assert ball.stretch == pytest.approx(math.sinh(scale * longest) / longest)
    for point in all_points(random_space).tolist():
        flat = np.linalg.norm(places - places[point], axis=1)
        found = ball.distances_from(point)
        assert (found <= ball.stretch * flat * (1 + 1e-9) + 1e-12).all()
        assert (found >= scale * flat * (1 - 1e-9) - 1e-12).all()


def test_the_stretch_is_nearly_reached_across_the_longest_words() -> None:
    turn = 1e-3
    vectors = [[3.0, 0.0], [3.0 * math.cos(turn), 3.0 * math.sin(turn)], [-3.0, 0.0], [-3.0, 0.0]]
    space = Space("wheel", ["a", "b", "c", "d"], np.array(vectors, dtype=np.float32))
    ball = Ball.of(space, 1.0)
    flat = float(np.linalg.norm(space.vectors[0] - space.vectors[1]))
    assert ball.distances_from(0)[1] / flat == pytest.approx(ball.stretch, rel=1e-3)


def test_moving_is_moebius_addition_and_as_long_as_it_says(small_space: Space) -> None:
    ball, randomness = Ball.of(small_space, 0.4), Randomness.reproducible(5)
    points = np.tile(all_points(small_space), 5)
    steps, along = 3 * randomness.uniform(len(points)), unit(randomness, len(points), 3)
    places = in_the_ball(ball)
    moved = ball.moved(points, along, np.tanh(steps))
    for place, point in enumerate(points.tolist()):
        there = moebius(places[point], math.tanh(steps[place] / 2) * along[place])
        # From the ball to the Klein model: tanh(r) for tanh(r/2).
        klein = 2 * there / (1 + float(there @ there))
        assert moved[place] == pytest.approx(klein, abs=1e-12)
        assert ball_distance(places[point], there) == pytest.approx(steps[place], rel=1e-5)


def test_moving_keeps_distances(small_space: Space) -> None:
    # The same two steps from any point lead to places as far apart as from the middle.
    ball, randomness = Ball.of(small_space, 0.5), Randomness.reproducible(6)
    along, steps = unit(randomness, 2, 3), np.tanh(np.array([0.8, 1.7]))
    apart = klein_distance(*(steps[:, None] * along))
    for point in all_points(small_space).tolist():
        one, two = ball.moved(np.array([point, point]), along, steps)
        assert klein_distance(one, two) == pytest.approx(apart, rel=1e-9)


def test_the_nearest_word_is_that_of_a_plain_loop(small_space: Space) -> None:
    ball, randomness = Ball.of(small_space, 0.6), Randomness.reproducible(7)
    points = np.tile(all_points(small_space), 10)
    steps = np.tanh(2 * randomness.uniform(len(points)))
    moved = ball.moved(points, unit(randomness, len(points), 3), steps)
    words = np.tanh(ball.radii[:-1])[:, None] * ball.directions(np.arange(len(small_space)))
    for place, found in zip(moved, ball.nearest(moved), strict=True):
        distances = [klein_distance(place, word) for word in words]
        assert distances[found] == pytest.approx(min(distances), abs=1e-9)


def test_a_step_of_nothing_finds_the_word_itself_up_to_the_largest_radius(
    random_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORDS", 33)
    longest = float(np.linalg.norm(random_space.vectors - random_space.centroid, axis=1).max())
    ball = Ball.of(random_space, module.LARGEST_RADIUS / longest * (1 - 1e-12))
    points = np.arange(190)
    nowhere = ball.moved(points, unit(Randomness.reproducible(8), 190, 6), np.zeros(190))
    found = ball.nearest(nowhere)
    # Of words at one place the first is found, of near-duplicates either.
    assert (ball.distances(points, slice(None))[points, found] < 1e-3).all()


def test_places_on_the_rim_have_a_nearest_word(small_space: Space) -> None:
    ball = Ball.of(small_space, 2.0)
    rim = unit(Randomness.reproducible(9), 200, 3)
    moved = ball.moved(np.tile(all_points(small_space), 20)[:200], rim, np.ones(200))
    assert np.isfinite(moved).all()
    assert np.linalg.norm(moved, axis=1) == pytest.approx(1.0, abs=1e-9)
    assert set(ball.nearest(moved).tolist()) <= set(range(len(small_space)))


def test_the_default_scale_puts_a_typical_word_at_distance_2(random_space: Space) -> None:
    ball = Ball.of(random_space)
    assert math.sqrt(np.square(ball.radii[:-1]).mean()) == pytest.approx(2.0)


def test_a_lonely_word_keeps_the_default_scale_small() -> None:
    vectors = np.full((1000, 2), 1e-3, dtype=np.float32)
    vectors[0] = 1e4
    space = Space("lonely", [f"w{number}" for number in range(1000)], vectors)
    assert Ball.of(space).radii.max() == pytest.approx(module.LARGEST_RADIUS)


def test_words_that_all_stand_at_one_place_are_in_the_middle() -> None:
    space = Space("heap", ["a", "b"], np.ones((2, 3), dtype=np.float32))
    ball = Ball.of(space)
    assert (ball.radii == 0).all()
    assert ball.stretch == ball.scale
    assert (ball.distances_from(2) == 0).all()
    assert Ball.of(space, 5.0).scale == 5.0


def test_a_scale_that_leads_beyond_the_numbers_is_refused(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match=r"scale=100 must be at most \d"):
        Ball.of(small_space, 100.0)
