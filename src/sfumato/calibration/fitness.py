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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.calibration.curves import Curve, Estimate
from sfumato.calibration.reversals import Reversal, reversal_of
from sfumato.calibration.trend import Trend, trend
from sfumato.core.randomness import Randomness

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
        share = self.reversal_share
        endless = share is not None and share == float("inf")
        return {
            "verdict": self.verdict,
            "finding": self.finding,
            "why": self.why,
            "leakage_grows_with_level": self.rising,
            "direction_by": self.direction_by,
            "trend_p": self.trend_p,
            "reversal_share": "inf" if endless else share,
            "reversal_p": self.reversal_p,
        }


@dataclass(frozen=True, kw_only=True)
class Anchors:
    """Leakage at the two ends between which every method lies; None if not measured."""

    no_privacy: Estimate | None = None
    random_output: Estimate | None = None

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
    verdict, finding, why = _judged(found, said, reversal, leakage.seeds)
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


def _judged(
    found: Trend, said: bool | None, reversal: Reversal, seeds: int
) -> tuple[str, str, str]:
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
