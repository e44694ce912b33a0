"""Accounts of the service's budget: opened, closed, shown and stated."""

from __future__ import annotations

import math
from typing import Any

from sfumato.accounting.budget.accounts import Limit
from sfumato.accounting.budget.statement import statement
from sfumato.core.errors import InvalidArgument
from sfumato.service.queue import Turn
from sfumato.service.releasing import Cashier, meter
from sfumato.service.requests import AccountName, NewAccount, Statement


def open_account(cashier: Cashier, asked: NewAccount, turn: Turn) -> dict[str, Any]:
    """Open an account, or find it open with this very limit: a request may come twice."""
    if asked.limit is None and asked.measure != "level":
        raise InvalidArgument("an account has a limit; only one of levels may have none")
    most = math.inf if asked.limit is None else asked.limit
    limit = Limit.of(asked.measure, most, delta=asked.delta, order=asked.order)
    budget = cashier.need()
    with turn.at_budget():
        try:
            return meter(budget.open(asked.spelled, limit))
        except InvalidArgument:
            found = budget.show(asked.spelled)
            if found.limit != limit or found.closed is not None:
                raise
            return meter(found)


def close_account(cashier: Cashier, asked: AccountName, turn: Turn) -> dict[str, Any]:
    """Close an account for good."""
    budget = cashier.need()
    with turn.at_budget():
        return meter(budget.end(asked.spelled))


def show_account(cashier: Cashier, asked: Statement, turn: Turn) -> dict[str, Any]:
    """An account as it stands."""
    with turn.at_budget():
        found = cashier.need().show(asked.spelled)
    return meter(found) | {"sentence": found.sentence(asked.delta)}


def statement_of(cashier: Cashier, asked: Statement, turn: Turn) -> str:
    """The page about an account, without its name."""
    budget, name = cashier.need(), asked.spelled
    with turn.at_budget():
        account, history = budget.show(name), budget.history(name)
    return statement(budget.code(name), account, history, asked.delta)
