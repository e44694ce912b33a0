"""The page for an officer: true words about the limit, for every kind of statement."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from budget_claims import approximate, metric, pure
from sfumato.accounting.budget.accounts import Account, Kind, Limit
from sfumato.accounting.budget.amounts import Amount
from sfumato.accounting.budget.charges import Charge, Claim
from sfumato.accounting.budget.statement import LISTED, Statement, best_guess, statement
from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Notion, independent

AT = "2026-03-01T09:00:00.000+00:00"
KEY = Key(b"a key of a test, long enough", "environment")


def account(claim: Claim | None, limit: Limit, kind: Kind = Kind.CORPUS) -> Account:
    speaks_of = "" if claim is None else claim.speaks_of(KEY, kind)
    return Account(kind, limit, Amount(0), Amount(0), 0, speaks_of, AT)


def plain(claim: Claim | None, limit: Limit, kind: Kind = Kind.CORPUS) -> str:
    return " ".join(Statement.of("c0de", account(claim, limit, kind), []).plain)


def test_odds_are_those_of_the_limit_rounded_up() -> None:
    assert "at most 7.39 to 1." in plain(pure(1.0), Limit.of("level", 2.0))
    said = plain(approximate(1.0, 1e-6), Limit.of("approximate", 1.0, delta=1e-5))
    assert "right at most 73.11 % of the time" in said
    assert "to 1 to" not in said
    assert "no statement of its own" in said
    assert "nothing useful" in plain(pure(1.0), Limit.of("level", 50.0))


def test_a_delta_bounds_how_well_one_guesses_and_not_how_often_odds_are_large() -> None:
    # One Gaussian release that is (1, 1e-5) exactly: the best guess is by the sign of the middle.
    shift = 0.26805
    normal = NormalDist()
    assert normal.cdf(shift / 2) <= best_guess(1.0, 1e-5)
    # What must not be said: that odds are above e with a chance of at most delta.
    beyond = normal.cdf(shift / 2 - 1 / shift)
    assert beyond > 10 * 1e-5


@pytest.mark.parametrize(("kind", "which"), [(Kind.TEXT, "add up to"), (Kind.AUTHOR, "no place")])
def test_distances_are_rounded_down(kind: Kind, which: str) -> None:
    said = plain(metric(1.0), Limit.of("level", 12.0), kind)
    assert which in said
    assert "0.0833," in said
    assert math.exp(12 * 0.0833) <= 2.72 < math.exp(12 * 0.0834)


def test_what_cannot_be_said_in_one_number_is_not() -> None:
    only_some = replace(metric(1.0).guarantee, notion=Notion.UTILITY_OPTIMIZED_METRIC_LDP)
    said = plain(Claim(only_some, ("d",)), Limit.of("level", 2.0), Kind.TEXT)
    assert "cannot be said in one number" in said
    assert "odds" not in said
    without = plain(Claim(independent(), ("d",)), Limit.of("level", 2.0), Kind.TEXT)
    assert "no more than before" in without
    assert "no limit" in plain(pure(1.0), Limit.of("level", math.inf))
    assert "Suppose" not in plain(None, Limit.of("level", 2.0))


def test_of_a_long_history_the_latest_are_listed_and_all_are_added_up() -> None:
    told = json.dumps({"sentence": "3 words | at ε = 5"})
    charges = [Charge(AT, Amount.charged(0.5, 1e-9), False, told) for _ in range(LISTED + 3)]
    limit = Limit.of("approximate", 1000.0, delta=1e-5)
    page = statement("c0de", account(approximate(1.0, 1e-6), limit), charges)
    assert page.count("| spent |") == LISTED
    assert "3 earlier charges came to 1.5, δ 3e-09" in page
    assert "| 51.5, δ 1.03e-07 | spent | 3 words \\| at ε = 5 |" in page
