"""Whether an attack is fit for calibrating a method: does it find more as the noise shrinks?

An attack that is not monotone in the noise cannot be inverted, because several levels have the same
leakage. An attack that finds the same at every level says nothing about levels. Membership
inference against fine-tuned language models was found to have both problems, and once to find more
with *more* noise; reconstruction attacks were found fit. Two tests decide here: one for a trend,
one for reversals, which are steps back.

Which end is weak
    The direction is not inferred from the parameter's name. If utility has a clear trend, the weak
    end is the one with the better utility, and leakage must grow towards it. Otherwise it is the
    end with more leakage; both directions were tried then, and the p-value accounts for that. If
    the anchors are in the wrong order ("no privacy" leaks less than "random output"), the attack is
    unfit, whatever the curve between them looks like.

Why the p-value of a trend holds
    If the level made no difference, the figures of one seed would be equally likely in any order.
    So they are shuffled among the levels within each seed, which also removes what all figures of a
    seed have in common. Figures of seeds that were used at one level only are shuffled among
    themselves. The statistic is the sum of squares that a monotone curve explains, which detects a
    sudden step as well as a steady rise. No distribution of the noise is assumed.

Why the p-value of a reversal holds
    The statistic is the squared distance of the level means from the nearest monotone curve, in
    units of the noise. Among all monotone curves a constant one makes large values most likely
    (Robertson, Wright and Dykstra 1988, chapter 2). So the distribution under a constant curve,
    which is simulated here, bounds the probability for all of them. This assumes that the noise
    around the means is normal and, where it is estimated from seeds, equally large at all levels.

Why p-values are the same wherever they are shown
    Both tests draw their orders and their noise from a stream that is fixed and public. So a
    p-value follows from the figures alone: a calibration, a report and a JSON file that speak of
    one study state the same one, however often they are made.

Care
    "Fit" means that there is a trend beyond noise and that nothing contradicts a monotone curve.
    With a few seeds small reversals are not detected; the largest one is reported.

    Apart from what a seed adds to all its figures, their errors must be independent. In a study
    every level draws its own weights and noise. If levels share their draws, the errors of
    neighboring levels are correlated, which looks like a trend more often than the p-value says.

    With one seed the noise is that of the rows' intervals. They do not cover the difference to
    another run, so a reversal in a single run may be noise although it looks significant.

Reference
    Faustini et al. 2024, "Empirical calibration and metric differential privacy in language
    models"; Jayaraman and Evans 2019, "Evaluating differentially private machine learning in
    practice".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.calibration.curves import Curve, CurvePoint, LevelEstimate
from sfumato.core.arrays import Floats
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.results.measured import CONFIDENCE
from sfumato.statistics.intervals import student
from sfumato.statistics.isotonic import isotonic, isotonic_rows

SHUFFLES = 1999
# Sums in another order differ by rounding, and must count as equal.
RELATIVE_ROUNDING = 1e-9
# The block of all seeds that were used at one level only; no seed has this number.
TOGETHER = -1
DRAWS = 1999
# The public seed of the shuffles and draws of both tests.
RESAMPLING = 0
RESAMPLED = (
    f"P-values are from {SHUFFLES:,} public shuffles, always the same (seed {RESAMPLING}): they "
    "follow from the figures alone and are equal wherever they are shown."
)
# A difference that is smaller than this, relative to the figures, is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Trend:
    """The direction of the figures, and how significant it is.

    ``rising_p`` and ``falling_p`` are one-sided, ``either_p`` is for the better of both directions.
    ``smallest_p`` is the smallest one-sided p-value that so many figures can give.
    """

    rising: bool
    rising_p: float
    falling_p: float
    either_p: float
    smallest_p: float

    def p(self, rising: bool | None) -> float:
        """The p-value for a direction that was known beforehand; None stands for either."""
        if rising is None:
            return self.either_p
        return self.rising_p if rising else self.falling_p

    def could_show(self, alpha: float, *, either: bool) -> bool:
        """Whether so many figures in perfect order would be significant."""
        return self.smallest_p * (2 if either else 1) <= alpha


def trend(points: Sequence[CurvePoint]) -> Trend:
    """Test figures for a trend; it is rising if values grow with the level."""
    randomness = public_resampling(0)
    levels = sorted({point.level for point in points})
    places = np.array([levels.index(point.level) for point in points])
    blocks = blocks_of(points)
    values = np.array([point.value for point in points])
    for block in set(blocks.tolist()):
        # Remove what a seed adds to all its figures.
        values[blocks == block] -= values[blocks == block].mean()
    shuffled = np.empty((SHUFFLES + 1, len(values)))
    shuffled[0] = values
    for block in sorted(set(blocks.tolist())):
        inside = np.flatnonzero(blocks == block)
        draws = randomness.uniform(SHUFFLES * len(inside)).reshape(SHUFFLES, len(inside))
        shuffled[1:, inside] = values[inside][np.argsort(draws, axis=1)]
    counts = np.bincount(places, minlength=len(levels)).astype(np.float64)
    means = shuffled @ (np.eye(len(levels))[places] / counts)
    rising, falling = (_explain(way * means, counts) for way in (1.0, -1.0))
    return Trend(
        rising=bool(rising[0] >= falling[0]),
        rising_p=_share_as_large(rising),
        falling_p=_share_as_large(falling),
        either_p=_share_as_large(np.maximum(rising, falling)),
        smallest_p=1.0 / _arrangements(places, blocks),
    )


def public_resampling(purpose: int) -> Randomness:
    """The random numbers of a test: always the same, so that a p-value follows from the figures.

    They decide which of all orders are tried, and hide nothing.
    """
    return Randomness.reproducible(RESAMPLING).stream(purpose)


def blocks_of(points: Sequence[CurvePoint]) -> NDArray[np.int64]:
    """The block of each figure: its seed if that was used at several levels, else ``TOGETHER``."""
    often = Counter(point.seed for point in points)
    return np.array([point.seed if often[point.seed] > 1 else TOGETHER for point in points])


def _explain(means: Floats, counts: Floats) -> Floats:
    fitted = isotonic_rows(means, counts)
    middle = (fitted @ counts / counts.sum())[:, None]
    return np.asarray(np.square(fitted - middle) @ counts)


def _share_as_large(statistics: Floats) -> float:
    """The share of orders, the observed one included, whose statistic is as large as observed."""
    observed = statistics[0] * (1 - RELATIVE_ROUNDING)
    return float(np.count_nonzero(statistics >= observed) / len(statistics))


def _arrangements(places: NDArray[np.int64], blocks: NDArray[np.int64]) -> float:
    """The number of ways to assign the figures to the levels."""
    logarithm = 0.0
    for block in set(blocks.tolist()):
        inside = Counter(places[blocks == block].tolist())
        logarithm += math.lgamma(sum(inside.values()) + 1)
        logarithm -= sum(math.lgamma(count + 1) for count in inside.values())
    return round(math.exp(min(logarithm, 600.0)), 6)


@dataclass(frozen=True, kw_only=True)
class Reversal:
    """How a curve departs from a monotone one.

    ``share`` is the largest step back, divided by the range of the monotone fit. ``p`` is the
    probability that noise makes such a departure, and ``beyond_noise`` says whether the ends of the
    fit differ by more than noise; both are None if the noise is unknown.
    """

    share: float
    p: float | None
    beyond_noise: bool | None


@dataclass(frozen=True, eq=False)
class _Effects:
    """Level means without the effects of seeds; their variances are ``spread``²/``weights``."""

    means: Floats
    weights: Floats
    spread: float | None
    freedom: float


def reversal_of(curve: Curve, *, rising: bool) -> Reversal:
    """Measure and test the departure from a monotone curve, rising or falling."""
    effects = _effects(curve)
    means = effects.means if rising else -effects.means
    fitted = isotonic(means, effects.weights)
    whole = float(fitted[-1] - fitted[0])
    tiny = ROUNDING * max(1.0, float(np.abs(curve.means).max()))
    back = float((np.maximum.accumulate(means) - means).max())
    if back <= tiny:
        back = 0.0
    share = 0.0 if back == 0 else (back / whole if whole > tiny else math.inf)
    if effects.spread is None:
        return Reversal(share=share, p=None, beyond_noise=None)
    distance = float(np.square(means - fitted) @ effects.weights) if back > 0 else 0.0
    ends = math.sqrt(1 / effects.weights[0] + 1 / effects.weights[-1]) * effects.spread
    return Reversal(
        share=share,
        p=_reversal_p(distance, effects, public_resampling(1)),
        beyond_noise=whole > max(tiny, student(CONFIDENCE, effects.freedom) * ends),
    )


def _reversal_p(distance: float, effects: _Effects, randomness: Randomness) -> float:
    if distance == 0:
        return 1.0
    noise = randomness.normal(DRAWS, len(effects.means)) / np.sqrt(effects.weights)
    drawn = np.square(noise - isotonic_rows(noise, effects.weights)) @ effects.weights
    if math.isfinite(effects.freedom):
        drawn = drawn / (randomness.gamma(effects.freedom / 2, 2 / effects.freedom, DRAWS))
    spread = effects.spread or 0.0
    return float((1 + np.count_nonzero(drawn * spread**2 >= distance)) / (1 + DRAWS))


def _effects(curve: Curve) -> _Effects:
    """Least squares with an effect for each level and one for each seed."""
    points = curve.points
    places = np.array([curve.levels.index(point.level) for point in points])
    blocks = blocks_of(points)
    names = sorted(set(blocks.tolist()))
    # The effects of seeds sum to zero, so that the effects of levels are means.
    seeds = (blocks[:, None] == np.array(names[:-1])) * 1.0 - (blocks == names[-1])[:, None]
    design = np.hstack([np.eye(len(curve.levels))[places], seeds]) if len(names) > 1 else (
        np.eye(len(curve.levels))[places]
    )  # fmt: skip
    values = np.array([point.value for point in points])
    terms, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    freedom = len(points) - int(rank)
    means = terms[: len(curve.levels)]
    if freedom > 0:
        left = values - design @ terms
        spread = math.sqrt(float(left @ left) / freedom)
        return _Effects(means, curve.counts, spread, float(freedom))
    band = curve.band()
    if band is None:
        return _Effects(means, curve.counts, None, math.inf)
    errors = (band.below + band.above) / (2 * student(CONFIDENCE, math.inf))
    if not (errors > 0).all():
        return _Effects(means, curve.counts, None, math.inf)
    return _Effects(means, 1 / errors**2, 1.0, math.inf)


FIT, UNFIT, CANNOT_TELL = "fit", "unfit", "cannot tell"
MONOTONE, NOT_MONOTONE, FLAT = "monotone", "not monotone", "flat"
REVERSED, TOO_FEW = "reversed", "too few figures"
BY_UTILITY, BY_LEAKAGE = "utility", "leakage"

ALPHA = 0.05
FEWEST_LEVELS = 3
# A step back that is smaller than this share of the range does not matter, however significant it
# is.
NEGLIGIBLE = 0.1
# A larger step back than this needs more seeds before it may count as noise.
LARGE = 0.5


@dataclass(frozen=True, kw_only=True)
class Fitness:
    """A verdict, the finding that it rests on, and the reason in words.

    ``rising`` says whether leakage grows with the level, ``direction_by`` which figures show that.
    """

    verdict: str
    finding: str
    why: str
    rising: bool = True
    direction_by: str = BY_LEAKAGE
    trend_p: float | None = None
    reversal_share: float | None = None
    reversal_p: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity."""
        return {
            "verdict": self.verdict,
            "finding": self.finding,
            "why": self.why,
            "leakage_grows_with_level": self.rising,
            "direction_by": self.direction_by,
            "trend_p": self.trend_p,
            "reversal_share": write_number(self.reversal_share),
            "reversal_p": self.reversal_p,
        }


