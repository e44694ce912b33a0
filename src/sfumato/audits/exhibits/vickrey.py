"""Vickrey that looks back: the input word is left out of the choice.

What is claimed
    Laplace noise, then one of the two nearest words, the original excepted so that every word is
    replaced: metric DP at the level of the noise.

Why it is false
    Leaving out the original needs the original, so it is no post-processing. A word then has
    probability 0 for itself and not for its neighbors, however near they are.

Repair
    Choose between the two words nearest to the noisy vector, whichever they are.

Reference
    Xu, Feyisetan, Aggarwal, Xu and Teissier 2021, "On a utilitarian approach to privacy preserving
    text generation", as several implementations read it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.colors import color_space
from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.vickrey import Vickrey, chance_of_first
from sfumato.vectors.search import NearestTwo
from sfumato.vectors.space import Space

EPSILON = 1.0


@dataclass(frozen=True, kw_only=True)
class VickreyWithoutTheInput:
    """As Vickrey, but the two words are the nearest ones *other than the input*."""

    space: Space
    epsilon: float
    t: float = 0.5

    def guarantee(self) -> Guarantee:
        """The claim: what Vickrey states."""
        return Vickrey(space=self.space, epsilon=self.epsilon, t=self.t).guarantee()

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """Two nearest words, the input left out: this is where the claim breaks."""
        outputs = np.empty(len(points), dtype=np.intp)
        for point in np.unique(points).tolist():
            places = np.flatnonzero(points == point)
            outputs[places] = self._drawn(point, len(places), randomness)
        return outputs

    def _drawn(self, point: int, count: int, randomness: Randomness) -> NDArray[np.intp]:
        noise = Laplace(space=self.space, epsilon=self.epsilon).noise(count, randomness)
        others = np.flatnonzero(np.arange(len(self.space)) != point)
        words, away = NearestTwo(self.space.vectors[others]).find(
            self.space.at(np.array([point], dtype=np.intp)) + noise
        )
        taken = randomness.uniform(count) < chance_of_first(away[:, 0], away[:, 1], self.t)
        return others[np.where(taken, words[:, 0], words[:, 1])]


def make_broken() -> PointMechanism:
    """The input is left out."""
    return VickreyWithoutTheInput(space=color_space(EPSILON), epsilon=EPSILON)


def make_repaired() -> PointMechanism:
    """Vickrey as it is in the catalog."""
    return Vickrey(space=color_space(EPSILON), epsilon=EPSILON)


EXHIBIT = Exhibit(
    name="vickrey-without-input",
    source="the Vickrey mechanism (Xu et al. 2021b) with the input word dropped",
    claim="choosing among the nearest words other than the input is metric DP",
    reason="a word has probability 0 for itself and not for its neighbors",
    repair="choose among the nearest words, whichever they are (vickrey)",
    broken=make_broken,
    repaired=make_repaired,
)
