from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.studies.tables import check_table, fitting, table


@dataclass(frozen=True, kw_only=True)
class Example:
    name: str
    count: int = 3
    rate: float | None = None
    names: tuple[str, ...] = ()
    own: dict[str, Any] = field(default_factory=dict)
    lambda_: float = 0.5


def test_a_table_becomes_a_dataclass_with_its_defaults() -> None:
    assert table(Example, {"name": "a", "rate": 2}, "[x]") == Example(name="a", rate=2.0)


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match=r"unknown key in \[x\] 'cuont'.*count"):
        table(Example, {"name": "a", "cuont": 4}, "[x]")


def test_a_missing_key_is_named() -> None:
    with pytest.raises(InvalidArgument, match=r"\[x\] needs the key 'name'"):
        table(Example, {}, "[x]")


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("count", 2.5, "a whole number"),
        ("count", True, "a whole number"),
        ("count", "3", "a whole number"),
        ("rate", "much", "a number"),
        ("rate", True, "a number"),
        ("names", "one", "a list, each a text"),
        ("names", ["a", 1], "a list, each a text"),
        ("own", [1], "a table"),
        ("name", None, "a text"),
    ],
)
def test_a_value_of_another_type_is_refused(key: str, value: object, wanted: str) -> None:
    with pytest.raises(InvalidArgument, match=wanted):
        table(Example, {"name": "a", key: value}, "[x]")


def test_python_keeps_a_word_for_itself_and_toml_does_not() -> None:
    assert check_table(Example, {"lambda": 1}, "[x]") == {"lambda_": 1.0}


def test_something_else_than_a_table_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"\[x\] must be a table"):
        table(Example, [1], "[x]")


def test_infinity_can_be_written_as_a_word() -> None:
    assert fitting("epsilon", "inf", float) == math.inf


@given(st.integers() | st.floats(allow_nan=False))
def test_every_number_is_a_number(value: float) -> None:
    assert fitting("x", value, float | None) == float(value)
