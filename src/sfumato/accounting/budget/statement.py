"""One page about an account, for a data-protection officer: what holds, in words and in numbers.

The page names no account: it has the beginning of its code. Of a long history the latest charges
are listed, and the earlier ones added up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from typing import Any

from sfumato.accounting.budget.accounts import WHOM, Account, Kind, Measure
from sfumato.accounting.budget.amounts import LARGEST, Amount
from sfumato.accounting.budget.charges import Charge
from sfumato.guarantees.guarantee import Notion
from sfumato.guarantees.wording import at_most

LISTED = 100
_PLAIN_NOTIONS = (
    Notion.METRIC_DP.value,
    Notion.SELECTIVE_METRIC_DP.value,
    Notion.INDEPENDENT.value,
)
_EXACTLY = "What this means for a person cannot be said in one number; the exact statement does."
# Odds beyond e to the power of this are not worth a number.
_HUGE = 20.0


@dataclass(frozen=True)
class Statement:
    """What a page says, in whatever form it is written."""

    sentence: str
    plain: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    earlier: str = ""

    @classmethod
    def of(
        cls, code: str, account: Account, charges: Sequence[Charge], delta: float = 1e-5
    ) -> Statement:
        """The statement about an account, with levels at this delta where there is one."""
        left_out = charges[: max(0, len(charges) - LISTED)]
        return cls(
            sentence=account.sentence(delta),
            plain=tuple(_plainly(account, delta)),
            facts=tuple(_facts(code, account)),
            head=("at", "charged", "so far", "state", "what was proven"),
            rows=tuple(_rows(charges, len(left_out))),
            earlier=_earlier(left_out),
        )

    def markdown(self) -> str:
        """The page in Markdown."""
        lines = [
            "# Statement of a privacy budget",
            "",
            "## In plain words",
            "",
            *(line for said in self.plain for line in (said, "")),
            "## Exactly",
            "",
            self.sentence,
            "",
            "| | |",
            "|---|---|",
            *(f"| {name} | {_cell(value)} |" for name, value in self.facts),
            "",
            "## Charges",
            "",
        ]
        if not self.rows:
            return "\n".join([*lines, "None so far.", ""])
        lines += [*([self.earlier, ""] if self.earlier else [])]
        lines += [f"| {' | '.join(self.head)} |", "|---" * len(self.head) + "|"]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in self.rows]
        return "\n".join([*lines, ""])


def statement(code: str, account: Account, charges: Sequence[Charge], delta: float = 1e-5) -> str:
    """The page in Markdown; it holds no name of an account, only its code."""
    return Statement.of(code, account, charges, delta).markdown()


def _plainly(account: Account, delta: float) -> list[str]:
    """What the limit means for a person, without symbols where that is possible."""
    about = f"This account speaks of {WHOM[account.kind]}."
    if account.limit.most.units == LARGEST:
        return [about, "It has no limit: it counts what is released, and holds nothing back."]
    fixed = (
        "Its limit was fixed when it was opened and cannot be raised. A release that would pass it "
        "is refused, or replaced by one that costs nothing."
    )
    said = [about, fixed]
    if account.speaks_of:
        said.append(_odds(account, delta))
    if account.limit.measure is Measure.LEVEL:
        said.append(
            "What is used so far is a statement, too: the same sentence holds for all that was "
            "released until now, with the level that is used in the place of the limit."
        )
    else:
        said.append(
            "All of this is about the limit: what is used so far is no statement of its own, for "
            "whoever may stop when it suits them gets more out of it than the sum says."
        )
    return said


def _odds(account: Account, delta: float) -> str:
    subject, limit = json.loads(account.speaks_of), account.limit
    delta = limit.most.probability or delta
    level = limit.epsilon(delta)
    guess = (
        "Suppose that somebody holds two possibilities to be equally likely, and then sees all "
        "that this account will ever pay for. "
    )
    if subject.get("metric") or subject.get("parts"):
        plain = _is_by_distance(subject) and limit.measure is Measure.LEVEL
        return guess + _by_distance(account.kind, level) if plain else _EXACTLY
    if subject["notion"] == Notion.INDEPENDENT.value:
        return f"{guess}They know no more than before about what was replaced."
    pure = limit.measure is Measure.LEVEL
    if level > _HUGE:
        at = f"ε ≤ {at_most(level)}" + ("" if pure else f" at δ = {at_most(delta)}")
        return f"{guess}At this limit nothing useful is promised about what they know then ({at})."
    two = f"If the two are {subject['neighbors']}, "
    if not pure:
        # A delta does not bound how often the odds are beyond e^ε, only how well one can guess.
        right = at_most(100 * best_guess(level, delta), 4)
        return (
            f"{guess}{two}their guess which of them it is is right at most {right} % of the time."
        )
    odds = _raised(math.exp(level))
    return f"{guess}{two}their odds move from 1 to 1 to at most {odds} to 1."


def best_guess(level: float, delta: float) -> float:
    """How often a guess between two neighbors that are equally likely is right, at the most.

    Let it be right with p if the one is true and with q if the other is. Then p ≤ e^ε·(1 − q) + δ
    and q ≤ e^ε·(1 − p) + δ, and adding both gives (p + q)/2 ≤ (e^ε + δ)/(1 + e^ε).

    >>> round(best_guess(1.0, 1e-5), 6)
    0.731061
    """
    return min(1.0, (1.0 + delta * math.exp(-level)) / (1.0 + math.exp(-level)))


def _is_by_distance(subject: Mapping[str, Any]) -> bool:
    """Whether every statement bounds all outputs by a distance, or does not depend on anything."""
    every = [one["guarantee"] for one in subject.get("parts", ())] or [subject]
    return all(one["notion"] in _PLAIN_NOTIONS for one in every)


def _by_distance(kind: Kind, level: float) -> str:
    near = _lowered(1 / level)
    if kind is Kind.AUTHOR:
        which = (
            "two authors who differ only in what was replaced, at no place by a distance of more "
            f"than {near}"
        )
    else:
        which = (
            "two versions of the text that differ only in what was replaced, by distances that add "
            f"up to at most {near}"
        )
    return (
        f"If the two are {which}, their odds move from 1 to 1 to at most 2.72 to 1; if they are "
        "twice as far apart, to at most 7.39 to 1. What a distance is, the exact statement says."
    )


def _lowered(value: float) -> str:
    """Three digits of it and no more than it is.

    >>> _lowered(1 / 12), _lowered(250.0)
    ('0.0833', '250')
    """
    lower = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(repr(value))
    return f"{float(lower):,g}"


def _raised(value: float) -> str:
    """A whole number where it is large, and never less than it is.

    >>> _raised(2980.96), _raised(1.0513)
    ('2,981', '1.06')
    """
    return f"{math.ceil(value):,}" if value >= 100 else at_most(value, 3)


def _facts(code: str, account: Account) -> list[tuple[str, str]]:
    limit, spent, left = account.limit.most, account.spent, account.left
    order = f" of order {account.limit.order:g}" if account.limit.order else ""
    held = _both(account.held)
    return [
        ("account", f"{code} (a code; the name is known to whoever has the key)"),
        ("speaks of", WHOM[account.kind]),
        ("opened", account.opened),
        ("state", "open" if account.closed is None else f"closed {account.closed}"),
        ("added up", f"{account.limit.measure.value}{order}"),
        ("limit", _both(limit)),
        ("used", _both(spent)),
        ("held by work in progress", held),
        ("left", _both(left) if limit.units != LARGEST else "no limit"),
        ("charges", f"{account.charges:,}"),
    ]


def _rows(charges: Sequence[Charge], first: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    so_far = Amount(0)
    for place, one in enumerate(charges):
        so_far = so_far.plus(one.amount)
        if place < first:
            continue
        told = json.loads(one.guarantee)
        state = "held" if one.held else "spent"
        said = str(told.get("sentence", ""))
        rows.append((one.at, _both(one.amount), _both(so_far), state, said))
    return rows


def _earlier(charges: Sequence[Charge]) -> str:
    if not charges:
        return ""
    total = Amount(0)
    for one in charges:
        total = total.plus(one.amount)
    many = f"{len(charges):,} earlier charges" if len(charges) > 1 else "1 earlier charge"
    return f"The latest {LISTED} are listed; {many} came to {_both(total)}."


def _both(amount: Amount) -> str:
    level = amount.level
    # Never below what it is: what is used is a statement, too.
    shown = "none" if math.isinf(level) else at_most(level)
    return shown + (f", δ {at_most(amount.probability, 3)}" if amount.delta else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
