"""Is an attack fit for calibration on a method: does what it finds grow as the noise shrinks?

An attack that is not monotone in the noise cannot be inverted: one leakage belongs to several
levels. One that shows the same at every level says nothing about levels at all. Membership
inference against fine-tuned language models was found to be both, and once to grow *with* the
noise; reconstruction attacks were found fit.

Which end is weak
    The direction is not read off the parameter's name. Where utility has a clear trend, the weak
    end is the one with the better utility, and leakage must grow towards it. Where it has none, it
    is the end with more leakage; both ways were looked at then, and the p-value pays for that. Two
    anchors in the wrong order ("no privacy" leaks less than "random output") make an attack unfit
    whatever lies between them.

Care
    "Fit" means that nothing spoke against a monotone curve and that there is a trend beyond noise.
    With a few seeds small reversals stay unseen; the largest one is reported.

Reference
    Faustini et al. 2024, "Empirical calibration and metric differential privacy in language
    models"; Jayaraman and Evans 2019, "Evaluating differentially private machine learning in
    practice".

How far a curve goes back where it should go on, and whether noise explains that.

Why the p-value holds
    The statistic is the squared distance of the level means from the nearest monotone curve, in
    units of the noise. Among all monotone curves a constant one makes large values likeliest
    (Robertson, Wright and Dykstra 1988, chapter 2), so the law under a
    constant curve, which is drawn here, bounds the chance for all of them. What this assumes: the
    noise around the means is normal, and of one size over the levels where it is estimated from
    seeds.

Care
    With one seed the noise is that of the rows' intervals. They do not cover what another run
    would have given, so a reversal in a single run may be noise although it looks significant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.calibration.curves import Curve, LevelEstimate
from sfumato.calibration.spread import CONFIDENCE, quantile
from sfumato.calibration.trend import Trend, blocks_of, trend
from sfumato.core.arrays import Floats
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.statistics.isotonic import isotonic, isotonic_rows

DRAWS = 1999
# What is smaller than this, beside the figures themselves, comes from rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Reversal:
    """How a curve departs from a monotone one.

    ``share`` is the largest step back as a share of the whole range of the monotone fit; ``p``
    how likely noise makes one like it, None if nothing is known of the noise. ``beyond_noise``
    says whether the ends of the fit differ by more than noise, None likewise.
    """

    share: float
    p: float | None
    beyond_noise: bool | None


@dataclass(frozen=True, eq=False)
class _Effects:
    """Level means without what each seed adds to all levels; variances up to ``spread``²."""

    means: Floats
    weights: Floats
    spread: float | None
    freedom: float


def reversal_of(curve: Curve, *, rising: bool, randomness: Randomness) -> Reversal:
    """Measure and test the departure from a curve that rises, or falls, all the way."""
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
        p=_p(distance, effects, randomness),
        beyond_noise=whole > max(tiny, quantile(CONFIDENCE, effects.freedom) * ends),
    )


def _p(distance: float, effects: _Effects, randomness: Randomness) -> float:
    if distance == 0:
        return 1.0
    noise = randomness.normal(DRAWS, len(effects.means)) / np.sqrt(effects.weights)
    drawn = np.square(noise - isotonic_rows(noise, effects.weights)) @ effects.weights
    if math.isfinite(effects.freedom):
        drawn = drawn / (randomness.gamma(effects.freedom / 2, 2 / effects.freedom, DRAWS))
    spread = effects.spread or 0.0
    return float((1 + np.count_nonzero(drawn * spread**2 >= distance)) / (1 + DRAWS))


def _effects(curve: Curve) -> _Effects:
    """Least squares with a term for each level and one for each seed."""
    points = curve.points
    places = np.array([curve.levels.index(point.level) for point in points])
    blocks = blocks_of(points)
    names = sorted(set(blocks.tolist()))
    # Seeds' terms add up to zero, so that the levels' terms are means.
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
    errors = curve.noise.errors
    if errors is None or not (errors > 0).all():
        return _Effects(means, curve.counts, None, math.inf)
    return _Effects(means, 1 / errors**2, 1.0, math.inf)


FIT, UNFIT, CANNOT_TELL = "fit", "unfit", "cannot tell"
MONOTONE, NOT_MONOTONE, FLAT = "monotone", "not monotone", "flat"
REVERSED, TOO_FEW = "reversed", "too few figures"
BY_UTILITY, BY_LEAKAGE = "utility", "leakage"

ALPHA = 0.05
FEWEST_LEVELS = 3
# A step back that is smaller than this share of the range does not matter, however sure it is.
NEGLIGIBLE = 0.1
# One that is larger than this needs more seeds before anybody may call it noise.
LARGE = 0.5


@dataclass(frozen=True, kw_only=True)
class Fitness:
    """A verdict, what it rests on, and a sentence.

    ``rising`` says whether leakage grows with the level, ``direction_by`` which figures say so.
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
    """Leakage at the two ends between which every method lies; None if not measured."""

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


def fitness_of(
    leakage: Curve, utility: Curve | None, anchors: Anchors, randomness: Randomness
) -> Fitness:
    """Judge an attack by one method's curve; larger values must mean more leakage, better utility.

    ``leakage``, ``utility`` and ``anchors`` are oriented so (``selecting.oriented`` does it).
    """
    if len(leakage.levels) < FEWEST_LEVELS:
        return Fitness(
            verdict=CANNOT_TELL,
            finding=TOO_FEW,
            why=f"{len(leakage.levels)} level(s) do not show a shape; it takes {FEWEST_LEVELS}",
            rising=_rising_by_ends(leakage),
        )
    found = trend(leakage.points, randomness.stream(0))
    said = _by_utility(utility, randomness.stream(1))
    rising = found.rising if said is None else said
    reversal = reversal_of(leakage, rising=rising, randomness=randomness.stream(2))
    verdict, finding, why = _judge(found, said, reversal, leakage.seeds)
    if anchors.reversed:
        why = "it finds less without privacy than in random output"
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


def _by_utility(utility: Curve | None, randomness: Randomness) -> bool | None:
    """The direction that a clear trend of utility gives, or None."""
    if utility is None or len(utility.levels) < FEWEST_LEVELS:
        return None
    found = trend(utility.points, randomness)
    return found.rising if found.either_p <= ALPHA else None


def _judge(found: Trend, said: bool | None, reversal: Reversal, seeds: int) -> tuple[str, str, str]:
    """The verdict, the finding and why: the first of these that applies."""
    p = found.p(said)
    back = f"leakage goes back by {_percent(reversal.share)} of its range"
    unexplained = reversal.p is not None and reversal.p <= ALPHA and reversal.share > NEGLIGIBLE
    unexplained_noise = reversal.p is None and reversal.share > NEGLIGIBLE
    backwards = said is not None and found.rising != said and found.p(not said) <= ALPHA
    ends_alone = p > ALPHA and seeds == 1 and bool(reversal.beyond_noise)
    rules = (
        (backwards, UNFIT, REVERSED, "leakage grows with the noise, as far as utility tells noise"),
        (unexplained, UNFIT, NOT_MONOTONE, f"{back}, which noise does not explain"),
        (
            not found.could_show(ALPHA, either=said is None), CANNOT_TELL, TOO_FEW,
            "so few levels and seeds could not show a trend: run more of either",
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
