"""The exposure of canaries, and of secrets that were never planted, in one space of secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.exposure import law as extrapolated
from sfumato.attacks.exposure import law as ranks
from sfumato.attacks.exposure.candidates import Frame, enumerate_candidates, tokenize
from sfumato.attacks.exposure.spaces import SecretSpace
from sfumato.attacks.exposure.trie import surprises
from sfumato.core.arrays import Floats
from sfumato.core.progress import Advance
from sfumato.corpora.canaries import PlantedCanary

if TYPE_CHECKING:
    from sfumato.models.load import LoadedModel


@dataclass(frozen=True)
class ExposedCanary:
    """One canary by one method.

    ``rank`` is its place in the whole space, 1 for the likeliest, or, by sampling, how many of the
    drawn candidates are at least as likely. ``beyond`` says that a fitted law was followed further
    than the sample reaches.
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
    """What was found in one space by one method, with the exposures of the controls.

    ``places`` is the number of ranks the method can give, ``draws`` how many candidates were drawn
    if not all were ranked, ``fit`` the p-value of a fitted law.
    """

    method: str
    found: tuple[ExposedCanary, ...]
    null: Floats = field(repr=False)
    places: int
    draws: int | None = None
    fit: float | None = None


@dataclass(frozen=True)
class Question:
    """Canaries of one template and one space; all of them are compared with the same candidates."""

    frame: Frame
    space: SecretSpace
    canaries: tuple[PlantedCanary, ...]

    @property
    def secrets(self) -> list[str]:
        """Those that were planted."""
        return [one.canary.secret for one in self.canaries]


def by_enumeration(
    model: LoadedModel, question: Question, controls: Sequence[str], advance: Advance | None
) -> SpaceFindings:
    """Rank among all secrets of the space."""
    space = question.space
    candidates = enumerate_candidates(model.tokenizer, question.frame, space)
    scores = surprises(model, candidates, advance)

    def of(secrets: Sequence[str]) -> NDArray[np.int64]:
        # A secret is one of the candidates: its score is the one it has among them.
        numbers = [space.number(secret) for secret in secrets]
        return ranks.at_least_as_likely(scores, scores[numbers])

    places = of(question.secrets)
    exposures = ranks.exact(places, space.size)
    found = tuple(
        ExposedCanary(one, space, "exact", float(exposure), int(place))
        for one, exposure, place in zip(question.canaries, exposures, places, strict=True)
    )
    return SpaceFindings("exact", found, ranks.exact(of(controls), space.size), space.size)


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
    """Score drawn candidates and all else together, so that all are read alike."""
    planted = question.secrets
    # The corners are not candidates: they show which tokens hang on the secret, and which do not.
    every = [*candidates, *planted, *controls, *question.space.corners()]
    texts = (question.frame.text(secret) for secret in every)
    scores = surprises(model, tokenize(model.tokenizer, texts), advance)
    first, second = len(candidates), len(candidates) + len(planted)
    return SecretSample(
        scores[:first], scores[first:second], scores[second : second + len(controls)]
    )


def count_secrets(question: Question, sample: SecretSample) -> SpaceFindings:
    """Rank among the drawn candidates."""
    draws, bits = len(sample.candidates), question.space.bits
    counts = ranks.at_least_as_likely(sample.candidates, sample.canaries)
    found = []
    for one, count in zip(question.canaries, counts.tolist(), strict=True):
        low, high = ranks.sample_interval(count, draws, bits)
        exposure = float(ranks.exposure_by_sample(np.array(count), draws))
        found.append(ExposedCanary(one, question.space, "sampled", exposure, count, low, high))
    null = ranks.exposure_by_sample(
        ranks.at_least_as_likely(sample.candidates, sample.controls), draws
    )
    return SpaceFindings("sampled", tuple(found), null, draws + 1, draws)


def continue_secret(question: Question, sample: SecretSample) -> SpaceFindings:
    """The chance under a law fitted to the drawn candidates."""
    law = extrapolated.fit_skew_normal(sample.candidates)
    bits, reach = question.space.bits, float(np.log2(len(sample.candidates)))
    # A canary is one of the space, so no rank can be better than the first.
    exposures = np.minimum(bits, law.exposures(sample.canaries)).tolist()
    counts = ranks.at_least_as_likely(sample.candidates, sample.canaries).tolist()
    found = tuple(
        ExposedCanary(one, question.space, "extrapolated", exposure, count, beyond=exposure > reach)
        for one, exposure, count in zip(question.canaries, exposures, counts, strict=True)
    )
    null = np.minimum(bits, law.exposures(sample.controls))
    draws = len(sample.candidates)
    return SpaceFindings("extrapolated", found, null, question.space.size, draws, law.fit)
