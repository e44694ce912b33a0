"""A measured bound is no guarantee, and says so by its type."""

from __future__ import annotations

import json
import math

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.bound import EmpiricalBound
from sfumato.guarantees.guarantee import Guarantee


def test_it_refutes_smaller_claims_only() -> None:
    bound = EmpiricalBound(epsilon=2.0, compared="two words", confidence=0.99, samples=1000)
    assert bound.refutes(1.9)
    assert not bound.refutes(2.0)
    assert not bound.refutes(math.inf)


def test_it_is_never_taken_for_a_guarantee() -> None:
    bound = EmpiricalBound(epsilon=2.0, compared="two words")
    assert not isinstance(bound, Guarantee)
    assert not hasattr(bound, "then")
    assert "epsilon" not in bound.as_dict()


def test_it_can_be_written_as_json_even_if_infinite() -> None:
    bound = EmpiricalBound(epsilon=math.inf, compared="two words")
    assert json.loads(json.dumps(bound.as_dict(), allow_nan=False))["epsilon_at_least"] == "inf"


@pytest.mark.parametrize(
    "values",
    [{"epsilon": math.nan}, {"epsilon": 1.0, "confidence": 2.0}, {"epsilon": 1.0, "delta": -1.0}],
)
def test_what_is_no_bound_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        EmpiricalBound(compared="two words", **values)  # type: ignore[arg-type]
