"""Argument checks: what passes comes back as it is meant, what does not is named."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from sfumato.core import checks
from sfumato.core.errors import InvalidArgument, MissingExtra, UnknownName


@pytest.mark.parametrize("value", [0, -3, 2.5, np.float32(1.5), np.int64(4)])
def test_a_number_comes_back_as_a_float(value: object) -> None:
    checked = checks.number("x", value)
    assert type(checked) is float
    assert checked == value


@pytest.mark.parametrize("value", ["much", None, [1.0, 2.0], {}, object])
def test_what_is_not_a_number_is_named(value: object) -> None:
    with pytest.raises(InvalidArgument, match=r"clip=.*must be a number"):
        checks.number("clip", value)


@pytest.mark.parametrize("check", [checks.number, checks.positive])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_a_number_must_be_finite(check: Callable[[str, object], float], value: float) -> None:
    with pytest.raises(InvalidArgument, match="finite"):
        check("epsilon", value)


@pytest.mark.parametrize("value", [0, 0.0, -0.0, -1e-300])
def test_zero_and_less_is_not_positive(value: float) -> None:
    with pytest.raises(InvalidArgument, match="must be greater than 0"):
        checks.positive("epsilon", value)


@pytest.mark.parametrize("value", [5e-324, 1, 1e300])
def test_positive_numbers_pass(value: float) -> None:
    assert checks.positive("epsilon", value) == value


@pytest.mark.parametrize("value", [0, 1, 0.5])
def test_the_ends_of_an_interval_belong_to_it(value: float) -> None:
    assert checks.between("share", value, 0, 1) == value


@pytest.mark.parametrize("value", [-1e-9, 1.0000001, math.nan])
def test_what_lies_outside_an_interval_is_refused(value: float) -> None:
    with pytest.raises(InvalidArgument, match="share="):
        checks.between("share", value, 0, 1)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_a_whole_number_is_not_a_truth_value_a_float_or_text(value: object) -> None:
    with pytest.raises(InvalidArgument, match=r"workers=.*whole number"):
        checks.at_least("workers", value, 0)


def test_a_whole_number_has_a_least_value() -> None:
    assert checks.at_least("workers", 1, 1) == 1
    with pytest.raises(InvalidArgument, match="workers=0 must be at least 1"):
        checks.at_least("workers", 0, 1)


def test_a_mistyped_name_is_answered_with_the_nearest_one() -> None:
    assert checks.one_of("case", "public", ["public", "restore"]) == "public"
    with pytest.raises(UnknownName, match="did you mean 'restore'"):
        checks.one_of("case", "restor", ["public", "restore"])


def test_a_missing_module_names_its_extra() -> None:
    assert checks.extra("math", needed_for="sums", extra="all") is math
    with pytest.raises(MissingExtra, match=r"tables needs an extra: .*sfumato\[parquet\]"):
        checks.extra("no_such_module_here", needed_for="tables", extra="parquet")
