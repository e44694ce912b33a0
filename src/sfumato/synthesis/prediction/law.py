"""The law of one token: what many prompts say on average, at a temperature.

Guarantee
    Let s be public. Token y of the V public ones is drawn with probability ∝ exp(Σ φ_i(y)/(s·T)),
    the sum over the prompts, φ_i being the scores of a model after prompt i, recentred and cut to
    [−c, c]. If a prompt is left out, every exponent moves by at most R = c/(s·T) (``shift``), so a
    draw is ρ-zCDP with ρ = R²/2 = c²/(2s²T²) and has the level 2R; if a prompt is exchanged for
    another, R is 2c/(s·T), and ρ four times as large.

Why it holds
    The other prompts stay as they are and so does s: it is a public number and not that of the
    prompts that there are, with which an average would move by what all others say. So exponents x
    and x' of the two corpora differ by φ_i(y)/(s·T), between −R and R. The log-ratio of the two
    probabilities is that difference less a number that is the same for every y, so its values lie
    within a range of 2R, which is a ``BoundedRange`` release (``accounting/bounded_range.py``).

    For the draw the largest exponent is subtracted, and what is then below −600 is raised to it, so
    that no weight is rounded to 0: an outcome that becomes impossible would rule a corpus out. The
    range stays 2R: the largest exponents of both corpora differ by some m between −R and R, so
    where nothing was raised the difference is in [−R − m, R − m], which holds 0; where both were
    raised it is 0; and where one was, it lies between.

Care
    Scores are rounded to whole numbers of c/2^24 before they are added up, so a sum is exact in any
    order and a record changes it by its own part and nothing else. What remains is the rounding of
    600·2^−53 in an exponent, which the plan adds to R (``plan.py``). Scores that are no numbers
    are cut like others: nothing is raised, because whether a run fails would tell what was read.

Reference
    Amin et al. 2024, "Private prediction for large-scale synthetic text generation"; Flemings,
    Razaviyayn and Annavaram 2024, "Differentially private next-token prediction of large language
    models".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Floats, Integers, Points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.draw import Weighted

STEPS = 2**24
_LOWEST = -600.0


@dataclass(frozen=True, kw_only=True, eq=False)
class AverageLaw:
    """What the next token is, by what all prompts say; ``tokens`` are the public ones."""

    tokens: Points
    clip: float
    prompts: int
    temperature: float

    @property
    def shift(self) -> float:
        """R = c/(s·T): how far one prompt moves an exponent."""
        return self.clip / (self.prompts * self.temperature)

    def contributions(self, scores: Floats) -> Integers:
        """φ of some rows of scores in steps of c/2^24, so between −2^24 and 2^24.

        The largest score becomes c, and what is 2c below it, or more, −c.
        """
        given = scores[..., self.tokens]
        chosen = np.where(np.isnan(given), -np.inf, given)
        largest = chosen.max(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", over="ignore"):
            # ∞ − ∞ is nan: what equals the largest is 0 below it, be it finite or not.
            below = np.where(chosen == largest, 0.0, chosen - largest)
        inside = np.clip(below + self.clip, -self.clip, self.clip)
        found: Integers = np.rint(inside * (STEPS / self.clip)).astype(np.int64)
        return np.clip(found, -STEPS, STEPS)

    def logs(self, total: Integers) -> Floats:
        """Logarithms of weights, for a sum of contributions."""
        found: Floats = (total - total.max()) * (self.shift / STEPS)
        return np.maximum(found, _LOWEST)

    def draw(self, total: Integers, randomness: Randomness) -> int:
        """One token."""
        drawn = Weighted.of(np.exp(self.logs(total))).draw(1, randomness)
        return int(self.tokens[drawn[0]])
