"""Accounts, charges, holds and keys, on both databases."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from budget_claims import approximate, metric, pure
from sfumato.accounting.budget import Amount, Budget, Limit
from sfumato.accounting.budget.amounts import LARGEST
from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.shared import Request
from sfumato.accounting.budget.statement import statement
from sfumato.accounting.budget.store import Entry
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    CannotUnseal,
    IncomparableGuarantees,
    InvalidArgument,
    StorageFailed,
)
from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Guarantee, Notion

NAME = "corpus:tickets"


def test_charges_add_up_to_the_limit_and_no_further(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 1.0))
    for number in range(10):
        budget.charge(NAME, pure(0.1), Request(f"k{number}"))
    assert budget.show(NAME).left == Amount(0)
    with pytest.raises(BudgetExceeded):
        budget.charge(NAME, pure(1e-12), Request("k10"))


def test_a_charge_beyond_the_limit_says_by_how_much(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 2.0))
    budget.charge(NAME, pure(1.5), Request("a"))
    with pytest.raises(BudgetExceeded, match=r"costs 1 and 0\.5 is left"):
        budget.charge(NAME, pure(1.0), Request("b"))
    account = budget.show(NAME)
    assert account.spent == Amount.charged(1.5)
    assert account.charges == 1


def test_levels_and_deltas_each_have_their_limit(budget: Budget) -> None:
    budget.open(NAME, Limit.of("approximate", 8.0, delta=1e-5))
    budget.charge(NAME, approximate(1.0, 9e-6), Request("a"))
    with pytest.raises(BudgetExceeded, match="its delta is 2e-06 and 1e-06 is left"):
        budget.charge(NAME, approximate(1.0, 2e-6), Request("b"))
    budget.charge(NAME, approximate(7.0, 1e-6), Request("c"))
    assert budget.show(NAME).left == Amount(0, 0)


def test_the_same_key_is_charged_once_and_gives_the_same_output(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 2.0))
    first = budget.charge(NAME, pure(2.0), Request("k", "text"), outcome="soft")
    again = budget.charge(NAME, pure(2.0), Request("k", "text"), outcome="another draw")
    assert (first.outcome, first.repeated) == ("soft", False)
    assert (again.outcome, again.repeated) == ("soft", True)  # though nothing is left
    assert budget.show(NAME).spent == Amount.charged(2.0)
    with pytest.raises(InvalidArgument, match="another request"):
        budget.charge(NAME, pure(2.0), Request("k", "other text"), outcome="x")


def test_outcomes_are_forgotten_and_charges_are_not(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 2.0))
    budget.charge(NAME, pure(2.0), Request("k"), outcome="soft")
    budget.forget_outcomes(timedelta(days=1))
    assert budget.charge(NAME, pure(2.0), Request("k")).outcome == "soft"
    budget.forget_outcomes(timedelta(seconds=-5))
    again = budget.charge(NAME, pure(2.0), Request("k"))
    assert (again.outcome, again.repeated) == (None, True)
    assert budget.show(NAME).spent == Amount.charged(2.0)


def test_held_work_counts_as_spent_until_it_is_settled(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 2.0))
    budget.hold(NAME, pure(2.0), Request("run"))
    assert budget.show(NAME).held == Amount.charged(2.0)
    with pytest.raises(BudgetExceeded):
        budget.charge(NAME, pure(0.5), Request("b"))
    assert budget.hold(NAME, pure(2.0), Request("run")).repeated  # the run was resumed
    account = budget.settle(NAME, "run", Amount.charged(1.25))
    assert (account.spent, account.held) == (Amount.charged(1.25), Amount(0))
    budget.charge(NAME, pure(0.5), Request("b"))
    assert budget.settle(NAME, "run", Amount.charged(1.25)).spent == Amount.charged(1.75)


@pytest.mark.parametrize("amount", [0.5, 2.5])
def test_work_is_settled_once_and_for_no_more(budget: Budget, amount: float) -> None:
    budget.open(NAME, Limit.of("level", 9.0))
    budget.hold(NAME, pure(2.0), Request("run"))
    if amount < 2.0:
        budget.settle(NAME, "run")
    with pytest.raises(InvalidArgument, match="settled once"):
        budget.settle(NAME, "run", Amount.charged(amount))
    with pytest.raises(BadInput, match="nothing is held"):
        budget.settle(NAME, "another")


def test_nothing_is_given_back_where_a_filter_does_not_allow_it(budget: Budget) -> None:
    budget.open(NAME, Limit.of("approximate", 8.0, delta=1e-5))
    budget.hold(NAME, approximate(2.0, 1e-6), Request("run"))
    with pytest.raises(InvalidArgument, match="gives nothing back"):
        budget.settle(NAME, "run", Amount.charged(1.0, 1e-6))
    assert budget.settle(NAME, "run").spent == Amount.charged(2.0, 1e-6)


def test_an_account_is_charged_for_one_thing_only(budget: Budget) -> None:
    budget.open("text:memo", Limit.of("level", 50.0))
    budget.charge("text:memo", metric(5.0), Request("a"))
    with pytest.raises(IncomparableGuarantees, match="another vectors or policy than"):
        budget.charge("text:memo", metric(5.0, about=("d2",)), Request("b"))
    with pytest.raises(IncomparableGuarantees, match="metric and another neighbors and another no"):
        budget.charge("text:memo", pure(5.0), Request("c"))
    assert budget.show("text:memo").spent == Amount.charged(5.0)


def test_what_has_no_level_or_another_measure_is_refused(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 50.0))
    budget.open("text:memo", Limit.of("level", 50.0))
    with pytest.raises(IncomparableGuarantees, match="has a delta"):
        budget.charge(NAME, approximate(1.0, 1e-6), Request("a"))
    with pytest.raises(IncomparableGuarantees, match="no proven level"):
        budget.charge(NAME, pure(math.inf), Request("b"))
    with pytest.raises(IncomparableGuarantees, match="not for release"):
        budget.charge(NAME, Claim(pure(1.0).guarantee.reproducible()), Request("s"))
    with pytest.raises(IncomparableGuarantees, match="which ones"):
        budget.charge("text:memo", metric(1.0, about=()), Request("c"))
    with pytest.raises(IncomparableGuarantees, match="parts of a text"):
        budget.charge(NAME, metric(1.0), Request("w"))
    budget.open("author:u", Limit.of("level", 50.0))
    with pytest.raises(IncomparableGuarantees, match="replaced by its distance"):
        budget.charge("author:u", pure(1.0), Request("v"))
    concentrated = Claim(replace(pure(1.0).guarantee, notion=Notion.ZCDP))
    with pytest.raises(IncomparableGuarantees, match="zero-concentrated"):
        budget.charge(NAME, concentrated, Request("z"))
    selective = Guarantee(
        notion=Notion.SELECTIVE_DP, unit="example", neighbors="two corpora", epsilon=1.0
    )
    with pytest.raises(IncomparableGuarantees, match="which ones"):
        budget.charge(NAME, Claim(selective), Request("d"))
    budget.open("corpus:b", Limit.of("rho", 1.0))
    with pytest.raises(IncomparableGuarantees, match="computed from its plan"):
        budget.charge("corpus:b", approximate(1.0, 1e-6), Request("e"))
    assert budget.charge("corpus:b", concentrated, Request("f")).amount == Amount.charged(1.0)
    assert budget.show(NAME).charges == 0


def test_an_author_pays_for_every_word(budget: Budget) -> None:
    budget.open("author:u-17", Limit.of("level", 30.0))
    budget.charge("author:u-17", metric(5.0, words=4), Request("a"))
    with pytest.raises(BudgetExceeded, match="costs 15 and 10 is left"):
        budget.charge("author:u-17", metric(5.0, words=3), Request("b"))
    assert budget.charge("author:u-17", metric(5.0, words=0), Request("c")).amount == Amount(0)


def test_several_works_are_required_to_fit_together_before_any_is_charged(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 3.0))
    budget.hold(NAME, pure(1.0), Request("held"))
    budget.require(NAME, [(pure(1.0), "held"), (pure(1.0), "new"), (pure(1.0), None)])
    with pytest.raises(BudgetExceeded, match=r"these 2 releases cost 2\.5 and 2 is left"):
        budget.require(NAME, [(pure(1.0), "held"), (pure(1.5), None), (pure(1.0), None)])
    with pytest.raises(BudgetExceeded, match=r"this release costs 2\.5 and 2 is left"):
        budget.require(NAME, [(pure(2.5), None)])
    with pytest.raises(IncomparableGuarantees, match="another neighbors and another unit"):
        budget.require(NAME, [(pure(0.1, unit="author"), None)])
    assert budget.show(NAME).charges == 1
    budget.end(NAME)
    budget.require(NAME, [(pure(1.0), "held")])
    with pytest.raises(BudgetExceeded, match="closed"):
        budget.require(NAME, [(pure(1.0), None)])


def test_accounts_are_opened_once_and_closed_for_good(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 2.0))
    with pytest.raises(InvalidArgument, match="already"):
        budget.open(NAME, Limit.of("level", 20.0))
    budget.hold(NAME, pure(1.0), Request("run"))
    assert budget.end(NAME).closed is not None
    with pytest.raises(BudgetExceeded, match="closed"):
        budget.charge(NAME, pure(0.1), Request("a"))
    assert budget.settle(NAME, "run", Amount.charged(0.5)).spent == Amount.charged(0.5)
    with pytest.raises(BadInput, match="no account"):
        budget.show("corpus:Tickets")


@pytest.mark.parametrize("key", ["", "k" * 201, "a\0b", "half \udcff"])
def test_keys_that_cannot_be_stored_are_refused(key: str) -> None:
    with pytest.raises(InvalidArgument, match="can be printed"):
        Request(key)


def test_names_and_requests_need_not_be_text(budget: Budget) -> None:
    odd = "text:half \udcff"  # as a command line gives bytes that are no UTF-8
    budget.open(odd, Limit.of("level", 2.0))
    budget.charge(odd, metric(1.0), Request("k", "\udcff"))
    assert budget.show(odd).charges == 1
    with pytest.raises(InvalidArgument, match="another request"):
        budget.charge(odd, metric(1.0), Request("k", "\udcfe"))


def test_another_key_is_refused_and_a_missing_one_named(
    budget: Budget, place: str, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget.open(NAME, Limit.of("level", 2.0))
    other = key_file.with_name("other.key")
    other.write_text("another key, of thirty-two letters")
    with pytest.raises(CannotUnseal):
        Budget.at(place, other)
    monkeypatch.delenv("SFUMATO_BUDGET_KEY", raising=False)
    with pytest.raises(InvalidArgument, match="SFUMATO_BUDGET_KEY"):
        Budget.at(place)
    monkeypatch.setenv("SFUMATO_BUDGET_KEY", key_file.read_text())
    with Budget.at(place) as again:
        assert again.show(NAME).limit.most.level == 2.0
    with pytest.raises(InvalidArgument, match="lasts"):
        Budget(budget._store, Key.fresh())


def test_the_database_keeps_what_was_charged(budget: Budget) -> None:
    """Whoever goes through the connection cannot delete, shrink or raise anything."""
    budget.open(NAME, Limit.of("level", 2.0))
    budget.charge(NAME, pure(1.0), Request("a"), outcome="soft")
    budget.hold(NAME, pure(0.5), Request("run"))
    for statement_ in (
        "DELETE FROM charge",
        "DELETE FROM account",
        "UPDATE charge SET amount = 0 WHERE key = 'a'",
        "UPDATE charge SET state = 'held' WHERE key = 'a'",
        "UPDATE charge SET state = 'spent', amount = amount + 1 WHERE key = 'run'",
        "UPDATE charge SET outcome = 'hard' WHERE key = 'a'",
        "UPDATE charge SET key = 'b' WHERE key = 'a'",
        "UPDATE account SET most = 100000000000",
        "UPDATE account SET speaks_of = '{}'",
        "UPDATE account SET spent = most + 1",
        "UPDATE account SET spent = -1",
        "UPDATE account SET spent = 0",
        "UPDATE account SET spent = spent - 1",
        "UPDATE meta SET schema = 2",
        "DELETE FROM meta",
    ):
        with pytest.raises(StorageFailed):
            budget._store.run(statement_)
    assert budget.show(NAME).spent == Amount.charged(1.5)


def test_nothing_is_replaced_in_a_file(tmp_path: Path, key_file: Path) -> None:
    """An insertion that replaces deletes without a word, where nobody asks for triggers."""
    path = tmp_path / "budget.db"
    with Budget.at(path, key_file, new=True) as budget:
        budget.open(NAME, Limit.of("level", 2.0))
        budget.charge(NAME, pure(1.0), Request("a"))
    with sqlite3.connect(path) as plain:
        for table, change in (("account", "most = most * 10"), ("charge", "amount = 0")):
            columns = [one[1] for one in plain.execute(f"PRAGMA table_info({table})")]
            name, value = change.split(" = ")
            chosen = ", ".join(value if one == name else one for one in columns)
            with pytest.raises(sqlite3.IntegrityError):
                plain.execute(f"INSERT OR REPLACE INTO {table} SELECT {chosen} FROM {table}")


def test_a_failed_transaction_leaves_nothing(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 2.0))

    def half() -> None:
        with budget._store.transaction():
            budget._store.run("UPDATE account SET spent = 5")
            budget._store.run("DELETE FROM account")

    with pytest.raises(StorageFailed):
        half()
    assert budget.show(NAME).spent == Amount(0)


def test_a_child_process_has_a_connection_of_its_own(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 2.0))
    child = os.fork()
    if child == 0:
        try:
            budget.charge(NAME, pure(1.0), Request("child"))
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    budget.charge(NAME, pure(1.0), Request("parent"))
    assert budget.show(NAME).charges == 2


def test_the_page_for_an_officer(budget: Budget) -> None:
    budget.open(NAME, Limit.of("renyi", 6.0, order=3.8))
    page = statement(budget.code(NAME), budget.show(NAME), budget.history(NAME))
    assert "None so far." in page
    assert "tickets" not in page
    budget.open("corpus:b", Limit.of("level", 2.0))
    budget.charge("corpus:b", pure(1.0), Request("a"))
    page = statement(budget.code("corpus:b"), budget.show("corpus:b"), budget.history("corpus:b"))
    assert page.count("| spent |") == 1
    assert json.dumps(budget.show("corpus:b").as_dict())
    assert [one.as_dict()["charged"] for one in budget.history("corpus:b")] == [1.0]
    assert list(budget.accounts()) == [budget.code(NAME), budget.code("corpus:b")]


def test_the_sentence_is_that_of_the_charges_with_the_limit_as_its_level(budget: Budget) -> None:
    budget.open(NAME, Limit.of("approximate", 8.0, delta=1e-3))
    assert "Nothing is charged yet" in budget.show(NAME).sentence()
    budget.charge(NAME, approximate(1.0, 1e-6), Request("a"))
    said = budget.show(NAME).sentence()
    whole = replace(approximate(8.0, 1e-3).guarantee, scope="all of them").sentence()
    assert whole.removesuffix(".") in said
    assert "the history" in said
    assert "no statement of its own" in said
    budget.open("text:memo", Limit.of("level", 20.0))
    budget.charge("text:memo", metric(5.0), Request("a"))
    said = budget.show("text:memo").sentence()
    assert metric(20.0).guarantee.sentence() in said
    assert "no statement" not in said
    budget.open("author:u", Limit.of("level", 20.0))
    budget.charge("author:u", metric(5.0), Request("a"))
    assert "ε ≤ 20" in budget.show("author:u").sentence()
    budget.open("text:all", Limit.of("level", math.inf))
    budget.charge("text:all", metric(5.0), Request("a"))
    assert "no limit" in budget.show("text:all").sentence()


def test_an_account_of_rho_never_states_its_limit_as_a_level(budget: Budget) -> None:
    budget.open("text:memo", Limit.of("rho", 0.6))
    budget.charge("text:memo", pure(1.0), Request("a"))  # ρ = 1/2, and ε = 1: above 0.6
    account = budget.show("text:memo")
    told = json.loads(account.speaks_of)
    # The twin: what was charged, with the limit in the place of its level, is false.
    told.pop("vectors or policy")
    twin = Guarantee.from_dict(told | {"epsilon": 0.6})
    assert "at most exp(0.6) times likelier" in twin.sentence()
    assert "exp(" not in account.sentence()
    assert "divergence of any order α" in account.sentence()
    assert "at most 0.6·α" in account.sentence()


def test_an_author_pays_only_for_what_the_distance_bounds_and_reads_what_it_leaves_open(
    budget: Budget,
) -> None:
    budget.open("author:u", Limit.of("level", 20.0))
    shown = replace(metric(5.0).guarantee, notion=Notion.UTILITY_OPTIMIZED_METRIC_LDP)
    with pytest.raises(IncomparableGuarantees, match="bounds no such distance"):
        budget.charge("author:u", replace(metric(5.0), guarantee=shown), Request("a"))
    open_words = metric(5.0).guarantee.not_covering("public words").leaking("how many words")
    budget.charge("author:u", replace(metric(5.0), guarantee=open_words), Request("b"))
    said = budget.show("author:u").sentence()
    assert "Not covered: public words. Still visible: how many words." in said


def test_no_figure_of_a_statement_is_below_what_it_states(budget: Budget) -> None:
    budget.open(NAME, Limit.of("renyi", 3.1234549, order=3.0000004))
    budget.charge(NAME, pure(0.5), Request("a"))
    said = budget.show(NAME).sentence(delta=1.2349e-5)
    assert "at most 3.12346 at order 3.0000004" in said  # rounded to the nearest: 3.12345
    assert "δ = 1.2349e-05" in said
    budget.open("corpus:b", Limit.of("level", 2.0))
    budget.charge("corpus:b", pure(1.2345612), Request("a"))
    page = statement(budget.code("corpus:b"), budget.show("corpus:b"), budget.history("corpus:b"))
    assert "| used | 1.23457 |" in page  # to the nearest: 1.23456, of which nothing is proven
    assert "| 1.23457 | 1.23457 | spent |" in page


def test_a_key_does_not_pay_for_a_larger_claim_or_for_work_that_was_settled(
    budget: Budget,
) -> None:
    budget.open(NAME, Limit.of("level", 9.0))
    budget.charge(NAME, pure(0.1), Request("k"), outcome="soft")
    with pytest.raises(InvalidArgument, match="another request"):
        budget.charge(NAME, pure(5.0), Request("k"), outcome="hard")
    budget.hold(NAME, pure(2.0), Request("run"))
    budget.settle(NAME, "run", Amount(0))
    with pytest.raises(InvalidArgument, match="settled"):
        budget.hold(NAME, pure(2.0), Request("run"))


def test_no_name_and_no_request_is_in_the_bytes(tmp_path: Path, key_file: Path) -> None:
    path = tmp_path / "budget.db"
    with Budget.at(path, key_file, new=True) as budget:
        budget.open("author:Ada-Lovelace", Limit.of("level", 90.0))
        budget.charge(
            "author:Ada-Lovelace", metric(1.0), Request("k", "CANARY original"), outcome="RELEASED"
        )
        kept = b"".join(one.read_bytes() for one in tmp_path.iterdir() if "db" in one.name)
        for private in (b"Ada-Lovelace", b"CANARY", key_file.read_bytes()):
            assert private not in kept
        assert b"RELEASED" in kept  # so the test can see what is there
    assert path.stat().st_mode & 0o077 == 0


def test_files_that_are_no_budgets(tmp_path: Path, key_file: Path) -> None:
    with pytest.raises(StorageFailed, match="no budget"):
        Budget.at(tmp_path / "mistyped.db", key_file)
    assert not (tmp_path / "mistyped.db").exists()
    text = tmp_path / "notes.txt"
    text.write_text("some text that is no database " * 40)
    with pytest.raises(StorageFailed, match="cannot be used"):
        Budget.at(text, key_file)
    with pytest.raises(InvalidArgument, match="postgresql://"):
        Budget.at("mysql://somewhere", key_file)
    with pytest.raises(StorageFailed) as told:
        Budget.at("postgresql://ada:secret@localhost:1/none?connect_timeout=1", key_file)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("measure", "level", "delta", "order"),
    [
        ("level", -1.0, 0.0, None),
        ("level", math.nan, 0.0, None),
        ("level", 1e-12, 0.0, None),
        ("level", 1.0, 1e-5, None),
        ("level", 1.0, 0.0, 2.0),
        ("approximate", 1.0, 0.0, None),
        ("approximate", math.inf, 1e-5, None),
        ("rho", math.inf, 0.0, None),
        ("renyi", 1.0, 0.0, None),
        ("renyi", 1.0, 0.0, 1.0),
        ("budget", 1.0, 0.0, None),
    ],
)
def test_limits_that_mean_nothing_are_refused(
    measure: str, level: float, delta: float, order: float | None
) -> None:
    with pytest.raises(InvalidArgument):
        Limit.of(measure, level, delta=delta, order=order)


def test_levels_at_the_limit() -> None:
    assert Limit.of("level", 8.0).epsilon(0.0) == 8.0
    assert Limit.of("approximate", 8.0, delta=1e-5).epsilon(1e-5) == 8.0
    assert Limit.of("approximate", 8.0, delta=1e-5).epsilon(1e-6) == math.inf
    # zCDP to (ε, δ): 1/8-zCDP is Gaussian noise with multiplier 2 by orders.
    assert Limit.of("rho", 0.125).epsilon(1e-5) == pytest.approx(2.1657, abs=1e-4)
    assert Limit.of("renyi", 6.0, order=3.8).epsilon(1e-5) == pytest.approx(9.3296, abs=1e-4)


def test_the_largest_amounts_are_refused_like_any_others(budget: Budget) -> None:
    """Their sum does not fit into 64 bits."""
    budget.open(NAME, Limit.of("level", math.inf))
    [(code, _)] = budget._store.accounts()
    entries = [
        Entry(
            account=code, key=key, request=b"", amount=Amount(LARGEST), held=False, guarantee="{}",
            speaks_of="{}", outcome=None, at="now",
        )
        for key in "ab"
    ]  # fmt: skip
    assert [budget._store.charge(one) for one in entries] == [True, False]
    assert (budget.show(NAME).spent, budget.show(NAME).charges) == (Amount(LARGEST), 1)


def test_a_limit_of_a_delta_of_1_would_say_nothing() -> None:
    for delta in (1.0, 1, -0.1, 2.0, math.nan):
        with pytest.raises(InvalidArgument):
            Limit.of("approximate", 1.0, delta=delta)
    assert Limit.of("approximate", 1.0, delta=0.999).most.delta < 10**18
