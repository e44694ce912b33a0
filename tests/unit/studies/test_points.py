from __future__ import annotations

import math
from typing import Any

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.studies.points import points
from sfumato.studies.spec import MethodSettings


def _method(**settings: Any) -> MethodSettings:
    return MethodSettings(name="M", settings=settings)


def test_a_list_is_a_grid_and_epsilon_its_parameter() -> None:
    found = points(_method(mechanism="laplace", epsilon=[6, 8.5, "inf"]))
    assert [(one.method, one.parameter, one.level) for one in found] == [
        ("M", "epsilon", 6.0),
        ("M", "epsilon", 8.5),
        ("M", "epsilon", math.inf),
    ]


def test_other_lists_are_methods_of_their_own() -> None:
    found = points(_method(epsilon=[1, 2], unknown=["keep", "centroid"]))
    assert sorted((one.method, one.level) for one in found) == [
        ("M, unknown centroid", 1.0),
        ("M, unknown centroid", 2.0),
        ("M, unknown keep", 1.0),
        ("M, unknown keep", 2.0),
    ]


def test_a_single_epsilon_is_a_level_too() -> None:
    (found,) = points(_method(epsilon=4))
    assert (found.parameter, found.level) == ("epsilon", 4.0)


def test_without_epsilon_the_first_list_of_numbers_is_the_parameter() -> None:
    found = points(_method(search=["exact", "approximate"], sigma=[0.5, 1]))
    assert {one.parameter for one in found} == {"sigma"}
    assert {one.method for one in found} == {"M, search exact", "M, search approximate"}


def test_without_any_list_there_is_one_point_without_a_level() -> None:
    (found,) = points(_method(mechanism="redact"))
    assert (found.parameter, found.level) == (None, None)


def test_what_is_a_list_by_nature_is_a_grid_only_when_told() -> None:
    (together,) = points(_method(policy=["digits", "pii"], epsilon=1))
    assert together.settings["policy"] == ["digits", "pii"]
    apart = points(_method(epsilon=1, grid={"policy": ["digits", ["digits", "pii"]]}))
    assert [one.method for one in apart] == ["M, policy digits", "M, policy digits + pii"]


def test_seeds_of_a_method_are_not_a_setting() -> None:
    (found,) = points(_method(epsilon=1, seeds=[1, 2, 3]))
    assert found.seeds == (1, 2, 3)
    assert "seeds" not in found.settings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": []}, "empty list"),
        ({"epsilon": [1, 1]}, "twice"),
        ({"epsilon": 1, "grid": {"epsilon": [2]}}, "given twice"),
        ({"grid": {"epsilon": 2}}, "table of lists"),
        ({"grid": [1]}, "table of lists"),
        ({"epsilon": ["much"]}, "must be a number"),
        ({"epsilon": 1, "seeds": 3}, "must be a list"),
    ],
)
def test_what_makes_no_grid_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        points(_method(**settings))
