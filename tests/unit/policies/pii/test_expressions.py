"""Both forms of an expression find the same in plain ASCII."""

from __future__ import annotations

import inspect
import string
from collections.abc import Iterator

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from findings import PIECES
from sfumato.policies.pii import (
    address_parts,
    age,
    capitals,
    code,
    coordinates,
    dates,
    email,
    house,
    phone,
    plates,
    street,
    url,
)
from sfumato.policies.pii.expressions import Expression, in_ascii
from sfumato.policies.pii.introductions import list_rules

MODULES = (
    *(address_parts, age, capitals, code, coordinates, dates, email, house, phone, plates, street),
    url,
)


def expressions() -> Iterator[Expression]:
    yield from (rule.expression for rule in list_rules())
    for module in MODULES:
        for name, made in vars(module).items():
            is_made = name.startswith("_") and hasattr(made, "cache_info")
            if is_made and str(inspect.signature(made)) == "() -> 'Expression'":
                yield made()


ALL = tuple(expressions())
TEXTS = st.lists(
    st.sampled_from([piece for piece in regex.split(r"[|\n]", PIECES) if piece.isascii()])
    | st.text(string.printable, max_size=6),
    min_size=2,
    max_size=12,
).map(" ".join)


def places(pattern: object, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]  # type: ignore[attr-defined]


@given(TEXTS, st.sampled_from(ALL))
def test_the_quick_form_finds_what_the_full_one_finds(text: str, expression: Expression) -> None:
    assert places(expression._quick, text) == places(expression._full, text)


def test_there_are_many_expressions() -> None:
    assert len(ALL) > 50


def test_twin_without_capitals_is_caught() -> None:
    full = Expression(r"\p{Lu}\p{L}+")
    twin = Expression(r"\p{Ll}\p{L}+")
    assert places(twin._quick, "ask Ann") != places(full._full, "ask Ann")


@pytest.mark.parametrize("text", ["Zoë Müller", "Łódź"])
def test_what_is_not_ascii_is_read_in_full(text: str) -> None:
    match = Expression(r"[\p{L} ]+").match(text)
    assert match
    assert match[0] == text


def test_classes_inside_brackets_become_ranges() -> None:
    assert in_ascii(r"[^\p{L}\]]\p{N}[\[\p{Lu}]") == r"[^A-Za-z\]][0-9][\[A-Z]"
