"""A mechanism that keeps its rows to itself: whoever asks has to draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space


@dataclass(frozen=True)
class WithoutRows:
    """The same law as ``inner``, without its rows."""

    inner: PointMechanism

    @property
    def space(self) -> Space:
        return self.inner.space

    def guarantee(self) -> Guarantee:
        return self.inner.guarantee()

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        return self.inner.privatize(points, randomness)
