"""A mechanism for written values, seen as one on points of a line: so its claim can be tested.

The values of a window, each as a text, are the words of a small public space of one dimension. A
draw goes the whole way: a text is put into the mechanism as if it had been found, what comes out
is read again, and the word of the window that is nearest to it is the output. Taking the nearest
one is post-processing, so whatever holds of the texts holds here. Of whatever cannot be
read nothing is claimed; the unknown point, which stands for that, always becomes the first word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from sfumato.core.arrays import Floats, Points
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.geometric import cell_log_rows
from sfumato.mechanisms.mechanism import PointMechanism, StretchMechanism
from sfumato.text.span import Span, Stretch
from sfumato.vectors.space import Space

# So many values are looked at, so far apart that the claim about two beside each other is about
# this, unless they are one step apart already.
WINDOW, LOSS = 7, 0.5


@runtime_checkable
class HasPoints(Protocol):
    """A mechanism of whole stretches that can be looked at as mechanisms on points."""

    def points(self) -> tuple[PointMechanism, ...]:
        """The same mechanism over public windows of its values."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class OnLine:
    """A mechanism for stretches over some texts and the whole numbers that they stand for.

    Noise is added to these numbers. ``unit`` says how far two of them, one apart, are in the
    distance of the guarantee; ``read`` finds the number of a text that came out.
    """

    mechanism: StretchMechanism
    texts: Sequence[str]
    places: Points
    unit: float
    read: Callable[[str], int]
    label: str = "VALUE"

    @cached_property
    def space(self) -> Space:
        """The texts as words, each at its place (at a scale where the first two are 1 apart)."""
        away = self.places - self.places[0]
        vectors = (away / away[1]).astype(np.float32)[:, None]
        return Space(f"{len(self.texts)} values on a line", list(self.texts), vectors)

    def guarantee(self) -> Guarantee:
        """That of the mechanism."""
        return self.mechanism.guarantee()

    def loss_bounds(self, point: int) -> Floats:
        """Epsilon times the distance; nothing is claimed of what cannot be read."""
        bounds = np.full(len(self.texts) + 1, np.inf)
        if point < len(self.texts):
            away = np.abs(self.places - self.places[point])
            bounds[:-1] = self.guarantee().epsilon * self.unit * away
        else:
            bounds[-1] = 0.0
        return bounds

    def log_rows(self, points: Points) -> Floats:
        """Log-probability of every text, one row per point, in closed form."""
        rate = self.guarantee().epsilon * self.unit
        known = points < len(self.texts)
        rows = np.full((len(points), len(self.texts)), -np.inf)
        rows[~known, 0] = 0.0
        rows[known] = cell_log_rows(rate, self.places[points[known]], self.places)
        return rows

    def log_row(self, point: int) -> Floats:
        """Log-probability of every text for one point."""
        return self.log_rows(np.array([point], dtype=np.intp)).ravel()

    def row(self, point: int) -> Floats:
        """Probability of every text for one point."""
        probabilities: Floats = np.exp(self.log_row(point))
        return probabilities

    def privatize(self, points: Points, randomness: Randomness) -> Points:
        """One document with one stretch for each point, put through the mechanism itself."""
        outputs = np.zeros(len(points), dtype=np.intp)
        upper = (self.places[:-1] + self.places[1:]) // 2
        read = np.array(
            [
                self.read(self.mechanism.replace([self._stretch(point)], randomness)[0])
                if point < len(self.texts)
                else self.places[0]
                for point in points.tolist()
            ],
            dtype=np.float64,
        )
        outputs[:] = np.searchsorted(upper, read, side="left")
        return outputs

    def _stretch(self, point: int) -> Stretch:
        text = self.texts[point]
        return Stretch(0, len(text), text, Span(0, len(text), self.label))


def spread(rate: float, reach: int) -> Points:
    """Whole numbers around 0, so far apart that noise of this rate moves between them.

    ``reach`` is how far the last may lie from 0.

    >>> spread(0.1, 1000).tolist()
    [-15, -10, -5, 0, 5, 10, 15]
    >>> spread(3.0, 1000).tolist()
    [-3, -2, -1, 0, 1, 2, 3]
    """
    half = WINDOW // 2
    step = max(1, min(round(LOSS / rate), reach // half))
    return np.arange(-half, half + 1, dtype=np.intp) * step
