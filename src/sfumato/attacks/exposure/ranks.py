"""Exposure from ranks: of canaries, and of secrets that were never planted, in one space.

A canary is ranked among all secrets of the space, or among drawn ones. From n drawn candidates no
more than log2(n + 1) bits can be counted. Beyond that a skew-normal distribution is fitted.

Guarantee
    For a secret drawn uniformly from the space and never shown to the model,
    P[exposure >= x] <= 2^(−x), whatever the model. The mean is about 1/ln 2 = 1.443 bits. This
    holds for counted ranks, not for the fitted distribution.

Why it holds
    The rank of a uniform draw among all candidates is uniform under any fixed score. Ties count
    against the attacker: every candidate at least as likely as the canary is ranked before it, the
    canary itself included, so a tie can only lower the exposure. In the sampled estimator the
    canary counts as one of n + 1 exchangeable draws. Without the + 1 a canary better than all n
    would get an infinite exposure with probability 1/(n + 1).

Care
    Carlini et al. found −log2 p of candidates to be nearly skew-normal, and computed the
    probability of a score as small as the canary's from the fitted distribution. That is an
    assumption, so it is tested: the distribution is fitted to one half of the sample and compared
    with the other half (Kolmogorov–Smirnov). Tested on the half that it was fitted to, it would
    nearly always pass. The test sees the middle of the distribution; beyond log2 n bits the figure
    depends on the tail, which no test sees, and is flagged.

Reference
    Carlini et al. 2019, "The secret sharer"; Azzalini 1985 for the skew-normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.exposure.candidates import Frame, SecretSpace, enumerate_candidates, tokenize
from sfumato.attacks.exposure.trie import surprises
from sfumato.core.arrays import Floats, Integers
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput
from sfumato.core.progress import Advance
from sfumato.corpora.canaries import PlantedCanary
from sfumato.statistics.intervals import clopper_pearson

if TYPE_CHECKING:
    from sfumato.models.load import LoadedModel

FEWEST = 100
# Below this p-value the fit is rejected.
DOUBTFUL = 0.01
_SMALL = 1e-3


def needs_scipy() -> None:
    """Refuse to start without SciPy, which fits the distribution."""
    extra("scipy", needed_for="extrapolated exposure", extra="attack")


class NoLaw(BadInput):
    """Scores to which no distribution can be fitted."""


@dataclass(frozen=True)
class SkewNormal:
    """A fitted distribution, and the p-value of its test on scores that it was not fitted to."""

    shape: float
    location: float
    scale: float
    fit: float

    def exposures(self, surprises: Floats) -> Floats:
        """−log2 of the probability of a score no larger than each."""
        from scipy.stats import skewnorm

        places = (surprises - self.location) / self.scale
        chances = skewnorm.cdf(places, self.shape)
        logs = np.log(np.maximum(chances, _SMALL))
        for place in np.flatnonzero(chances < _SMALL):
            logs[place] = self._log_tail(float(places[place]))
        bits: Floats = np.maximum(0.0, -logs / math.log(2))
        return bits

    def _log_tail(self, place: float) -> float:
        """The log-probability below a point in the lower tail, however small.

        There the distribution function, a difference of larger numbers, has lost all digits. The
        density is log-concave, so below the point it falls at least as fast as the exponential with
        the same slope, which gives the scale for the integration.
        """
        from scipy.integrate import quad
        from scipy.special import log_ndtr

        top, inside = self._log_density(place), self.shape * place
        log_ratio = -0.5 * inside * inside - 0.5 * math.log(2 * math.pi) - float(log_ndtr(inside))
        slope = -place + self.shape * math.exp(log_ratio)
        rest, _ = quad(lambda u: math.exp(self._log_density(place - u / slope) - top), 0, 60)
        return top + math.log(rest / slope)

    def _log_density(self, place: float) -> float:
        from scipy.special import log_ndtr

        normal = -0.5 * place * place - 0.5 * math.log(2 * math.pi)
        return math.log(2) + normal + float(log_ndtr(self.shape * place))


def fit_skew_normal(surprises: Floats) -> SkewNormal:
    """Fit to one half of independent scores, test on the other."""
    needs_scipy()
    from scipy.stats import kstest, skewnorm

    if len(surprises) < FEWEST:
        raise NoLaw(f"samples={len(surprises)} are too few for a fit; take at least {FEWEST}")
    if not np.isfinite(surprises).all():
        raise NoLaw("the model gives some candidates probability 0; no distribution fits that")
    # The draws are independent, so every second one is as good as a random half.
    half, other = surprises[::2], surprises[1::2]
    center, spread = float(half.mean()), float(half.std())
    if spread == 0:
        raise NoLaw("all candidates are equally likely: there is nothing to fit")
    # Standardized, so that the search for the best fit has the right scale.
    shape, location, scale = skewnorm.fit((half - center) / spread)
    law = (float(shape), center + spread * float(location), spread * float(scale))
    test = kstest(other, skewnorm(*law).cdf)
    return SkewNormal(*law, fit=float(test.pvalue))


def at_least_as_likely(candidates: Floats, surprises: Floats) -> Integers:
    """For each secret, how many candidates have a −log2 p that is no larger."""
    return np.searchsorted(np.sort(candidates), surprises, side="right").astype(np.int64)


def exact(ranks: Integers, size: int) -> Floats:
    """log2 of the size of the space − log2 of the rank; rank 1 is the likeliest.

    >>> exact(np.array([1, 2, 1000]), 1000).round(3).tolist()
    [9.966, 8.966, 0.0]
    """
    bits: Floats = np.log2(size) - np.log2(ranks)
    return bits


def exposure_by_sample(counts: Integers, draws: int) -> Floats:
    """−log2((c + 1)/(n + 1)), where c of n drawn candidates are at least as likely.

    >>> exposure_by_sample(np.array([0, 511, 1023]), 1023).tolist()
    [10.0, 1.0, 0.0]
    """
    bits: Floats = np.log2(draws + 1) - np.log2(counts + 1)
    return bits


def sample_interval(count: int, draws: int, bits: float) -> tuple[float, float]:
    """Clopper and Pearson's limits on the share of likelier candidates, as bits."""
    low, high = clopper_pearson(count, draws)
    # The canary itself is in the space, so the share is at least 1 / size.
    return -math.log2(high), min(bits, -math.log2(low)) if low > 0 else bits


