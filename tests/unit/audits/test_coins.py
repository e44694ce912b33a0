"""One-run audits: what is guessed, what may refute a claim, and what cannot."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from sfumato.attacks.model_target import ModelTarget
from sfumato.audits.coins import Audited, Guessing, _best_threshold, audit_run, from_scores
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.coins import Coins, toss
from sfumato.guarantees.guarantee import Notion
from sfumato.models.load import load_model
from statistical import budget

WORDS = [f"w{number}" for number in range(500)]
TARGET = ModelTarget(cast("Any", SimpleNamespace()), "none", epsilon=1.0, delta=1e-5)


def tossed(count: int, seed: int = 1) -> Coins:
    """Coins of a seed."""
    return toss(count, WORDS, Randomness.reproducible(seed))


def shown(scores: Any, coins: Coins, seed: int = 2) -> Audited:
    """The audit of some scores."""
    return from_scores(
        np.asarray(scores, float), coins, TARGET, Guessing(), Randomness.reproducible(seed)
    )


def test_a_model_that_tells_all_is_found_out() -> None:
    coins = tossed(500)
    found = shown(coins.included, coins)
    assert (found.guesses, found.right) == (100, 100)
    assert found.one_run.epsilon > 3
    assert found.refuted


def test_the_wrong_way_round_shows_nothing() -> None:
    coins = tossed(500)
    found = shown(~np.array(coins.included), coins)
    assert found.right == 0
    assert found.one_run.epsilon == 0
    assert not found.refuted


@pytest.mark.parametrize(
    ("notion", "refuted"),
    [
        (Notion.APPROXIMATE_DP, True),
        (Notion.PURE_DP, True),
        (Notion.SELECTIVE_DP, False),
        (Notion.ZCDP, False),
    ],
)
def test_a_claim_about_something_else_is_not_accused(notion: Notion, refuted: bool) -> None:
    """Selective training learns public words without noise, and never said otherwise."""
    coins = tossed(500)
    scores = np.asarray(coins.included, float)
    target = replace(TARGET, notion=str(notion))
    found = from_scores(scores, coins, target, Guessing(), Randomness.reproducible(2))
    assert found.one_run.epsilon > 1
    assert found.refuted is refuted
    assert found.as_dict()["comparable"] is refuted


def test_only_the_bound_without_assumptions_refutes() -> None:
    coins = tossed(500)
    weak = replace(shown(coins.included, coins), one_run=shown(np.zeros(500), coins).one_run)
    assert weak.gaussian.epsilon > 1
    assert not weak.refuted
    assert "as if each document had a run of its own" in weak.two_run.compared
    assert "assuming a Gaussian trade-off" in weak.gaussian.compared


def test_without_a_claim_nothing_is_refuted() -> None:
    coins = tossed(500)
    assert not replace(shown(coins.included, coins), claimed=None).refuted


def test_blind_guesses_show_something_no_more_often_than_stated() -> None:
    """Of 400 audits where scores know nothing of the coins, at most a twentieth may err."""
    alarms = {"one_run": 0, "two_run": 0, "gaussian": 0}
    for seed in range(400):
        coins = tossed(100, seed)
        found = shown(Randomness.reproducible(10_000 + seed).uniform(100), coins, seed)
        for name in alarms:
            alarms[name] += getattr(found, name).epsilon > 0
    p_values = [budget.at_most(count, 400, 0.05) for count in alarms.values()]
    assert not budget.rejects("audits: blind guesses", "coins", p_values)


def test_a_twin_that_chooses_its_guesses_after_looking_is_caught() -> None:
    """The best of many numbers of guesses, and of two directions, errs more often than stated."""
    alarms, audits = 0, 120
    for seed in range(audits):
        coins = tossed(100, seed)
        scores = Randomness.reproducible(10_000 + seed).uniform(100)
        alarms += any(
            from_scores(
                sign * scores,
                coins,
                TARGET,
                Guessing(guesses=number),
                Randomness.reproducible(seed),
            ).one_run.epsilon
            > 0
            for number in range(4, 100, 8)
            for sign in (1, -1)
        )
    assert budget.rejects("audits: blind guesses", "coins", [budget.at_most(alarms, audits, 0.05)])


def test_equal_scores_are_not_guessed_by_the_order_of_the_file() -> None:
    """A list sorted by its coins would otherwise be guessed from ties alone."""
    coins = Coins(tuple(WORDS[:400]), (False,) * 200 + (True,) * 200)
    found = shown(np.zeros(400), coins)
    assert 20 < found.right < 60


def test_right_guesses_are_proven_at_most_and_measured_at_least() -> None:
    coins = tossed(200)
    blind = shown(np.zeros(200), coins)
    assert blind.proven_at_most == pytest.approx(1 / (1 + np.exp(-1)) + 2 * 200 * 1e-5 / 40)
    assert blind.measured_at_least < 0.6 < (blind.proven_at_most or 0)
    assert blind.as_dict()["right_guesses"]["proven_at_most"] == blind.proven_at_most
    told = shown(coins.included, coins)
    assert told.measured_at_least > (told.proven_at_most or 1)
    assert told.refuted
    nothing = replace(told, claimed=None)
    assert nothing.proven_at_most is None


def test_a_threshold_lies_between_two_scores() -> None:
    scores, inside = np.array([1.0, 2.0, 2.0, 3.0]), np.array([False, False, True, True])
    assert 2.0 < _best_threshold(scores, inside) < 3.0


def test_a_model_is_asked_and_the_numbers_are_fixed_before() -> None:
    model = load_model(
        "lstm",
        randomness=Randomness.reproducible(1),
        settings={"embedding": 4, "hidden": 4, "context": 64},
    )
    target = ModelTarget(model, "tiny", epsilon=2.0, delta=1e-3)
    found = audit_run(target, tossed(60), Guessing(), Randomness.reproducible(1))
    assert found.guesses == 12
    assert found.one_run.delta == 1e-3
    assert found.as_dict()["claimed_epsilon"] == 2.0


@pytest.mark.parametrize("guesses", [0, 1, 101])
def test_impossible_numbers_of_guesses_are_refused(guesses: int) -> None:
    with pytest.raises(InvalidArgument, match="guesses"):
        Guessing(guesses=guesses).number(100)


def test_too_few_coins_say_what_to_do() -> None:
    coins = Coins(("a b", "c d"), (True, True))
    with pytest.raises(InvalidArgument, match=r"toss_coins"):
        shown([1.0, 2.0], coins)
