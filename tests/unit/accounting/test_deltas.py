"""Delta: below 1/n^1.1 by itself, never above 1/n, and a word of caution at 1/n."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.delta import caution, resolve_delta
from sfumato.core.errors import InvalidArgument


@given(st.integers(2, 10**12))
def test_auto_is_a_short_number_just_below(units: int) -> None:
    delta = resolve_delta("auto", units)
    assert 0.85 * units**-1.1 < delta < units**-1.1
    assert len(f"{delta:e}".split("e")[0].rstrip("0").replace(".", "")) <= 2
    assert caution(delta, units) is None


@pytest.mark.parametrize("units", [10**10, 10**20])
def test_auto_is_strictly_below_where_the_bound_is_itself_a_short_number(units: int) -> None:
    assert resolve_delta("auto", units) < units**-1.1


@pytest.mark.parametrize("delta", ["1/n", 1 / 5056, 1 / 5056 * (1 - 1e-12)])
def test_one_in_n_is_allowed_with_a_sentence(delta: float | str) -> None:
    found = resolve_delta(delta, 5056)
    assert found == pytest.approx(1 / 5056)
    said = caution(found, 5056)
    assert said is not None
    assert "1/n" in said
    assert "\n" not in said


@pytest.mark.parametrize("delta", [2e-4, 0.1, 0.999])
def test_more_than_one_in_n_is_refused_with_the_reason(delta: float) -> None:
    with pytest.raises(InvalidArgument, match=r"more than 1/n = 0\.000197785 for n=5056.*'auto'"):
        resolve_delta(delta, 5056)


@pytest.mark.parametrize("delta", [0.0, -1e-6, 1.0, math.nan, math.inf, "small", True])
def test_what_is_no_probability_is_refused(delta: float | str) -> None:
    with pytest.raises(InvalidArgument, match="delta="):
        resolve_delta(delta, 5056)


def test_a_single_unit_cannot_hide() -> None:
    with pytest.raises(InvalidArgument, match="units=1 must be at least 2"):
        resolve_delta("auto", 1)
