"""Mechanisms on vectors as subjects of a test: a few vectors that are as far apart as they can be.

Whatever an encoder gives, the claim must hold for it, so the inputs are no texts but rows: huge
ones of opposite signs, one that points along an axis, none at all, and one that is no number.
"""

from __future__ import annotations

import numpy as np

from sfumato.audits.subject import VectorSubject
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.representations.mechanism import VectorMechanism

# Numbers of a vector where nobody says how many: few, so that draws can show something.
SMALL = 2
_NAMES = (
    "a vector (1000, 1000, …)",
    "a vector (−1000, −1000, …)",
    "a vector (1, 0, …)",
    "a vector (−1, 0, …)",
    "the vector 0",
    "a vector that is not a number",
)


def extreme_rows(size: int) -> Floats:
    """One row for each input."""
    axis = np.eye(1, size)[0]
    ones = np.ones(size)
    return np.stack([1e3 * ones, -1e3 * ones, axis, -axis, 0 * ones, np.nan * ones])


def vector_subject(mechanism: VectorMechanism) -> VectorSubject:
    """The claim of a mechanism for any two vectors, over a few that are far apart."""
    guarantee = mechanism.guarantee()
    if guarantee.metric:
        raise InvalidArgument(
            "the level is by distance here, and vectors as far apart as can be are tested: leave "
            "out the setting 'metric'"
        )
    rows = extreme_rows(mechanism.size)

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        return mechanism.release(np.tile(rows[number], (count, 1)), randomness)

    return VectorSubject(
        claim=guarantee.sentence(),
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        inputs=_NAMES,
        source=source,
    )
