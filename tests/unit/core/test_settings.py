from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.settings import check_table, configure, read, read_settings, read_table


@dataclass(frozen=True, kw_only=True)
class Example:
    name: str
    count: int = 3
    rate: float | None = None
    names: tuple[str, ...] = ()
    own: dict[str, Any] = field(default_factory=dict)
    lambda_: float = 0.5


def test_a_table_becomes_a_dataclass_with_its_defaults() -> None:
    assert read_table(Example, {"name": "a", "rate": 2}, "[x]") == Example(name="a", rate=2.0)


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match=r"unknown key in \[x\] 'cuont'.*count"):
        read_table(Example, {"name": "a", "cuont": 4}, "[x]")


def test_a_missing_key_is_named() -> None:
    with pytest.raises(InvalidArgument, match=r"\[x\] needs the key 'name'"):
        read_table(Example, {}, "[x]")


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
        read_table(Example, {"name": "a", key: value}, "[x]")


def test_python_keeps_a_word_for_itself_and_toml_does_not() -> None:
    assert check_table(Example, {"lambda": 1}, "[x]") == {"lambda_": 1.0}


def test_something_else_than_a_table_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"\[x\] must be a table"):
        read_table(Example, [1], "[x]")


def test_infinity_can_be_written_as_a_word() -> None:
    assert read("epsilon", "inf", float, typed=True) == math.inf


@given(st.integers() | st.floats(allow_nan=False))
def test_every_number_is_a_number(value: float) -> None:
    assert read("x", value, float | None, typed=True) == float(value)


class Own:
    """No dataclass: what it takes is what its parameters are."""

    def __init__(self, space: object, *, rate: float = 1.0, tags: tuple[str, ...] = ()) -> None:
        self.space, self.rate, self.tags = space, rate, tags


def make(name: str, count: int = 1, anything=None) -> tuple[object, ...]:  # type: ignore[no-untyped-def]
    return name, count, anything


def test_text_is_read_and_values_are_checked_for_a_dataclass_a_class_and_a_function() -> None:
    found = configure(Example, {"count": "7", "names": "a, b", "lambda": 1}, name="x")
    assert found == Example(name="x", count=7, names=("a", "b"), lambda_=1.0)
    own = configure(Own, {"rate": "0.5", "tags": ["a"]}, space=3)
    assert (own.space, own.rate, own.tags) == (3, 0.5, ("a",))
    assert configure(make, {"count": "2", "anything": "2"}, name="n") == ("n", 2, "2")


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(("key", "value"), [("rate", True), ("tags", [1]), ("rate", [])])
def test_a_ready_value_of_another_type_is_refused_from_every_source(
    key: str, value: object, typed: bool
) -> None:
    with pytest.raises(InvalidArgument, match=f"own.{key}=.* must be"):
        read_settings(Own, {key: value}, unknown="setting", prefix="own.", typed=typed)


@pytest.mark.parametrize("component", [Example, Own, make])
def test_what_is_given_or_unknown_is_no_setting(component: Any) -> None:
    for key in ("name", "space", "rat"):
        with pytest.raises(UnknownName, match=f"setting of .* '{key}'"):
            configure(component, {key: "x"}, name="n", space=1)


def test_of_several_types_the_first_that_fits_is_taken() -> None:
    assert read("delta", "auto", float | str) == "auto"
    assert read("delta", "1e-5", float | str) == 1e-5
    assert read("sizes", "8,16", int | tuple[int, ...]) == (8, 16)
    assert read("rate", None, float | None) is None


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    assert read("count", numpy.int64(3), int) == 3
    assert type(read("rate", numpy.float32(0.5), float)) is float
