"""Draws by weight: the law is that of the weights to the last digit; inversion is the twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.arrays import Floats, Integers
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting import draw
from sfumato.mechanisms.rewriting.draw import Weighted

WEIGHTS = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=30)


def law(weighted: Weighted) -> dict[int, Fraction]:
    """The probability of each outcome in one round, from what ``draw`` uses."""
    ends = [*weighted.begins[1:].tolist(), len(weighted.outcomes)]
    found = {}
    for place, (begin, end) in enumerate(zip(weighted.begins.tolist(), ends, strict=True)):
        assert weighted.before[place] < weighted.total
        for member in range(begin, end):
            share = Fraction(float(weighted.shares[member]))
            mass = Fraction(1 << int(weighted.powers[place]), weighted.total)
            found[int(weighted.outcomes[member])] = mass * share
    return found


@given(WEIGHTS)
def test_the_law_is_that_of_the_weights_without_any_rounding(weights: list[float]) -> None:
    if not any(weights):
        with pytest.raises(InvalidArgument, match="positive"):
            Weighted.of(np.array(weights))
        return
    found = law(Weighted.of(np.array(weights)))
    total = sum(map(Fraction, weights))
    scale = sum(found.values())
    assert scale >= Fraction(1, 2)  # a round ends at least every other time
    wanted = {place: Fraction(one) / total for place, one in enumerate(weights) if one}
    assert {place: one / scale for place, one in found.items()} == wanted


def test_an_outcome_that_inversion_never_gives_has_its_probability() -> None:
    weights = np.array([1.0, 1e-18])
    # The twin: the largest number that a draw can be still gives the first outcome.
    cumulated = np.cumsum(weights)
    assert np.searchsorted(cumulated, (1 - 2.0**-53) * cumulated[-1], side="right") == 0
    found = law(Weighted.of(weights))
    assert found[1] / found[0] == Fraction(1e-18)


@pytest.mark.parametrize("weights", [[np.nan, 1.0], [np.inf, 1.0], [-1.0, 2.0], [0.0, 0.0]])
def test_what_is_no_weight_is_refused(weights: list[float]) -> None:
    with pytest.raises(InvalidArgument, match="weights"):
        Weighted.of(np.array(weights))


class Given(Randomness):
    """Whole numbers that are given, one after the other."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self.numbers = iter(numbers)

    def integers(self, bound: int, count: int) -> Integers:
        found = np.array([next(self.numbers) for _ in range(count)])
        assert (found < bound).all()
        return found


def test_large_numbers_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "_BITS", 2)
    # Two pieces of two bits for a number below 5: 15 of 16 pairs give one, the last is drawn anew.
    pairs = list(product(range(4), repeat=2))
    found = [draw._below(5, Given([*pair, 0, 0])) for pair in pairs]
    assert Counter(found[:-1]) == dict.fromkeys(range(5), 3)
    assert found[-1] == 0
    # The twin: a remainder of all pairs gives 0 once more than the others.
    assert Counter(4 * one + other for one, other in pairs) == dict.fromkeys(range(16), 1)
    assert len(set(Counter((4 * one + other) % 5 for one, other in pairs).values())) == 2


def test_large_masses_find_each_outcome_by_its_power(monkeypatch: pytest.MonkeyPatch) -> None:
    weights: Floats = np.array([6.0, 0.25, 3.0, 0.0, 0.3, 5.0, 1.0])
    weighted = Weighted.of(weights)
    numbers = iter(range(weighted.total))
    monkeypatch.setattr(draw, "_below", lambda *_: next(numbers))
    found = Counter(weighted._large(Randomness.secure()) for _ in range(weighted.total))
    chances = {
        int(weighted.outcomes[place]): Fraction(count, weighted.total)
        * Fraction(float(weighted.shares[place]))
        for place, count in found.items()
    }
    assert chances == law(weighted)


def test_large_masses_go_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    weighted = Weighted.of(np.exp(np.linspace(0, -30, 40)))
    monkeypatch.setattr(draw, "_BITS", 16)
    asked: set[int] = set()

    def below(bound: int, _: Randomness) -> int:
        asked.add(bound)
        return 0

    monkeypatch.setattr(draw, "_below", below)
    weighted.draw(1, Randomness.reproducible(1))
    assert asked == {weighted.total}
