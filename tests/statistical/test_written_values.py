"""Dates, numbers and places: noise of its law, draws of their rows, and no true claim refuted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from sfumato.audits.verify import Effort, refute
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.date import Date
from sfumato.mechanisms.gazetteer import CITY, gazetteer
from sfumato.mechanisms.geometric import ExactDraws
from sfumato.mechanisms.globe import GlobeNoise, GlobeRows
from sfumato.mechanisms.line import OnLine
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.number import Number
from sfumato.mechanisms.place import Place
from sfumato.text.span import Span, Stretch
from sfumato.vectors.space import Space
from statistical import budget
from unit.mechanisms.test_number import HalfTheNoise

NOISE, ROWS, CLAIMS = "values: noise", "values: drawn from rows", "values: true claims"
DRAWS = 8_000
EFFORT = Effort(draws=1500)
RATES = {
    "rate 1/10": Fraction(1, 10),
    "rate 7/3": Fraction(7, 3),
    "rate of a float": Fraction(0.3),
}
LINES: dict[str, Date | Number] = {
    "date": Date(epsilon=0.2),
    "date, each": Date(epsilon=1.5, shift="each"),
    "number": Number(epsilon=0.3, step=0.5),
    "number, relative": Number(epsilon=0.4, scale="relative", step=0.02),
}
NEAR = ("Heidelberg", "Mannheim", "Karlsruhe", "Darmstadt", "Heilbronn", "Stuttgart")


def fit(rate: Fraction, draw: Callable[[], int]) -> list[float]:
    """P-values of the middle of the law, and of both tails."""
    odds = math.exp(-float(rate))
    drawn = Counter(draw() for _ in range(DRAWS))
    reach = max(2, round(4 / rate))
    found = [
        budget.fits_share(drawn[k], DRAWS, (1 - odds) / (1 + odds) * odds ** abs(k))
        for k in range(-reach, reach + 1)
    ]
    tail = odds ** (reach + 1) / (1 + odds)
    for side in (1, -1):
        hits = sum(count for k, count in drawn.items() if side * k > reach)
        found.append(budget.fits_share(hits, DRAWS, tail))
    return found


@pytest.mark.parametrize("case", RATES)
def test_the_noise_is_two_sided_geometric(case: str) -> None:
    draws, rate = ExactDraws(Randomness.reproducible(11)), RATES[case]
    assert not budget.rejects(NOISE, case, fit(rate, lambda: draws.geometric(rate)))


def test_noise_with_two_zeros_is_rejected() -> None:
    """The twin draws a length and a sign, and keeps a zero whichever sign it has."""
    draws, rate = ExactDraws(Randomness.reproducible(12)), Fraction(1, 10)

    def twin() -> int:
        length = draws.geometric(rate)
        while length < 0:
            length = draws.geometric(rate)
        return -length if draws.below(2) else length

    assert budget.rejects(NOISE, "rate 1/10", fit(rate, twin))


def fit_rows(points: OnLine, draws: int) -> list[float]:
    found = []
    for point in range(len(points.texts)):
        source = Randomness.reproducible(13).stream(point)
        outputs = points.privatize(np.full(draws, point, dtype=np.intp), source)
        counts = np.bincount(outputs, minlength=len(points.texts))
        shares = np.minimum(points.row(point), 1.0)
        found += [
            budget.fits_share(int(hits), draws, float(share))
            for hits, share in zip(counts, shares, strict=True)
        ]
    return found


@pytest.mark.parametrize("case", LINES)
def test_what_is_written_is_drawn_from_the_rows(case: str) -> None:
    (points,) = LINES[case].points()
    assert not budget.rejects(ROWS, case, fit_rows(points, 1000))


def test_rows_of_another_level_are_rejected() -> None:
    (points,) = Date(epsilon=0.2).points()
    (other,) = Date(epsilon=0.3).points()
    twin = OnLine(
        mechanism=other.mechanism,
        texts=points.texts,
        places=points.places,
        unit=points.unit * 2 / 3,  # as if the level were that of the points
        read=points.read,
    )
    assert budget.rejects(ROWS, "date", fit_rows(twin, 1000))


def test_names_of_places_are_drawn_from_the_rows() -> None:
    mechanism, cities = Place(epsilon=0.03), gazetteer(CITY)
    here = cities.find("Heidelberg")
    assert here is not None
    stretch = Stretch(0, 10, "Heidelberg", Span(0, 10, "LOCATION"))
    drawn = Counter(mechanism.replace([stretch] * DRAWS, Randomness.reproducible(14)))
    rows = mechanism.on_globe(CITY)
    assert isinstance(rows, GlobeRows)
    shares: Counter[str] = Counter()
    for name, share in zip(cities.names, rows.row(here).tolist(), strict=True):
        shares[name] += share
    found = [
        budget.fits_share(drawn[name], DRAWS, min(1.0, share))
        for name, share in shares.most_common(100)
    ]
    assert not budget.rejects(ROWS, "place", found)


def some_cities() -> Space:
    numbers = [gazetteer(CITY).find(name) for name in NEAR]
    vectors = gazetteer(CITY).space.vectors[np.array(numbers, dtype=np.intp)]
    return Space("some cities", list(NEAR), vectors)


def honest() -> dict[str, PointMechanism]:
    lines: dict[str, PointMechanism] = {case: one.points()[0] for case, one in LINES.items()}
    return lines | {
        "place": GlobeRows(space=some_cities(), epsilon=0.03),
        "place, noise": GlobeNoise(space=some_cities(), epsilon=0.03),
    }


@pytest.mark.parametrize("case", budget.CHECKS[CLAIMS].cases)
def test_no_true_claim_is_refuted(case: str) -> None:
    verdict = refute(
        honest()[case],
        confidence=1 - budget.level(CLAIMS, case),
        effort=EFFORT,
        randomness=Randomness.reproducible(15),
    )
    assert not verdict.refuted


def test_half_the_noise_is_refuted_at_the_same_level_with_as_many_draws() -> None:
    (points,) = HalfTheNoise(epsilon=0.3, step=0.5).points()
    verdict = refute(
        points,
        confidence=1 - budget.level(CLAIMS, "number"),
        effort=EFFORT,
        randomness=Randomness.reproducible(15),
    )
    assert verdict.refuted
