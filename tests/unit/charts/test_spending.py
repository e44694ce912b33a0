"""The chart of what an account has spent: sums, the limit, and what is held."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sfumato.accounting.budget.accounts import Account, Kind, Limit
from sfumato.accounting.budget.amounts import Amount
from sfumato.accounting.budget.charges import Charge
from sfumato.charts.spending import MOST_STEPS, spending_chart
from sfumato.core.errors import InvalidArgument

OPENED, UNTIL = "2026-03-01T09:00:00.000+00:00", "2026-03-09T09:00:00.000+00:00"


def charges(count: int, held: int = 0, delta: float = 0.0) -> list[Charge]:
    return [
        Charge(
            f"2026-03-02T{place // 60 % 24:02d}:{place % 60:02d}:00.000+00:00",
            Amount.charged(0.5, delta),
            place >= count - held,
            "{}",
        )
        for place in range(count)
    ]


def account(limit: Limit, made: list[Charge]) -> Account:
    spent = Amount(sum(one.amount.units for one in made), sum(one.amount.delta for one in made))
    held = Amount(sum(one.amount.units for one in made if one.held))
    return Account(Kind.CORPUS, limit, spent, held, len(made), "", OPENED)


def drawn(limit: Limit, made: list[Charge]) -> tuple[list[list[dict[str, Any]]], str]:
    """The steps of each panel, and the whole description."""
    spec = spending_chart(account(limit, made), made, UNTIL).spec
    steps = [rows for rows in spec["datasets"].values() if "all" in rows[0]]
    return steps, json.dumps(spec, ensure_ascii=False)


def test_the_steps_are_the_sums_so_far_and_end_now() -> None:
    steps, said = drawn(Limit.of("level", 20.0), charges(4, held=1))
    (first, *_) = steps
    assert [one["all"] for one in first] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.0]
    assert [one["spent"] for one in first] == [0.0, 0.5, 1.0, 1.5, 1.5, 1.5]
    assert (first[0]["at"], first[-1]["at"]) == (OPENED, UNTIL)
    assert "limit 20" in said
    assert "held by work in progress" in said
    assert "2 of 20 used in 4 charges, of which 0.5 is held" in said


def test_many_steps_are_thinned_and_lose_nothing_at_the_end() -> None:
    steps, said = drawn(Limit.of("level", float("inf")), charges(3 * MOST_STEPS))
    assert len(steps[0]) == MOST_STEPS + 2
    assert steps[0][-1]["all"] == 0.5 * 3 * MOST_STEPS
    assert '"limit' not in said


def test_a_limit_of_delta_has_a_panel_of_its_own() -> None:
    made = charges(2, delta=1e-6)
    limit = Limit.of("approximate", 8.0, delta=1e-5)
    _, said = drawn(limit, made)
    assert "δ used" in said
    assert "limit 1e-05" in said


def test_without_charges_there_is_nothing_to_draw() -> None:
    with pytest.raises(InvalidArgument, match="nothing to draw"):
        spending_chart(account(Limit.of("level", 2.0), []), [], UNTIL)
