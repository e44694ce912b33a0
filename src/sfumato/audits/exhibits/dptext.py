"""DPText: Laplace noise with one side missing.

What is claimed
    Laplace noise of scale 2d/ε on a hidden representation in [−1, 1]^d, made by the inverse of the
    distribution function from a uniform number so that training can go through it: ε-differential
    privacy.

Why it is false
    The formula s = −b·sgn(u)·ln(1 − 2|u|) gives Laplace noise for u uniform on (−½, ½). Fed with u
    uniform on (0, ½), as here, it gives positive numbers only, so no output lies below its input:
    one output can exclude an input altogether, and the level is infinite.

Repair
    u uniform on (−½, ½).

Reference
    Beigi et al. 2019, "I am not what I write: Privacy preserving text representation learning";
    the error was found by Habernal 2022, "How reparametrization trick broke differentially-private
    text representation learning".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import Subject
from sfumato.audits.vectors import VectorSubject
from sfumato.core.randomness import Randomness

DIMENSION = 8
EPSILON = 1.0
SCALE = 2 * DIMENSION / EPSILON
STATES = (0.0, 1.0)
TEXTS = ("a text with hidden state (0, 0, …)", "a text with hidden state (1, 1, …)")
CLAIM = f"Any two texts are told apart by a factor of at most exp({EPSILON:g}) (local DP)."


def make_broken() -> Subject:
    """The uniform number comes from (0, ½): noise is positive."""
    return _subject(from_=0.0)


def make_repaired() -> Subject:
    """The uniform number comes from (−½, ½)."""
    return _subject(from_=-0.5)


def _subject(from_: float) -> Subject:
    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        u = from_ + (0.5 - from_) * randomness.uniform(count * DIMENSION)
        # 1 − 2|u| may be 0 at an end of the interval, which has probability 2^−53.
        inside = np.maximum(1 - 2 * np.abs(u), np.finfo(np.float64).tiny)
        noise = -SCALE * np.sign(u) * np.log(inside)
        noisy: NDArray[np.float64] = STATES[number] + noise.reshape(count, DIMENSION)
        return noisy

    return VectorSubject(claim=CLAIM, epsilon=EPSILON, inputs=TEXTS, source=source)


EXHIBIT = Exhibit(
    name="dptext",
    source="DPText (Beigi et al. 2019), refuted by Habernal 2022",
    claim="Laplace noise made from a uniform number by a formula is ε-DP",
    reason="from the wrong uniform number comes one-sided noise: outputs can exclude an input",
    repair="a uniform number on (−½, ½)",
    broken=make_broken,
    repaired=make_repaired,
)
