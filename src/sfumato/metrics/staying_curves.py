"""Curves of staying: with which chance a public word stays, at every level of a mechanism.

A curve is measured once, with the mechanism's default settings, and read at once afterwards:
``staying`` goes from a level to the chance that the median public word stays (and the words of
which 5 % and 95 % of all stay more rarely), ``level_for`` from a chance to the level. So a slider
can show what a level does, and two mechanisms can be put side by side at the same chance.

Why reading costs no privacy
    A curve is about frequent public words and public vectors; no text was looked at.

What it does not say
    The chance of *your* word: that is ``explain_word``. Half of the words stay more often than the
    median, and isolated ones far more often.

How it is made
    ``python scripts/build_staying_curves.py`` draws words once and measures all of them at every
    level of a grid, exactly where a mechanism has rows, else by draws. The chance cannot fall as
    epsilon grows, so what sampling noise makes fall is averaged (``statistics.isotonic``). Between
    two levels the logarithm of the odds is taken as straight over the logarithm of epsilon; beyond
    the grid the curve is flat. Draws cannot tell a chance below half a draw from none, so a curve
    of draws ends there, on either side. ``hyperbolic`` has a curve for its rows only, up to epsilon
    = d − 1: the noise that takes their place beyond is another law.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.catalog import find
from sfumato.core.arrays import Floats, Points
from sfumato.core.checks import number, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.metrics.deniability import DrawEffort, measure_deniability
from sfumato.statistics.isotonic import isotonic
from sfumato.statistics.shares import median_interval
from sfumato.vectors.load import NAME, default_space
from sfumato.vectors.space import Space

FILE = Path(__file__).parent / "data" / "staying.json"
QUANTILES = (0.05, 0.5, 0.95)
DIGITS = 5
# A chance nearer to 0 or 1 than this has no odds.
TINY = 1e-6
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Staying:
    """The chance to stay of the median public word, and of those at 5 % and 95 %."""

    mechanism: str
    epsilon: float
    median: float
    low: float
    high: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class StayingCurve:
    """Quantiles over public words of the chance to stay, at each level of a grid.

    ``draws`` is 0 where the chances of the words are exact. ``sure`` are the ends of the 95 %
    intervals of the median over all frequent words.
    """

    mechanism: str
    draws: int
    words: int
    epsilon: tuple[float, ...]
    low: tuple[float, ...]
    median: tuple[float, ...]
    high: tuple[float, ...]
    sure: tuple[tuple[float, float], ...]

    @classmethod
    def read(cls, mechanism: str, written: Mapping[str, Any]) -> StayingCurve:
        """From the file of the package."""
        numbers = {name: tuple(written[name]) for name in ("epsilon", "low", "median", "high")}
        sure = tuple((low, high) for low, high in written["sure"])
        return cls(
            mechanism=mechanism,
            draws=written["draws"],
            words=written["words"],
            sure=sure,
            **numbers,
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @property
    def least(self) -> float:
        """The smallest chance that the curve tells from none."""
        return 0.5 / self.draws if self.draws else TINY

    @property
    def range(self) -> tuple[float, float]:
        """The chances between which the median word goes."""
        low, high = self.median[0], self.median[-1]
        return max(low, self.least), min(high, 1 - self.least)

    def at(self, epsilon: float) -> Staying:
        """The chances at any level; beyond the grid those at its end."""
        place = math.log(positive("epsilon", epsilon))
        levels = np.log(self.epsilon)
        found = {
            name: _share(float(np.interp(place, levels, self._odds(name))))
            for name in ("low", "median", "high")
        }
        return Staying(mechanism=self.mechanism, epsilon=float(epsilon), **found)

    def level(self, chance: float) -> float:
        """The smallest level at which the median word stays with that chance."""
        if not 0 < number("chance", chance) < 1:
            raise InvalidArgument(f"chance={chance} must lie between 0 and 1, both excluded")
        low, high = self.range
        if not low - ROUNDING <= chance <= high + ROUNDING:
            raise InvalidArgument(
                f"no level of {self.mechanism!r} is known to make the median word stay with chance "
                f"{chance:g}: for epsilon from {self.epsilon[0]:.4g} to {self.epsilon[-1]:.4g} it "
                f"ranges from {low:.4f} to {high:.4f}"
            )
        aim = math.log(min(max(chance, low), high) / (1 - min(max(chance, low), high)))
        odds, levels = self._odds("median"), np.log(self.epsilon)
        above = min(int(np.searchsorted(odds, aim, side="left")), len(odds) - 1)
        if above == 0 or odds[above] <= aim:
            return self.epsilon[above]
        share = (aim - odds[above - 1]) / (odds[above] - odds[above - 1])
        return math.exp(levels[above - 1] + share * (levels[above] - levels[above - 1]))

    def _odds(self, name: str) -> Floats:
        shares = np.asarray(getattr(self, name), dtype=np.float64)
        inside = np.clip(shares, self.least, 1 - self.least)
        odds: Floats = np.log(inside / (1 - inside))
        return odds


def staying(
    mechanism: str,
    epsilon: float,
    *,
    space: Space | None = None,
    settings: Mapping[str, object] | None = None,
) -> Staying:
    """With which chance public words stay at a level, read off the curve of the mechanism."""
    curve = curve_of(mechanism, space=space, settings=settings)
    most = (space or default_space()).dimension - 1
    if mechanism == "hyperbolic" and positive("epsilon", epsilon) > most:
        raise InvalidArgument(
            f"epsilon={epsilon:g} must be at most {most}: beyond, 'hyperbolic' draws by noise, "
            f"which has no curve; `sfumato.deniability('hyperbolic', {epsilon:g})` measures it"
        )
    return curve.at(epsilon)


def level_for(
    mechanism: str,
    chance: float,
    *,
    space: Space | None = None,
    settings: Mapping[str, object] | None = None,
) -> float:
    """The level at which the median public word stays with a chance: the inverse of ``staying``."""
    return curve_of(mechanism, space=space, settings=settings).level(chance)


def curve_of(
    mechanism: str,
    *,
    space: Space | None = None,
    settings: Mapping[str, object] | None = None,
) -> StayingCurve:
    """The curve of a mechanism with its default settings over the embedded space."""
    name = find("mechanisms", mechanism).name
    curves = shipped_curves()
    how = f"`sfumato.suggest('{name}', 0.3)` looks for a level by measuring words"
    if name not in curves:
        listed = ", ".join(sorted(curves))
        raise InvalidArgument(
            f"{name!r} has no curve of staying; there are curves for {listed}. For other word "
            f"mechanisms, {how}"
        )
    if space is not None and space.digest != _digest():
        raise InvalidArgument(
            f"there is no curve of staying over {space.name}: the curves are about all words of "
            f"{NAME}. Over other vectors, {how}"
        )
    if settings and _differs(name, space or default_space(), settings):
        raise InvalidArgument(
            f"there is no curve of staying for {name!r} with other settings than the default "
            f"ones. With settings, {how}"
        )
    return curves[name]


@cache
def shipped_curves() -> dict[str, StayingCurve]:
    """All curves of the package, by name."""
    written = json.loads(FILE.read_text(encoding="utf-8"))["curves"]
    return {name: StayingCurve.read(name, one) for name, one in written.items()}


@cache
def _digest() -> str:
    digest: str = json.loads(FILE.read_text(encoding="utf-8"))["digest"]
    return digest


def _differs(name: str, space: Space, settings: Mapping[str, object]) -> bool:
    """Whether settings make another mechanism; what is said and is the default does not."""
    level = shipped_curves()[name].epsilon[0]
    plain, own = (
        build_mechanism(name, space=space, epsilon=level, settings=some) for some in ({}, settings)
    )
    return plain != own


def measure_curve(
    mechanism: str,
    level: Callable[[float], PointMechanism],
    grid: Sequence[float],
    points: Points,
    effort: DrawEffort,
    randomness: Randomness,
) -> StayingCurve:
    """Measure the same words at every level of a grid, with the same random numbers."""
    rows, sure, draws = [], [], 0
    for epsilon in grid:
        # The numbers are thrown away, so to use them again for another level harms nobody.
        found = measure_deniability(level(epsilon), points, effort, randomness.stream(0))
        draws = found.draws
        rows.append(np.quantile(found.keep, QUANTILES))
        sure.append(median_interval(found.keep))
    low, median, high = (_never_falling(column) for column in np.array(rows).T)
    return StayingCurve(
        mechanism=mechanism,
        draws=draws,
        words=len(points),
        epsilon=tuple(grid),
        low=low,
        median=median,
        high=high,
        sure=tuple((round(a, DIGITS), round(b, DIGITS)) for a, b in sure),
    )


def _never_falling(values: Floats) -> tuple[float, ...]:
    return tuple(round(one, DIGITS) for one in isotonic(values).tolist())


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
