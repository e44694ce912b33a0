"""Exposure of secrets that no model has seen: P[exposure >= x] = 2^(−x), or less with ties.

The rank of a uniform draw is uniform under any fixed score, so the law holds for every model; and
any way to treat the canary otherwise than the candidates breaks it.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.attacks.exposure import ranks
from sfumato.attacks.exposure.candidates import Frame, SecretSpace, TokenizedSecrets, tokenize
from sfumato.attacks.exposure.ranks import Question, by_enumeration
from sfumato.attacks.exposure.trie import surprises
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel
from statistical import budget
from unit.attacks.exposure.subjects import (
    FRAME,
    SECRET,
    canaries,
    every_text,
    joining,
    overfitted,
    tiny,
)

CHECK = "exposure: null law"
DRAWS = 2000
SPACE = SecretSpace("####")
BITS = range(1, 8)

Floats = NDArray[np.float64]


def fresh(seed: int) -> list[str]:
    return SPACE.drawn(DRAWS, Randomness.reproducible(seed))


def numbers(secrets: list[str]) -> list[int]:
    return [SPACE.number(secret) for secret in secrets]


def law_p_values(exposures: Floats, places: int) -> list[float]:
    """Of equality: the whole law, with the grid of ranks smoothed, and the share at whole bits."""
    smooth = np.random.default_rng(99).random(len(exposures))
    shares = 2.0**-exposures - smooth / places
    whole = budget.fits_law(np.clip(shares, 0, 1), stats.uniform())
    return [
        whole,
        *(
            budget.fits_share(
                int((exposures >= bits - 1e-9).sum()), len(exposures), places // 2**bits / places
            )
            for bits in BITS
        ),
    ]


def bound_p_values(exposures: Floats) -> list[float]:
    """Of P[exposure >= x] <= 2^(−x) alone, which must hold with ties and samples too."""
    return [
        budget.at_most(int((exposures >= bits - 1e-9).sum()), len(exposures), 2.0**-bits)
        for bits in BITS
    ]


@pytest.fixture(scope="module")
def untrained() -> LoadedModel:
    """Of the kind whose secrets have unequal numbers of tokens."""
    return tiny("gpt-small", joining())


@pytest.fixture(scope="module")
def scores(untrained: LoadedModel) -> Floats:
    return surprises(untrained, tokenize(untrained.tokenizer, every_text(SPACE)))


def exposures_of(model: LoadedModel, secrets: list[str]) -> Floats:
    question = Question(FRAME, SPACE, canaries((SECRET, 0)))
    return by_enumeration(model, question, secrets, None).null


def test_a_model_given_no_canary_follows_the_law(untrained: LoadedModel) -> None:
    exposures = exposures_of(untrained, fresh(1))
    assert not budget.rejects(CHECK, "untrained", law_p_values(exposures, SPACE.size))


def test_so_does_a_model_that_knows_another_canary() -> None:
    exposures = exposures_of(overfitted(), fresh(2))
    assert not budget.rejects(CHECK, "another canary", law_p_values(exposures, SPACE.size))


def test_another_prefix_for_the_canary_is_rejected(untrained: LoadedModel, scores: Floats) -> None:
    """A candidate's score, but behind another beginning."""
    other = every_text(SPACE, Frame("", "The code is {}."))
    canary = surprises(untrained, tokenize(untrained.tokenizer, other))[numbers(fresh(1))]
    exposures = ranks.exact(np.maximum(1, ranks.at_least_as_likely(scores, canary)), SPACE.size)
    assert budget.rejects(CHECK, "untrained", law_p_values(exposures, SPACE.size))


def test_another_tokenization_of_the_canary_is_rejected(
    untrained: LoadedModel, scores: Floats
) -> None:
    """The secret tokenized by itself: its space and full stop are no longer joined with it."""
    tokenizer, secrets = untrained.tokenizer, fresh(1)
    before, after = (tokenizer.encode(part) for part in (". My ID is ", "."))
    whole = tokenize(tokenizer, every_text(SPACE))
    apart = [np.concatenate([before, tokenizer.encode(one), after]) for one in secrets]
    rest = [row[len(whole.prefix) - 1 :] for row in apart]
    width = max(map(len, rest))
    matrix = np.array([[*row, *[-1] * (width - len(row))] for row in rest], dtype=np.int32)
    canary = surprises(untrained, TokenizedSecrets(whole.prefix, matrix))
    exposures = ranks.exact(np.maximum(1, ranks.at_least_as_likely(scores, canary)), SPACE.size)
    assert budget.rejects(CHECK, "untrained", law_p_values(exposures, SPACE.size))


@pytest.fixture(scope="module")
def coarse(scores: Floats) -> Floats:
    """The same scores with few digits, as half precision gives them: many ties."""
    return np.round(scores / 8) * 8


def test_ties_only_lower_the_exposure(coarse: Floats) -> None:
    assert len(np.unique(coarse)) < 30
    canary = coarse[numbers(fresh(3))]
    exposures = ranks.exact(ranks.at_least_as_likely(coarse, canary), SPACE.size)
    assert not budget.rejects(CHECK, "ties", bound_p_values(exposures))


def test_ties_in_the_attackers_favor_are_rejected(coarse: Floats) -> None:
    """Only candidates that are strictly likelier stand before the canary."""
    canary = coarse[numbers(fresh(3))]
    before = np.searchsorted(np.sort(coarse), canary, side="left")
    exposures = ranks.exact(before + 1, SPACE.size)
    assert budget.rejects(CHECK, "ties", bound_p_values(exposures))


SAMPLE = 15


def sample_counts(scores: Floats) -> NDArray[np.int64]:
    """For every secret a sample of its own: how many of its candidates are at least as likely."""
    candidates = Randomness.reproducible(5).integers(SPACE.size, DRAWS * SAMPLE)
    drawn = scores[candidates].reshape(DRAWS, SAMPLE)
    canary = scores[numbers(fresh(4))]
    found = [
        int(ranks.at_least_as_likely(row, np.array([one]))[0])
        for row, one in zip(drawn, canary, strict=True)
    ]
    return np.array(found)


def test_the_sampled_estimator_keeps_the_law(scores: Floats) -> None:
    exposures = ranks.exposure_by_sample(sample_counts(scores), SAMPLE)
    assert not budget.rejects(CHECK, "sampled", bound_p_values(exposures))


def test_the_sampled_estimator_without_one_more_is_rejected(scores: Floats) -> None:
    """A secret better than all of its sample would have an exposure without end."""
    with np.errstate(divide="ignore"):
        exposures = -np.log2(sample_counts(scores) / SAMPLE)
    assert budget.rejects(CHECK, "sampled", bound_p_values(exposures))