def mean_by_chance(places: int) -> float:
    """The mean of log2(places) − log2(rank) for a uniform rank.

    >>> round(mean_by_chance(10**6), 3), round(mean_by_chance(2), 3)
    (1.443, 0.5)
    """
    if places > 2**53:  # beyond that, the difference has no digits left
        return 1 / math.log(2)
    return math.log2(places) - math.lgamma(places + 1) / (places * math.log(2))


@dataclass(frozen=True)
class ExposedCanary:
    """The exposure of one canary by one method.

    ``rank`` is its rank in the whole space, 1 for the likeliest; with sampling it is the number of
    drawn candidates that are at least as likely. ``beyond`` says that a fitted distribution was
    used beyond the reach of the sample.
    """

    planted: PlantedCanary
    space: SecretSpace
    method: str
    exposure: float
    rank: int
    low: float | None = None
    high: float | None = None
    beyond: bool = False


@dataclass(frozen=True, eq=False)
class SpaceFindings:
    """The exposures in one space by one method, with those of the controls.

    ``places`` is the number of possible ranks, ``draws`` how many candidates were drawn if not all
    were ranked, ``fit`` the p-value of a fitted distribution.
    """

    method: str
    found: tuple[ExposedCanary, ...]
    null: Floats = field(repr=False)
    places: int
    draws: int | None = None
    fit: float | None = None


@dataclass(frozen=True)
class Question:
    """Canaries of one template and one space, to be compared with the same candidates."""

    frame: Frame
    space: SecretSpace
    canaries: tuple[PlantedCanary, ...]

    @property
    def secrets(self) -> list[str]:
        """The secrets of the canaries."""
        return [one.canary.secret for one in self.canaries]


def by_enumeration(
    model: LoadedModel, question: Question, controls: Sequence[str], advance: Advance | None
) -> SpaceFindings:
    """Rank among all secrets of the space."""
    space = question.space
    candidates = enumerate_candidates(model.tokenizer, question.frame, space)
    scores = surprises(model, candidates, advance)

    def of(secrets: Sequence[str]) -> NDArray[np.int64]:
        # Each secret is one of the candidates, and has the score of that candidate.
        numbers = [space.number(secret) for secret in secrets]
        return at_least_as_likely(scores, scores[numbers])

    places = of(question.secrets)
    exposures = exact(places, space.size)
    found = tuple(
        ExposedCanary(one, space, "exact", float(exposure), int(place))
        for one, exposure, place in zip(question.canaries, exposures, places, strict=True)
    )
    return SpaceFindings("exact", found, exact(of(controls), space.size), space.size)


class SecretSample(NamedTuple):
    """Scores of drawn candidates, of the canaries, and of the controls."""

    candidates: Floats
    canaries: Floats
    controls: Floats


def by_sampling(
    model: LoadedModel,
    question: Question,
    controls: Sequence[str],
    candidates: Sequence[str],
    advance: Advance | None,
) -> SecretSample:
    """Score drawn candidates, canaries and controls together, so that all are treated alike."""
    planted = question.secrets
    # The corners are not candidates: they show which tokens depend on the secret.
    every = [*candidates, *planted, *controls, *question.space.corners()]
    texts = (question.frame.text(secret) for secret in every)
    scores = surprises(model, tokenize(model.tokenizer, texts), advance)
    first, second = len(candidates), len(candidates) + len(planted)
    return SecretSample(
        scores[:first], scores[first:second], scores[second : second + len(controls)]
    )


def by_count(question: Question, sample: SecretSample) -> SpaceFindings:
    """Rank among the drawn candidates."""
    draws, bits = len(sample.candidates), question.space.bits
    counts = at_least_as_likely(sample.candidates, sample.canaries)
    found = []
    for one, count in zip(question.canaries, counts.tolist(), strict=True):
        low, high = sample_interval(count, draws, bits)
        exposure = float(exposure_by_sample(np.array(count), draws))
        found.append(ExposedCanary(one, question.space, "sampled", exposure, count, low, high))
    null = exposure_by_sample(at_least_as_likely(sample.candidates, sample.controls), draws)
    return SpaceFindings("sampled", tuple(found), null, draws + 1, draws)


def by_law(question: Question, sample: SecretSample) -> SpaceFindings:
    """Exposure from a distribution fitted to the drawn candidates."""
    law = fit_skew_normal(sample.candidates)
    bits, reach = question.space.bits, float(np.log2(len(sample.candidates)))
    # A canary is in the space, so no rank can be better than the first.
    exposures = np.minimum(bits, law.exposures(sample.canaries)).tolist()
    counts = at_least_as_likely(sample.candidates, sample.canaries).tolist()
    found = tuple(
        ExposedCanary(one, question.space, "extrapolated", exposure, count, beyond=exposure > reach)
        for one, exposure, count in zip(question.canaries, exposures, counts, strict=True)
    )
    null = np.minimum(bits, law.exposures(sample.controls))
    draws = len(sample.candidates)
    return SpaceFindings("extrapolated", found, null, question.space.size, draws, law.fit)
