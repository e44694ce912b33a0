"""Learned forms by draws, from documents to made-up values: noise, threshold and shares.

One document has forms that nobody else has; with its private part missing, none of them exists.
Twins break the claim where forms are counted, where noise is added and where values are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from sfumato.core.randomness import Randomness
from sfumato.histograms import counts
from sfumato.histograms.counts import Tally
from sfumato.histograms.thresholds import Noise, solve_noise
from sfumato.text.document import Document
from sfumato.training.methods.fills import draw_fills
from sfumato.training.methods.forms import CONTRIBUTION, MOST, Forms, learn_forms
from sfumato.training.methods.streams import Split
from statistical.budget import at_most, fits_share, level, rejects, upper_bounds

DRAWS = 1500
EPSILON, DELTA = 1.0, 0.03
NOISE = solve_noise(EPSILON, DELTA, CONTRIBUTION)
COMMON = "0-0"
COMPANY = 40  # so many others have the common form that it is never dropped
GRAIN = 2.0**-20
CHECK = "forms: learned"


def document(values: Sequence[str]) -> Split:
    """A document with a number at each place."""
    text, places = "", []
    for value in values:
        places.append((len(text) + 1, len(text) + 1 + len(value)))
        text += f" {value}"
    return Split(Document(text), "", tuple(places), (), ("NUMBER",) * len(values))


# More forms than a document may give; of these, as many as it may.
RICH = document(["7" * size for size in range(1, 3 * MOST)])
SAME = document(["5-5"])
OTHERS = [SAME] * COMPANY
MISSING = replace(RICH, private=tuple((start, start) for start, _ in RICH.private))

Learn = Callable[[Sequence[Split], Randomness], Forms]


def honest(splits: Sequence[Split], randomness: Randomness) -> Forms:
    return learn_forms(splits, (), "example", NOISE, randomness)


def with_noise(noise: Noise) -> Learn:
    return lambda splits, randomness: learn_forms(splits, (), "example", noise, randomness)


halved = with_noise(replace(NOISE, deviation=NOISE.deviation / 2))
low = with_noise(replace(NOISE, threshold=0.6 * (NOISE.threshold or 0.0)))


def unbounded(splits: Sequence[Split], randomness: Randomness) -> Forms:
    """A twin in which a document gives all its forms, each with weight 1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tally, "_choose", lambda _, words, __: words)
        patch.setattr(counts, "_weight", lambda *_: 2**20)
        return honest(splits, randomness)


@cache
def released(how: Learn, there: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The noisy count of the common form, and whether a form of the rich document was shown."""
    source = Randomness.reproducible(21 + there)
    common, shown = np.zeros(DRAWS), np.zeros(DRAWS, dtype=bool)
    for draw in range(DRAWS):
        found = how([*OTHERS, RICH if there else MISSING], source.stream(draw)).counts["NUMBER"]
        common[draw] = found[COMMON]
        shown[draw] = len(found) > 1
    return common, shown


def noise_evidence(how: Learn) -> list[float]:
    """P-values of the noisy count of the common form, exact with its rounding to grains."""
    seen = released(how, False)[0]
    places = [COMPANY + share * NOISE.deviation for share in (-2.0, -1.0, 0.0, 1.0, 2.0)]
    whole = [math.ceil(place / GRAIN) * GRAIN for place in places]
    return [
        fits_share(
            int((seen >= place).sum()),
            DRAWS,
            float(special.ndtr(-(place - GRAIN / 2 - COMPANY) / NOISE.deviation)),
        )
        for place in whole
    ]


def test_counts_have_the_noise_that_is_claimed() -> None:
    assert not rejects(CHECK, "counts", noise_evidence(honest))
    assert rejects(CHECK, "counts", noise_evidence(halved))


def test_forms_that_one_document_has_are_shown_as_rarely_as_computed() -> None:
    least = math.ceil((NOISE.threshold or 0.0) / GRAIN + 0.5) * GRAIN
    weight = math.isqrt(2**40 // MOST) * GRAIN
    hidden = special.ndtr((least - GRAIN / 2 - weight) / NOISE.deviation) ** MOST
    assert 1 - hidden <= NOISE.shown_alone * (1 + 1e-6) <= DELTA * (1 + 1e-6)
    shown = released(honest, True)[1]
    assert not rejects(CHECK, "alone", [fits_share(int(shown.sum()), DRAWS, 1 - hidden)])
    for twin in (unbounded, low):
        often = released(twin, True)[1]
        assert rejects(CHECK, "alone", [fits_share(int(often.sum()), DRAWS, 1 - hidden)])
    assert not released(honest, False)[1].any()


def claim_evidence(how: Learn) -> list[float]:
    """P-values against the level: events with the document's private part, by those without."""
    with_one, without = released(how, True), released(how, False)
    alpha, found = level(CHECK, "true claims") / 10, []
    for first, second in ((with_one, without), (without, with_one)):
        for place in (COMPANY - NOISE.deviation, COMPANY, COMPANY + NOISE.deviation, math.inf):
            hits, others = (first[0] > place) | first[1], (second[0] > place) | second[1]
            most = upper_bounds(np.array([others.sum()]), np.array([DRAWS]), alpha)[0]
            claimed = min(1.0, math.exp(EPSILON) * float(most) + DELTA)
            found.append(at_most(int(hits.sum()), DRAWS, claimed))
    return found


def test_no_event_is_likelier_than_the_claim_allows() -> None:
    assert not rejects(CHECK, "true claims", claim_evidence(honest))
    assert rejects(CHECK, "true claims", claim_evidence(unbounded))


def fill_evidence(weights: dict[str, int], expected: dict[str, int]) -> list[float]:
    drawn = draw_fills(["NUMBER"] * DRAWS, "en", Randomness.reproducible(4), {"NUMBER": weights})
    total = sum(expected.values())
    return [
        fits_share(sum(len(one) == len(form) for one in drawn), DRAWS, weight / total)
        for form, weight in expected.items()
    ]


def test_values_are_drawn_by_noisy_counts() -> None:
    true = {"0-0": 30, "00-00": 50, "0000-0": 70}
    noisy = Forms({"NUMBER": {"0-0": 50.4, "00-00": 49.6, "0000-0": 50.0}}, NOISE, 150).weights()
    assert not rejects(CHECK, "fills", fill_evidence(noisy["NUMBER"], noisy["NUMBER"]))
    assert rejects(CHECK, "fills", fill_evidence(true, noisy["NUMBER"]))