@dataclass(frozen=True, kw_only=True)
class Anchors:
    """Leakage at the two anchors between which every method lies; None if not measured."""

    no_privacy: LevelEstimate | None = None
    random_output: LevelEstimate | None = None

    @property
    def reversed(self) -> bool:
        """Whether less is found without privacy than in random output, beyond noise."""
        top, bottom = self.no_privacy, self.random_output
        if top is None or bottom is None:
            return False
        most = top.value if top.high is None else top.high
        least = bottom.value if bottom.low is None else bottom.low
        return most < least


def fitness_of(leakage: Curve, utility: Curve | None, anchors: Anchors) -> Fitness:
    """Judge an attack by one method's curve; larger values must mean more leakage, better utility.

    ``leakage``, ``utility`` and ``anchors`` are oriented so (``select.orient`` does that).
    """
    if len(leakage.levels) < FEWEST_LEVELS:
        return Fitness(
            verdict=CANNOT_TELL,
            finding=TOO_FEW,
            why=f"{len(leakage.levels)} level(s) cannot show a shape; it takes {FEWEST_LEVELS}",
            rising=_rising_by_ends(leakage),
        )
    found = trend(leakage.points)
    said = _by_utility(utility)
    rising = found.rising if said is None else said
    reversal = reversal_of(leakage, rising=rising)
    verdict, finding, why = _judge(found, said, reversal, leakage.seeds)
    if anchors.reversed:
        why = "the attack finds less without privacy than in random output"
        verdict, finding = UNFIT, REVERSED
    return Fitness(
        verdict=verdict,
        finding=finding,
        why=why,
        rising=rising,
        direction_by=BY_LEAKAGE if said is None else BY_UTILITY,
        trend_p=found.p(said),
        reversal_share=reversal.share,
        reversal_p=reversal.p,
    )


