"""A budget for tests of work that it pays for, and a watch over what is drawn before it is paid."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.accounting.budget import Account, Budget, Limit
from sfumato.accounting.budget.payment import Payment

ACCOUNT = "corpus:tickets"


def new_payment(folder: Path, limit: Limit) -> Payment:
    """An account that can pay."""
    key, place = folder / "budget.key", folder / "budget.db"
    key.write_text(secrets.token_hex(32))
    with Budget.at(place, key, new=True) as budget:
        budget.open(ACCOUNT, limit)
    return Payment(str(place), ACCOUNT, key)


def keywords(payment: Payment) -> dict[str, Any]:
    """As a call takes them."""
    return {"budget": payment.budget, "account": payment.account, "budget_key": payment.key}


def account_of(payment: Payment) -> Account:
    with Budget.at(payment.budget, payment.key) as budget:
        return budget.show(ACCOUNT)


def used(payment: Payment) -> tuple[float, float, int]:
    """What is used, what is held of it, and how many charges there are."""
    account = account_of(payment)
    return account.spent.level, account.held.level, account.charges


@dataclass
class Watch:
    """Counts the draws that nobody had paid for when they were made."""

    payment: Payment
    unpaid: int = 0
    draws: int = 0

    def over(self, draw: Callable[..., Any]) -> Callable[..., Any]:
        """The same draw, watched."""

        def watched(*given: Any, **named: Any) -> Any:
            self.draws += 1
            self.unpaid += account_of(self.payment).held.units == 0
            return draw(*given, **named)

        return watched
