"""Draws by weight: the law is that of the weights to the last digit; inversion is the twin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.arrays import Floats
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


def test_large_masses_are_drawn_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    weights: Floats = np.exp(np.linspace(0, -30, 40))
    usual = Weighted.of(weights).draw(400, Randomness.reproducible(1))
    monkeypatch.setattr(draw, "_BITS", 16)
    pieces = Weighted.of(weights).draw(400, Randomness.reproducible(1))
    assert set(np.unique(usual)) & set(np.unique(pieces))
    assert pieces.max() < 40
    # One class alone, whose members are equally likely.
    assert set(Weighted.of(np.ones(3)).draw(60, Randomness.reproducible(2)).tolist()) == {0, 1, 2}
