"""Numbers that JSON lacks come back as they were, and no other text is taken for one."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.json import read_number, update_names, write_number


@given(st.floats())
def test_every_number_survives_json(value: float) -> None:
    read = read_number(json.loads(json.dumps(write_number(value), allow_nan=False)))
    assert read == value or (math.isnan(value) and read is not None and math.isnan(read))


@pytest.mark.parametrize("value", ["infinity", "Inf", "1", "", None, True, [1.0], {}, 10**400])
def test_nothing_else_is_a_number(value: object) -> None:
    assert read_number(value) is None


def test_what_is_missing_stays_so() -> None:
    assert write_number(None) is None


def test_only_keys_are_renamed_and_nothing_is_changed_in_place() -> None:
    older = {"neighbours": "neighbours", "course": {"optimiser": "optimiser"}, "list": [1]}
    kept = json.loads(json.dumps(older))
    now = {"neighbors": "neighbours", "course": {"optimizer": "optimiser"}, "list": [1]}
    assert update_names(older) == now == update_names(now)
    assert older == kept
