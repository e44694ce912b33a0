"""A word in focus and two mechanisms, as the service tells them."""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sfumato.accounting.budget.accounts import Limit
from sfumato.accounting.budget.shared import Budget
from sfumato.core.errors import IncomparableGuarantees, UnknownName
from sfumato.metrics.staying_curves import level_for, staying
from sfumato.service import explaining
from sfumato.service.offers import choose_privatizer
from sfumato.service.problems import Problem
from sfumato.service.queue import Turn
from sfumato.service.releasing import Cashier, Paid, privatize
from sfumato.service.requests import (
    AccountName,
    CompareRequest,
    ExplainRequest,
    PrivatizeRequest,
    WordRequest,
)

TEXT = "😀 Ask Ada Lovelace in Boston."


@pytest.mark.parametrize(
    "choices",
    [
        {"mechanism": "exponential", "epsilon": 4.0},
        {"mechanism": "auto"},
        {"mechanism": "auto", "epsilon": 5.0, "lexicon": ["ask"]},
        {"mechanism": "redact"},
        {"mechanism": "custom", "epsilon": 2.0},
        {"mechanism": "pseudonym"},
    ],
)
def test_a_preview_tells_what_the_release_would_cost(
    choices: dict[str, Any], tmp_path: Path
) -> None:
    """To the last digit what is charged; where it says that nobody can pay, nobody can."""
    key = tmp_path / "key"
    key.write_text("a key of thirty-two letters or so")
    told = explaining.explain(ExplainRequest(text=TEXT, **choices))["costs"]
    with Budget.at(tmp_path / "budget.db", key, new=True) as budget:
        for kind, cost in told.items():
            account = AccountName(kind=kind, id="one")
            budget.open(account.spelled, Limit.of("level", math.inf))
            asked = PrivatizeRequest(text=TEXT, account=account, **choices)
            paid = Paid.of(account, None, asked.model_dump_json().encode())
            release = partial(
                privatize, choose_privatizer(asked), TEXT, Cashier(budget), paid, Turn()
            )
            if cost["level"] is None:
                with pytest.raises(IncomparableGuarantees, match=re.escape(cost["why"])):
                    release()
            else:
                assert release()["budget"]["charged"] == cost["level"]


def word_at(start: int, **choices: object) -> dict[str, object]:
    asked = WordRequest(text=TEXT, start=start, draws=60, most=4, **choices)  # type: ignore[arg-type]
    return explaining.explain_word(asked)


def test_every_place_of_an_explanation_can_be_looked_at() -> None:
    whole = explaining.explain(ExplainRequest(text=TEXT, mechanism="exponential", epsilon=4.0))
    for place in whole["words"]:
        found = word_at(place["start"], mechanism="exponential", epsilon=4.0)
        assert found["word"] == place["original"]
        assert found["label"] == place["label"]
        assert found["for_release"] is False
        assert "NOT FOR RELEASE" in str(found["stamp"])
    last: dict[str, object] = found
    assert last["word"] == "Boston"
    replacements = last["replacements"]
    assert isinstance(replacements, dict)
    assert len(replacements["words"]) == 4


def test_no_explanation_takes_hours() -> None:
    for length, draws in ((2001, 2000), (10_001, 400), (600_000, 50)):
        with pytest.raises(Problem) as caught:
            explaining.explain(ExplainRequest(text="a " * (length // 2) + "a", draws=draws))
        assert caught.value.status == 413
        assert f"{4_000_000 // draws:,}" in caught.value.detail


def test_a_stretch_has_examples_and_own_words_their_chances() -> None:
    name = word_at(6)
    assert name["word"] == "Ada Lovelace"
    assert name["stays"] is None
    assert name["examples"]
    own = word_at(2, lexicon=["ask"], epsilon=5.0)
    assert own["label"] == "LEXICON"
    assert own["stays"] is not None


@pytest.mark.parametrize("start", [0, 3, 5, 1000])
def test_where_nothing_is_replaced_there_is_nothing_to_look_at(start: int) -> None:
    with pytest.raises(Problem) as told:
        word_at(start)
    assert told.value.status == 422
    # What is not marked any more is not replaced either.
    with pytest.raises(Problem):
        word_at(6, allow_list=["Ada Lovelace"])


def compared(*mechanisms: str) -> dict[str, object]:
    asked = CompareRequest(text="Boston", mechanisms=list(mechanisms), epsilon=4.0, draws=40)
    return explaining.compare(asked)


def test_two_mechanisms_meet_at_a_level_and_at_a_chance() -> None:
    found = compared("exponential", "custom")
    first, same = found["equal_epsilon"]  # type: ignore[misc]
    assert [first["epsilon"], same["epsilon"]] == [4.0, 4.0]  # type: ignore[has-type]
    _, equal = found["equal_chance"]  # type: ignore[misc]
    chance = staying("exponential", 4.0).median
    assert equal["epsilon"] == pytest.approx(level_for("custom", chance))  # type: ignore[has-type]
    assert equal["public"]["median"] == pytest.approx(chance)  # type: ignore[has-type]


@pytest.mark.parametrize("name", ["redact", "auto", "file.py:Own", "../laplace"])
def test_only_offered_mechanisms_on_words_are_compared(name: str) -> None:
    with pytest.raises(UnknownName):
        compared("laplace", name)


def test_curves_are_told_where_there_are_any() -> None:
    assert explaining.staying_of("auto") == explaining.staying_of("laplace")
    assert explaining.staying_of("redact") is None
    curve = explaining.staying_of("exponential")
    assert curve is not None
    assert len(curve["epsilon"]) == len(curve["median"])
