"""Public sets that vectors are moved into, so that any two of them are a known distance apart.

Why it matters
    Noise hides a vector only as far as vectors can be apart, and what an encoder gives has no bound
    that anybody has proven. So each row is moved into a public set first: a ball (L2), a box, or
    the set of vectors whose coordinates add up to at most a constant (L1). The widths, for k
    numbers: a ball of radius C is 2C wide in L2 and 2C·√k in L1; a box [−c, c]^k is 2c·√k wide in
    L2 and 2c·k in L1; the L1 ball of radius C is 2C wide in both.

    Rows are moved a hair inside the set, so that rounding does not leave it; for that they are
    taken as numbers of 53 bits first, whatever an encoder gives. A row that is not finite counts as
    0. Each row is moved by itself: no row has an influence on another.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Floats

HAIR = 1e-12


def finite_rows(rows: Floats) -> Floats:
    """The same rows, with zeros in the place of those that are not finite.

    >>> finite_rows(np.array([[1.0, 2.0], [np.nan, 0.0]])).tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """
    whole = np.asarray(rows, dtype=np.float64)
    found: Floats = np.where(np.isfinite(whole).all(axis=1, keepdims=True), whole, 0.0)
    return found


def clip_to_box(rows: Floats, half: float) -> Floats:
    """Each coordinate between −half and half."""
    inside = half * (1 - HAIR)
    return np.clip(finite_rows(rows), -inside, inside)


def clip_rows(rows: Floats, length: float, order: int = 2) -> Floats:
    """Rows that are longer than ``length`` are shortened to it; ``order`` is 2 for L2, 1 for L1."""
    known, scaled, lengths, largest = _measured(rows, order)
    inside = length * (1 - HAIR)
    with np.errstate(over="ignore"):  # what is longer than a number can be is too long
        fits = lengths * largest <= inside
    found: Floats = np.where(fits, known, scaled * (inside / np.where(lengths > 0, lengths, 1.0)))
    return found


def scale_rows(rows: Floats, length: float, order: int = 2) -> Floats:
    """Each row at ``length``; a row of zeros stays one.

    >>> scale_rows(np.array([[3.0, 4.0], [0.0, 0.0]]), 1.0).round(6).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    _, scaled, lengths, _ = _measured(rows, order)
    found: Floats = scaled * (length * (1 - HAIR) / np.where(lengths > 0, lengths, 1.0))
    return found


def _measured(rows: Floats, order: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Rows, rows divided by their largest coordinate, how long these are, and that coordinate.

    In two steps, so that squares of huge or tiny numbers neither overflow nor vanish.
    """
    known = finite_rows(rows)
    largest = np.abs(known).max(axis=1, keepdims=True, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    scaled = known / largest
    return known, scaled, np.linalg.norm(scaled, ord=order, axis=1, keepdims=True), largest
