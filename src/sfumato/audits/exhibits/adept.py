"""ADePT: Laplace noise for the wrong norm.

What is claimed
    Encode a text, clip the code to length C in the L2 norm, add Laplace noise of scale 2C/ε to
    every coordinate, decode: ε-local differential privacy.

Why it is false
    Laplace noise per coordinate pays for differences in the L1 norm. Two codes of L2 length C are
    up to 2C·√k apart in L1, k being their dimension, so the true level is √k·ε.

Repair
    Scale 2C·√k/ε.

Reference
    Krishna, Gupta and Dupuy 2021, "ADePT: Auto-encoder based differentially private text
    transformation"; the error was found by Habernal 2021, "When differential privacy meets NLP: The
    devil is in the detail".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.exhibits.exhibit import Exhibit, laplace_coordinates
from sfumato.audits.subject import Subject
from sfumato.audits.vectors import VectorSubject
from sfumato.core.randomness import Randomness

DIMENSION = 64
LENGTH = 1.0
EPSILON = 2.0
# What an encoder may give for three texts; two of them lie as far apart as clipping allows.
CODES = np.stack([np.ones(DIMENSION), -np.ones(DIMENSION), np.linspace(-2.0, 2.0, DIMENSION)])
TEXTS = (
    "a text with code (1, 1, …)",
    "a text with code (−1, −1, …)",
    "a text with code (−2, …, 2)",
)
CLAIM = f"Any two texts are told apart by a factor of at most exp({EPSILON:g}) (local DP)."


def make_broken() -> Subject:
    """As published: scale 2C/ε."""
    return _subject(2 * LENGTH / EPSILON)


def make_repaired() -> Subject:
    """With the √k."""
    return _subject(2 * LENGTH * np.sqrt(DIMENSION) / EPSILON)


def _subject(scale: float) -> Subject:
    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        code = CODES[number]
        clipped = code * min(1.0, LENGTH / float(np.linalg.norm(code)))
        noise = laplace_coordinates((count, DIMENSION), scale, randomness)
        noise += clipped
        return noise

    return VectorSubject(claim=CLAIM, epsilon=EPSILON, inputs=TEXTS, source=source)


EXHIBIT = Exhibit(
    name="adept",
    source="ADePT (Krishna et al. 2021), refuted by Habernal 2021",
    claim="Laplace noise of scale 2C/ε on a code clipped to C in L2 is ε-local DP",
    reason=f"the L1 distance is up to √k times larger, so the level is √{DIMENSION} times ε",
    repair="scale 2C·√k/ε",
    broken=make_broken,
    repaired=make_repaired,
)
