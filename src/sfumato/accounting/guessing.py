"""How often somebody who sees one release guesses right at most, by what is proven about it.

Guarantee
    One of several values is behind a release, and value a has the probability π_a. Any two values
    are told apart by (ε, δ) at most. ``most_guessed``: whoever sees the release and names a value
    is right with probability at most

        max_a π_a·e^ε/(1 − π_a + π_a·e^ε) + δ·Σ_a π_a·(1 − π_a)/(1 − π_a + π_a·e^ε).

    ``most_named``: the same where several values may be true at once, as words of a text are, and
    what is named must be one of them. ``most_separated``: whoever ranks releases of two kinds has
    an area under the curve of at most 1 − (1 − δ)²/(1 + e^ε).

Why it holds
    Let A_a be the outputs for which a is named, and P_a the law of the release for a. Then S_a =
    π_a·P_a(A_a) <= π_a·(e^ε·P_b(A_a) + δ) for every b. Take the mean over the others b, with
    weights π_b: (1 − π_a)·S_a <= π_a·e^ε·(Q_a − S_a) + π_a·(1 − π_a)·δ, where Q_a is how likely a
    is named at all. Solve for S_a, and add up over a: the Q_a are 1 together. Where several values
    may be true, the same holds for "a is true" and "a is not", one a at a time.

    A test between two kinds that errs with α on one side errs with at least max(0, 1 − δ − e^ε·α,
    e^−ε·(1 − δ − α)) on the other (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015). The
    area below that is (1 − δ)²/(1 + e^ε).

    For Gaussian noise all pairs (ε, δ(ε)) hold at once, so the least bound over them holds; the
    area under the curve is then at most Φ(μ/√2), for two normal laws that are μ apart.

Care
    A bound is for one guess from one release by a rule that was made without that release; it is
    tight for some values and loose for most. Whoever sees many releases, and knows that each value
    is behind one of them, may be right more often (``attacks/reidentification.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.core.checks import between
from sfumato.core.errors import InvalidArgument

# Levels at which the trade-off of Gaussian noise is tried.
_TRIED = 400
_LARGEST = 700.0


@dataclass(frozen=True)
class Level:
    """What is proven about any two values: (ε, δ), and for Gaussian noise the ``shift`` μ."""

    epsilon: float
    delta: float = 0.0
    shift: float | None = None

    def least(self, bound: Callable[[float, float], float]) -> float:
        """The least of a bound over all (ε, δ) that hold; never above 1."""
        found = [bound(self.epsilon, self.delta)]
        if self.shift is not None:
            top = max(self.epsilon, self.shift * (self.shift / 2 + 8))
            levels = (top * step / _TRIED for step in range(_TRIED + 1))
            found += [bound(one, gaussian_delta(self.shift, one)) for one in levels]
        return min(1.0, *found)


def most_guessed(level: Level, shares: Sequence[float]) -> float:
    """How often the value behind a release is guessed at most; ``shares`` are the π_a.

    >>> round(most_guessed(Level(0.0), [0.5, 0.3, 0.2]), 6)  # nothing is told: the likeliest value
    0.5
    >>> round(most_guessed(Level(2.0), [1 / 8] * 8), 6)
    0.513519
    """
    if abs(math.fsum(shares) - 1) > 1e-9:
        raise InvalidArgument("the shares of all values must add up to 1")
    return most_named(level, shares)


def most_named(level: Level, shares: Sequence[float]) -> float:
    """How often a named value is one of the true ones; ``shares`` say how often each is true."""
    for one in shares:
        between("a share", one, 0.0, 1.0)

    def bound(epsilon: float, delta: float) -> float:
        # Divided by e^ε, so that nothing overflows.
        against = math.exp(-min(epsilon, _LARGEST))
        best = max(one / (one + (1 - one) * against) for one in shares)
        if not delta:
            return best
        rest = (one * (1 - one) * against / (one + (1 - one) * against) for one in shares if one)
        return best + delta * math.fsum(rest)

    return level.least(bound)


def most_separated(level: Level) -> float:
    """The largest area under the curve of any ranking of releases of two kinds.

    >>> most_separated(Level(0.0)), round(most_separated(Level(1.0)), 4)
    (0.5, 0.7311)
    """

    def bound(epsilon: float, delta: float) -> float:
        against = math.exp(-min(epsilon, _LARGEST))
        return 1 - (1 - delta) ** 2 * against / (1 + against)

    found = level.least(bound)
    if level.shift is None:
        return found
    return min(found, (1 + math.erf(level.shift / 2)) / 2)
