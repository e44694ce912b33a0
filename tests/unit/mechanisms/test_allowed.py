"""Levels beyond a computer's numbers are refused, by every mechanism and with the range."""

from __future__ import annotations

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.mechanisms.build import build_mechanism, word_mechanisms
from sfumato.mechanisms.mechanism import check_level
from sfumato.vectors.space import Space


@pytest.mark.parametrize("epsilon", [5e-324, 1e-13, 1e301, 1e308])
def test_extreme_levels_are_refused_with_the_range(epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match=r"between 1e-12 and 1e\+300"):
        check_level(epsilon)


@pytest.mark.parametrize("name", word_mechanisms())
def test_no_mechanism_takes_a_level_that_numbers_lose(small_space: Space, name: str) -> None:
    with pytest.raises(InvalidArgument, match="epsilon="):
        build_mechanism(name, space=small_space, epsilon=5e-324)


@pytest.mark.parametrize("epsilon", [1e-12, 1.0, 1e300])
def test_levels_within_the_range_pass(epsilon: float) -> None:
    assert check_level(epsilon) == epsilon
