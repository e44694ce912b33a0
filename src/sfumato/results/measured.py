"""A figure with its interval and the range it lies in by definition.

A share lies between 0 and 1, bits between 0 and those of the secret, a perplexity at 1 or above.
The range is part of the figure, so that nobody who averages or draws figures has to know them by
name, and so that no interval can leave it: one that does is refused here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument

RESAMPLES = 1000
CONFIDENCE = 0.95

Ends = tuple[float, float] | tuple[None, None]
Range = tuple[float | None, float | None]
"""The least and the most that a figure can be; None where there is no end."""

ANYTHING: Range = (None, None)
SHARE: Range = (0.0, 1.0)
DIFFERENCE: Range = (-1.0, 1.0)
POSITIVE: Range = (0.0, None)
# Sums in another order differ by this much, relative to the size of the figure.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Predicted:
    """One document: −ln p of each token, and whether it was the likeliest."""

    losses: NDArray[np.float64]
    right: NDArray[np.bool_]

    def only(self, chosen: NDArray[np.bool_]) -> Predicted:
        """The same for the chosen tokens."""
        return Predicted(self.losses[chosen], self.right[chosen])


@dataclass(frozen=True)
class Measured:
    """A figure with its interval, if there is one, and the number of cases behind it.

    ``within`` is the range in which it lies by definition. If it is a mean over a few units that
    other seeds look at too, such as secrets, ``units`` are their values in a fixed order.

    >>> Measured("found", 0.1, -0.02, 0.22, 24, SHARE)
    Traceback (most recent call last):
    ...
    sfumato.core.errors.InvalidArgument: the interval of 'found' leaves its range (0 to 1)
    """

    metric: str
    value: float
    low: float | None
    high: float | None
    n: int
    within: Range = ANYTHING
    units: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if any(end is not None and leaves(end, self.within) for end in (self.low, self.high)):
            least, most = ("…" if end is None else f"{end:g}" for end in self.within)
            raise InvalidArgument(
                f"the interval of {self.metric!r} leaves its range ({least} to {most})"
            )

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the figure, its interval and the number of cases."""
        return {
            "metric": self.metric,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
        }


def leaves(end: float, within: Range) -> bool:
    """Whether a number is outside a range by more than rounding."""
    least, most = within
    slack = ROUNDING * max(1.0, abs(end))
    return (least is not None and end < least - slack) or (most is not None and end > most + slack)


def inside(end: float, within: Range) -> float:
    """The nearest number of a range.

    What is true lies in the range, so an interval that is cut to it holds as often as before.

    >>> inside(-0.02, SHARE), inside(3.0, POSITIVE)
    (0.0, 3.0)
    """
    least, most = within
    raised = end if least is None else max(least, end)
    return raised if most is None else min(most, raised)
