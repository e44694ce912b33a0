"""Mechanisms on points of the globe: places in three dimensions, in km from the earth's center.

Guarantee
    Metric DP at level ``epsilon`` per km in the straight-line distance between two places, for both
    mechanisms here. That line runs through the earth, so it is never longer than the way along the
    ground, and the statement holds in the latter as well; up to 1,000 km they differ by 0.1 %.

Why it holds
    Both are mechanisms of a Euclidean space of three dimensions, in which a place is a point:
    ``exponential`` draws a place y with a probability proportional to exp(−epsilon/2·|x − y|),
    ``laplace`` adds noise of density exp(−epsilon·|z|) and takes the nearest place. Their own files
    have the proofs. Nothing about the sphere is needed: it is only where the places happen to lie.

Why not planar Laplace noise
    Geo-indistinguishability is proven in a plane. Noise in the plane that touches the globe at the
    original, laid back onto the globe, is another plane for another original: the two densities at
    one place are not those of the proof, and a map that keeps all distances does not exist. One
    dimension more costs little, and the proof holds as it is.

Which of the two
    On cities ``exponential`` moves a name about as far as ``laplace`` at the same level, or less
    far where many cities are near: its halved level is made up for by drawing among real places.
    It has exact rows, so all pairs can be compared, and it is faster. So it is the usual one.

Reference
    Andrés, Bordenabe, Chatzikokolakis and Palamidessi 2013, "Geo-indistinguishability: differential
    privacy for location-based systems".
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.arrays import Floats
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.claims import euclidean
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import Laplace

METRIC = "km between two places on the globe, in a straight line"


@dataclass(frozen=True, kw_only=True)
class GlobeRows(Exponential):
    """The exponential mechanism over places, with exact rows."""

    def guarantee(self) -> Guarantee:
        """Metric DP in km."""
        return metric_dp(epsilon=self.epsilon, metric=METRIC, unit="stretch", about=(self.space,))

    def loss_bounds(self, point: int) -> Floats:
        """Epsilon times the straight-line distance."""
        return self.epsilon * euclidean(self.space, point)


@dataclass(frozen=True, kw_only=True)
class GlobeNoise(Laplace):
    """Laplace noise in three dimensions, then the nearest place."""

    def guarantee(self) -> Guarantee:
        """Metric DP in km."""
        return metric_dp(epsilon=self.epsilon, metric=METRIC, unit="stretch", about=(self.space,))

    def loss_bounds(self, point: int) -> Floats:
        """Epsilon times the straight-line distance."""
        return self.epsilon * euclidean(self.space, point)
