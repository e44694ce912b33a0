"""One page about an account, for a data-protection officer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.accounting.budget.accounts import WHOM, Account, Measure
from sfumato.accounting.budget.charges import Charge


def statement(code: str, account: Account, charges: Sequence[Charge], delta: float = 1e-5) -> str:
    """The page in Markdown; it holds no name of an account, only its code."""
    limit, spent = account.limit.most, account.spent
    facts = [
        ("account", f"`{code}` (a code; the name is known to whoever has the key)"),
        ("speaks of", WHOM[account.kind]),
        ("opened", account.opened),
        ("state", "open" if account.closed is None else f"closed {account.closed}"),
        ("added up", account.limit.measure.value),
        ("limit", _both(limit.level, limit.probability)),
        ("used", _both(spent.level, spent.probability)),
        ("held by work in progress", f"{account.held.level:g}"),
        ("charges", f"{account.charges:,}"),
    ]
    lines = [
        "# Statement of a privacy budget",
        "",
        account.sentence(delta),
        "",
        _meaning(account),
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in facts),
        "",
        "## Charges",
        "",
    ]
    if not charges:
        return "\n".join([*lines, "None so far.", ""])
    lines += ["| at | charged | so far | state | what was proven |", "|---|---|---|---|---|"]
    sum_so_far = 0.0
    for one in charges:
        sum_so_far = math.fsum((sum_so_far, one.amount.level))
        told = one.as_dict()
        proven = told["guarantee"]
        said = proven["sentence"] if isinstance(proven, dict) else ""
        amount = _both(one.amount.level, one.amount.probability)
        lines.append(
            f"| {one.at} | {amount} | {sum_so_far:.6g} | {told['state']} | {_cell(str(said))} |"
        )
    return "\n".join([*lines, ""])


def _meaning(account: Account) -> str:
    if account.limit.measure is Measure.LEVEL:
        return (
            "The limit was fixed when the account was opened. For this measure the sum so far is a "
            "statement, too: what is used is the level of all that was released so far."
        )
    return (
        "The limit was fixed when the account was opened, and a release that would pass it is "
        "refused. The statement is about the limit: what is used so far is no statement of its own."
    )


def _both(level: float, delta: float) -> str:
    shown = "none" if math.isinf(level) else f"{level:g}"
    return shown + (f", δ {delta:.3g}" if delta else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