def _rising_by_ends(leakage: Curve) -> bool:
    return bool(leakage.means[-1] >= leakage.means[0])


def _by_utility(utility: Curve | None) -> bool | None:
    """The direction that a clear trend of utility gives, or None."""
    if utility is None or len(utility.levels) < FEWEST_LEVELS:
        return None
    found = trend(utility.points)
    return found.rising if found.either_p <= ALPHA else None


def _judge(found: Trend, said: bool | None, reversal: Reversal, seeds: int) -> tuple[str, str, str]:
    """The verdict, the finding and the reason, by the first rule that applies."""
    p = found.p(said)
    back = f"leakage goes back by {_percent(reversal.share)} of its range"
    unexplained = reversal.p is not None and reversal.p <= ALPHA and reversal.share > NEGLIGIBLE
    unexplained_noise = reversal.p is None and reversal.share > NEGLIGIBLE
    backwards = said is not None and found.rising != said and found.p(not said) <= ALPHA
    ends_alone = p > ALPHA and seeds == 1 and bool(reversal.beyond_noise)
    rules = (
        (backwards, UNFIT, REVERSED, "leakage grows towards the end with the worse utility"),
        (unexplained, UNFIT, NOT_MONOTONE, f"{back}, which noise does not explain"),
        (
            not found.could_show(ALPHA, either=said is None), CANNOT_TELL, TOO_FEW,
            "so few levels and seeds cannot show a trend: run more of either",
        ),
        (
            ends_alone, CANNOT_TELL, TOO_FEW,
            "the ends differ beyond the rows' intervals, but one seed shows no trend: run more",
        ),
        (p > ALPHA, UNFIT, FLAT, f"leakage shows no trend beyond noise (p = {p:.2g})"),
        (
            reversal.beyond_noise is False, UNFIT, FLAT,
            "the ends of the curve differ by no more than noise",
        ),
        (
            reversal.share > LARGE or unexplained_noise, CANNOT_TELL, TOO_FEW,
            f"{back}: run more seeds",
        ),
        (True, FIT, MONOTONE, f"leakage follows the level (p = {p:.2g}); {back} at most"),
    )  # fmt: skip
    return next((verdict, finding, why) for applies, verdict, finding, why in rules if applies)


def _percent(share: float) -> str:
    return "all" if share >= 1 else f"{100 * share:.0f} %"
