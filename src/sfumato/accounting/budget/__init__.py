"""A budget that lasts: accounts with limits, in a database that several processes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.accounting.budget.accounts import Account as Account
    from sfumato.accounting.budget.accounts import AccountName as AccountName
    from sfumato.accounting.budget.accounts import Limit as Limit
    from sfumato.accounting.budget.accounts import Measure as Measure
    from sfumato.accounting.budget.amounts import Amount as Amount
    from sfumato.accounting.budget.charges import Charge as Charge
    from sfumato.accounting.budget.charges import Charged as Charged
    from sfumato.accounting.budget.charges import Claim as Claim
    from sfumato.accounting.budget.choosing import Choice as Choice
    from sfumato.accounting.budget.choosing import choose_order as choose_order
    from sfumato.accounting.budget.costs import Costs as Costs
    from sfumato.accounting.budget.shared import Budget as Budget
    from sfumato.accounting.budget.shared import Request as Request
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.accounting.budget.accounts": "Account AccountName Limit Measure",
            "sfumato.accounting.budget.amounts": "Amount",
            "sfumato.accounting.budget.charges": "Charge Charged Claim",
            "sfumato.accounting.budget.choosing": "Choice choose_order",
            "sfumato.accounting.budget.costs": "Costs",
            "sfumato.accounting.budget.shared": "Budget Request",
        },
    )

__all__ = [
    "Account",
    "AccountName",
    "Amount",
    "Budget",
    "Charge",
    "Charged",
    "Choice",
    "Claim",
    "Costs",
    "Limit",
    "Measure",
    "Request",
    "choose_order",
]
