"""Private histograms by draws: what one contributor changes is as likely as was computed.

Each case is a corpus with a contributor, and the same corpus without. Words that nobody else gave
must be shown as often as the threshold says, and no event may be likelier with the contributor than
exp(ε) times its probability without, plus δ. Twins break the claim in the ways in which published
code does, and must be caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from sfumato.core.randomness import Randomness
from sfumato.histograms.counts import NoisyCounts, Tally
from sfumato.histograms.thresholds import Contribution, Noise, deviations_needed, solve_noise
from statistical.budget import at_most, fits_share, level, rejects, upper_bounds

DRAWS = 3000
EPSILON, DELTA = 1.0, 0.03
COMPANY = 400  # so many others give the shared words that none of them is ever dropped


@dataclass(frozen=True)
class Case:
    """A contributor who gives ``shared`` words that others have, and ``alone`` that nobody has."""

    contribution: Contribution
    shared: int
    alone: int

    @property
    def words(self) -> list[str]:
        return [f"s{n}" for n in range(self.shared)] + [f"x{n}" for n in range(self.alone)]

    def tally(self, *, there: bool) -> Tally:
        tally, source = Tally(self.contribution), Randomness.reproducible(0)
        for _ in range(COMPANY):
            tally.add([f"s{n}" for n in range(self.shared)], source)
        tally.add(self.words if there else [], source)
        return tally


CASES = {
    "plain": Case(Contribution(words=8), 0, 8),
    "by length": Case(Contribution(words=8, weights="by-length"), 0, 8),
    "some are shared": Case(Contribution(words=8), 6, 2),
}

Release = Callable[[Tally, Noise, Randomness], NoisyCounts]


def honest(tally: Tally, noise: Noise, randomness: Randomness) -> NoisyCounts:
    return tally.release(noise, randomness)


def halved(tally: Tally, noise: Noise, randomness: Randomness) -> NoisyCounts:
    return tally.release(replace(noise, deviation=noise.deviation / 2), randomness)


def one_word_threshold(tally: Tally, noise: Noise, randomness: Randomness) -> NoisyCounts:
    """The threshold that is right for one word of a contributor, for all of them."""
    low = 1 + noise.deviation * deviations_needed(DELTA, 1)
    return tally.release(replace(noise, threshold=low), randomness)


def low_threshold(tally: Tally, noise: Noise, randomness: Randomness) -> NoisyCounts:
    """Three fifths of the threshold."""
    return tally.release(replace(noise, threshold=0.6 * (noise.threshold or 0.0)), randomness)


def no_noise_for_a_single_word(tally: Tally, noise: Noise, randomness: Randomness) -> NoisyCounts:
    """As sentencepiece 0.2.2 does: a table with one word is taken as it is."""
    if len(tally._grains) != 1:
        return tally.release(noise, randomness)
    return NoisyCounts(dict.fromkeys(tally._grains, 1.0), noise, tally.contributors)


TWINS: dict[str, Release] = {
    "plain": one_word_threshold,
    "by length": low_threshold,
    "some are shared": halved,
}


@cache
def released(
    case: Case, how: Release, there: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The sum of the noisy counts of shared words, and whether a word alone was shown."""
    noise = solve_noise(EPSILON, DELTA, case.contribution)
    tally = case.tally(there=there)
    source = Randomness.reproducible(11 + there)
    sums, shown = np.zeros(DRAWS), np.zeros(DRAWS, dtype=bool)
    for draw in range(DRAWS):
        tally.released = False
        counts = how(tally, noise, source).counts
        sums[draw] = sum(count for word, count in counts.items() if word[0] == "s")
        shown[draw] = any(word[0] == "x" for word in counts)
    return sums, shown


def evidence(name: str, case: Case, how: Release) -> list[float]:
    """P-values against the claim: events with the contributor, by their probability without."""
    with_one, without = released(case, how, True), released(case, how, False)
    alpha = level("histograms: true claims", name) / 10
    found = []
    middle = float(np.median(without[0]))
    for more in (0.0, 1.0, 2.0):
        place = middle + more * float(np.std(without[0]))
        for first, second in ((with_one, without), (without, with_one)):
            for sign in (1, -1):
                hits = (sign * (first[0] - place) > 0) | first[1]
                others = (sign * (second[0] - place) > 0) | second[1]
                most = upper_bounds(np.array([others.sum()]), np.array([DRAWS]), alpha)[0]
                claimed = min(1.0, math.exp(EPSILON) * float(most) + DELTA)
                found.append(at_most(int(hits.sum()), DRAWS, claimed))
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_word_that_one_contributor_has_is_shown_as_rarely_as_computed(name: str) -> None:
    case = CASES[name]
    noise = solve_noise(EPSILON, DELTA, case.contribution)
    unit = 1 if case.contribution.weights == "plain" else 2**20
    least = math.ceil((noise.threshold or 0) * unit + 0.5) / unit
    weight = case.contribution.weight(case.shared + case.alone)
    hidden = special.ndtr((least - 0.5 / unit - weight) / noise.deviation) ** case.alone
    shown = released(case, honest, True)[1]
    check = "histograms: words that one contributor has"
    assert 1 - hidden <= DELTA
    assert not rejects(check, name, [fits_share(int(shown.sum()), DRAWS, 1 - hidden)])
    # The twin shows it at another rate.
    often = released(case, one_word_threshold if name == "plain" else low_threshold, True)[1]
    assert rejects(check, name, [fits_share(int(often.sum()), DRAWS, 1 - hidden)])
    assert not released(case, honest, False)[1].any()


@pytest.mark.parametrize("name", CASES)
def test_no_event_is_likelier_than_the_claim_allows(name: str) -> None:
    case = CASES[name]
    assert not rejects("histograms: true claims", name, evidence(name, case, honest))
    assert rejects("histograms: true claims", name, evidence(name, case, TWINS[name]))


def test_twin_a_table_of_one_word_without_noise_breaks_the_claim() -> None:
    case = Case(Contribution(words=8), 0, 1)
    found = evidence("plain", case, no_noise_for_a_single_word)
    assert rejects("histograms: true claims", "plain", found)
    assert not rejects("histograms: true claims", "plain", evidence("plain", case, honest))
