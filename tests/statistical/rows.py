"""Exact probabilities of every output, for noise plus nearest word in one and two dimensions.

Seen from an input, the cell of an output word along a ray is one interval, because cells of
nearest words are convex. So a row is an integral over directions of what the law of the length
gives to that interval: a sum of two in one dimension, a quadrature over the angle in two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special

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
    both = along_rays(words, place, np.array([[1.0], [-1.0]]), lengths)
    return np.asarray(both.mean(axis=0))


def _row_in_a_plane(words: Points, place: Points, lengths: Gamma) -> Points:
    def density(angles: Points) -> Points:
        rays = np.column_stack([np.cos(angles), np.sin(angles)])
        return along_rays(words, place, rays, lengths) / (2 * np.pi)

    return piecewise_integral(density, [-np.pi, *corners(words, place), np.pi])


def piecewise_integral(density: Callable[[Points], Points], breaks: Sequence[float]) -> Points:
    """The integral of rows (one for each number that is given) from the first break to the last.

    By the rule of Gauss with more nodes and with fewer, between any two breaks at once; where both
    differ, in two halves.
    """
    ends = np.unique(np.array(breaks))
    first, last = ends[:-1], ends[1:]
    total, error = np.zeros(()), 0.0
    for _ in range(60):
        many, few = (_by_gauss(density, first, last, nodes) for nodes in (20, 14))
        doubt = np.abs(many - few).max(axis=1)
        good = doubt <= 1e-13
        total = total + many[good].sum(axis=0)
        error += float(doubt[good].sum())
        first, last = first[~good], last[~good]
        if not len(first):
            break
        middle = (first + last) / 2
        first, last = np.concatenate([first, middle]), np.concatenate([middle, last])
    if len(first) or error > 1e-9:
        raise ArithmeticError(f"the quadrature is only good to {error}")
    return np.asarray(total)


def _by_gauss(
    density: Callable[[Points], Points], first: Points, last: Points, nodes: int
) -> Points:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    half = (last - first)[:, None] / 2
    found = density((first[:, None] + half * (1 + places)).ravel())
    found = found.reshape(len(first), nodes, -1)
    return np.asarray(np.einsum("ink,in->ik", found, half * weights))


def along_rays(words: Points, place: Points, rays: Points, lengths: Gamma) -> Points:
    """What each word (one per column) gets of the lengths along each ray (one per row)."""
    # |place + r·ray − y|² <= |place + r·ray − z|²  means  2r·ray·(z − y) <= |p − z|² − |p − y|².
    slopes = 2 * rays @ words.T
    offsets = np.square(words - place).sum(axis=1)
    rise = slopes[:, None, :] - slopes[:, :, None]
    room = np.broadcast_to(offsets[None, :] - offsets[:, None], rise.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = room / rise
    until = np.where(rise > 0, meeting, np.inf).min(axis=2)
    since = np.where(rise < 0, meeting, 0.0).max(axis=2)
    never = ((rise == 0) & (room < 0)).any(axis=2)
    empty = never | (until <= since)
    # Far out both values are close to one; the difference of the tails keeps all digits.
    tails = lengths.sf(np.stack([since, np.maximum(until, since)]))
    return np.where(empty, 0.0, tails[0] - tails[1])


def corners(words: Points, place: Points) -> list[float]:
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
