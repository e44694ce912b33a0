"""Exact probabilities of every output, for noise plus nearest word in one and two dimensions.

Seen from an input, the cell of an output word along a ray is one interval, because cells of
nearest words are convex. So a row is an integral over directions of what the law of the length
gives to that interval: a sum of two in one dimension, a quadrature over the angle in two.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Gamma:
    """The law of a length; only its tail, for a quadrature asks for that many thousand times."""

    shape: float
    scale: float

    def sf(self, lengths: Points) -> Points:
        return np.asarray(special.gammaincc(self.shape, lengths / self.scale))


def exact_rows(words: Points, inputs: Points, lengths: Gamma) -> Points:
    """P[output | input] for every input (one per row) and word (one per column)."""
    row = _row_on_a_line if words.shape[1] == 1 else _row_in_a_plane
    return np.stack([row(words, place, lengths) for place in inputs])


def _row_on_a_line(words: Points, place: Points, lengths: Gamma) -> Points:
    right, left = (along_ray(words, place, np.array([side]), lengths) for side in (1.0, -1.0))
    return (right + left) / 2


def _row_in_a_plane(words: Points, place: Points, lengths: Gamma) -> Points:
    def density(angle: float) -> Points:
        ray = np.array([np.cos(angle), np.sin(angle)])
        return along_ray(words, place, ray, lengths) / (2 * np.pi)

    row, error = integrate.quad_vec(
        density, -np.pi, np.pi, epsabs=1e-11, epsrel=1e-11, points=_corners(words, place)
    )
    if error > 1e-9:
        raise ArithmeticError(f"the quadrature is only good to {error}")
    return np.asarray(row)


def along_ray(words: Points, place: Points, ray: Points, lengths: Gamma) -> Points:
    """What each word gets of the lengths along one ray."""
    # |place + r·ray − y|² <= |place + r·ray − z|²  means  2r·ray·(z − y) <= |p − z|² − |p − y|².
    slopes = 2 * (words @ ray)
    offsets = np.square(words - place).sum(axis=1)
    rise = slopes[None, :] - slopes[:, None]
    room = offsets[None, :] - offsets[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = room / rise
    until = np.where(rise > 0, meeting, np.inf).min(axis=1)
    since = np.where(rise < 0, meeting, 0.0).max(axis=1)
    never = ((rise == 0) & (room < 0)).any(axis=1)
    empty = never | (until <= since)
    # Far out both values are close to one; the difference of the tails keeps all digits.
    tails = lengths.sf(np.stack([since, np.maximum(until, since)]))
    return np.where(empty, 0.0, tails[0] - tails[1])


def _corners(words: Points, place: Points) -> list[float]:
    """The angles at which corners of cells are seen: the integrand has its kinks there."""
    angles = set()
    for three in combinations(range(len(words)), 3):
        a, b, c = words[list(three)]
        sides = np.array([b - a, c - a])
        if abs(np.linalg.det(sides)) > 1e-12:
            corner = a + np.linalg.solve(2 * sides, np.square(sides).sum(axis=1))
            step = corner - place
            angles.add(round(float(np.arctan2(step[1], step[0])), 12))
    return sorted(angles)


def worst_excess(rows: Points, inputs: Points, claimed: float) -> float:
    """By how many nats the worst pair of inputs exceeds ``claimed`` times its distance."""
    distance = np.linalg.norm(inputs[:, None] - inputs[None], axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rows)
        ratio = logs[:, None, :] - logs[None, :, :]
    # 0/0 says nothing; something over 0 is an infinite excess and stays one.
    ratio = np.where(np.isnan(ratio), -np.inf, ratio)
    return float((ratio - claimed * distance[:, :, None]).max())
