"""Hyperbolic noise and the nearest word, against rows integrated over all directions in the plane.

Seen from an input x, cosh d_H(q, y) / cosh r = A + B·tanh r along a ray, with A = cosh d_H(x, y).
So each output has one interval of tanh r, and a row is an integral over angles of what the law of
the length gives to that interval.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.hyperbolic import Hyperbolic, tanh_of_length
from sfumato.mechanisms.laplace import laplace_noise
from sfumato.vectors.poincare import Ball
from statistical.test_noise_mechanisms import PLANE, counted, disagrees

Numbers = NDArray[np.float64]
Draw = Callable[[NDArray[np.intp], Randomness], NDArray[np.intp]]
# P[tanh r > value], the law of the length of a step.
Tail = Callable[[Numbers], Numbers]

EPSILON = 2.5
SCALE = 0.8
# Directions looked at; what a row misses by is of the order of one over their square.
ANGLES = 20_000
CASE = ("rows: after other noise", "hyperbolic")


def beyond(epsilon: float) -> Tail:
    """The law that the proof needs: e^(−2r) = (1 − tanh r)/(1 + tanh r) is Beta."""
    return lambda tanh: np.asarray(
        stats.beta.cdf((1 - tanh) / (1 + tanh), (epsilon - 1) / 2, 2), dtype=np.float64
    )


def beyond_by_volume_of_the_ball(epsilon: float) -> Tail:
    """The twin: density e^(−εr) with respect to ordinary volume of the ball, integrated."""
    lengths = np.linspace(0.0, 40.0, 400_001)
    density = np.exp(-epsilon * lengths) * np.tanh(lengths / 2) / np.cosh(lengths / 2) ** 2
    mass = integrate.cumulative_simpson(density, x=lengths, initial=0)
    shares = 1 - mass / mass[-1]
    return lambda tanh: np.interp(np.arctanh(np.minimum(tanh, 1 - 1e-16)), lengths, shares)


@cache
def hyperboloid() -> Numbers:
    """Every point on the hyperboloid: cosh r, then sinh r times the direction."""
    ball = Ball.of(PLANE, SCALE)
    along = ball.directions(np.arange(len(PLANE) + 1))
    return np.column_stack([np.cosh(ball.radii), np.sinh(ball.radii)[:, None] * along])


def apart(one: Numbers, many: Numbers) -> Numbers:
    """cosh of the distance, from the product of the hyperboloid."""
    return np.asarray(one[..., 0] * many[..., 0] - (one[..., 1:] * many[..., 1:]).sum(axis=-1))


def tangents(point: Numbers) -> Numbers:
    """The unit vectors at a point that Möbius addition makes of all directions in the middle."""
    angles = (np.arange(ANGLES) + 0.5) * (2 * np.pi / ANGLES)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    inner = directions @ point[1:]
    return np.column_stack([inner, directions + np.outer(inner / (1 + point[0]), point[1:])])


def row(point: Numbers, tail: Tail) -> Numbers:
    """P[output | point] for every word, as a mean over directions."""
    words = hyperboloid()[:-1]
    # q = x·cosh r + T·sinh r, so cosh d(q, y)/cosh r = A + B·tanh r with B from T.
    offsets, slopes = apart(point, words), -apart(tangents(point)[:, None], words)
    rise = slopes[:, None, :] - slopes[:, :, None]
    room = np.broadcast_to(offsets[None, :] - offsets[:, None], rise.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = room / rise
    until = np.clip(np.where(rise > 0, meeting, 1.0).min(axis=2), 0, 1)
    since = np.clip(np.where(rise < 0, meeting, 0.0).max(axis=2), 0, 1)
    empty = ((rise == 0) & (room < 0)).any(axis=2) | (until <= since)
    return np.asarray(np.where(empty, 0.0, tail(since) - tail(until)).mean(axis=0))


@cache
def rows(honest: bool) -> Numbers:
    tail = beyond(EPSILON) if honest else beyond_by_volume_of_the_ball(EPSILON)
    return np.stack([row(point, tail) for point in hyperboloid()])


def worst_excess(found: Numbers) -> float:
    """By how many nats the worst pair of inputs exceeds epsilon times its distance."""
    claimed = Hyperbolic(space=PLANE, epsilon=EPSILON, scale=SCALE)
    bounds = np.stack([claimed.loss_bounds(point) for point in range(len(PLANE) + 1)])
    logs = np.log(found)
    return float((logs[:, None, :] - logs[None, :, :] - bounds[:, :, None]).max())


def test_no_pair_exceeds_the_level_in_the_distance_of_the_ball() -> None:
    assert rows(True).sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert worst_excess(rows(True)) <= 1e-5


def test_twin_with_the_volume_of_the_ball_exceeds_the_level() -> None:
    assert rows(False).sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert worst_excess(rows(False)) > 1e-2


def moved_by(lengths: Callable[[int, Randomness], Numbers]) -> Draw:
    """The mechanism with steps of another law."""
    ball = Ball.of(PLANE, SCALE)

    def draw(points: NDArray[np.intp], source: Randomness) -> NDArray[np.intp]:
        along = laplace_noise(2, 1.0, len(points), source)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        return ball.nearest(ball.moved(points, along, lengths(len(points), source)))

    return draw


def halved(count: int, source: Randomness) -> Numbers:
    drawn = np.minimum(tanh_of_length(2, EPSILON, count, source), 1 - 1e-16)
    return np.asarray(np.tanh(np.arctanh(drawn) / 2))


def by_volume_of_the_ball(count: int, source: Randomness) -> Numbers:
    lengths = np.linspace(0.0, 40.0, 400_001)
    below = 1 - beyond_by_volume_of_the_ball(EPSILON)(np.tanh(lengths[lengths < 18]))
    return np.asarray(np.tanh(np.interp(source.uniform(count), below, lengths[lengths < 18])))


def test_draws_have_the_exact_probabilities() -> None:
    honest = Hyperbolic(space=PLANE, epsilon=EPSILON, scale=SCALE)
    assert honest.form == "noise"
    assert not disagrees(counted(PLANE, honest.privatize, seed=51), rows(True), *CASE)
    same = moved_by(lambda count, source: tanh_of_length(2, EPSILON, count, source))
    assert not disagrees(counted(PLANE, same, seed=52), rows(True), *CASE), (
        "the twins fail for what was changed in them"
    )
    louder = Hyperbolic(space=PLANE, epsilon=2 * EPSILON, scale=SCALE)
    for twin in (louder.privatize, moved_by(halved), moved_by(by_volume_of_the_ball)):
        assert disagrees(counted(PLANE, twin, seed=53), rows(True), *CASE)
