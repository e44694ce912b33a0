"""The privacy level so far for a progress bar, and a plan compared by several accountants.

Composing a privacy loss distribution takes a moment, so that is done at a few marks only. The level
never decreases from one step to the next, so the level at the next mark holds for every step up to
it. If Rényi divergences give a smaller level, that one is used.

``compare_accountants`` lists the proven levels of all accountants, then the one that a paper would
state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from sfumato.accounting.accountants import ACCOUNTANTS
from sfumato.core.checks import between
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import write_number
from sfumato.training.plan import Plan, quietly, silently
from sfumato.training.sampling import Poisson


@dataclass(frozen=True, kw_only=True)
class Spending:
    """``so_far(steps)`` is a proven level after so many steps, at most a little too large."""

    plan: Plan
    marks: int = 40

    def so_far(self, steps: int) -> float:
        """A level after ``steps`` steps; exact at the end."""
        between("steps", steps, 0, self.plan.steps)
        apart = -(-self.plan.steps // self.marks)
        mark = min(self.plan.steps, -(-steps // apart) * apart)
        at_mark = self.plan.epsilon(mark)
        if mark == steps or self.plan.accountant == "rdp":
            return min(at_mark, self.plan.epsilon(steps))
        return min(at_mark, silently(self.plan, accountant="rdp").epsilon(steps))


_REMARKS = {
    "pld": "proven; mostly the tightest",
    "rdp": "proven; as most papers do",
    "pure": "proven; levels simply added",
}


@dataclass(frozen=True)
class AccountantRow:
    """``epsilon`` is for the plan's own noise, ``noise_multiplier`` for the requested level."""

    name: str
    delta: float
    epsilon: float | None
    noise_multiplier: float | None
    proven: bool
    remark: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "accountant": self.name,
            "delta": self.delta,
            "epsilon": write_number(self.epsilon),
            "noise_multiplier": self.noise_multiplier,
            "proven": self.proven,
            "remark": self.remark,
        }


def compare_accountants(plan: Plan, wanted: float | None) -> tuple[AccountantRow, ...]:
    """The plan's own accountant first, then the others, then what a paper would state."""
    names = [plan.accountant, *(name for name in ACCOUNTANTS if name != plan.accountant)]
    rows = [_row(silently(plan, accountant=name), name, wanted) for name in names[1:]]
    solved = plan.noise_multiplier if wanted is not None and plan.private else None
    own = _row(plan, plan.accountant, None)
    rows.insert(0, replace(own, noise_multiplier=solved))
    rows.append(_as_in_papers(plan, wanted))
    return tuple(rows)


def _as_in_papers(plan: Plan, wanted: float | None) -> AccountantRow:
    """Rényi divergences, delta = 1/n, a unit removed, and sampling treated as Poisson."""
    changes = {"accountant": "rdp", "delta": "1/n", "neighbors": "add-or-remove"}
    claimed = _row(silently(plan, **changes, sampling=Poisson()), "as in papers", wanted)
    borrowed = [
        text
        for text, differs in (
            ("as if sampled by Poisson", plan.sampling != Poisson()),
            ("for a unit removed", plan.neighbors != "add-or-remove"),
        )
        if differs
    ]
    remark = ", ".join(["rdp at delta = 1/n", *borrowed]) + (
        ": NOT PROVEN here" if borrowed else ""
    )
    return replace(claimed, proven=not borrowed, remark=remark)


def _row(plan: Plan, name: str, wanted: float | None) -> AccountantRow:
    remark = _REMARKS.get(name, "")
    return AccountantRow(name, float(plan.delta), _level(plan), _noise(plan, wanted), True, remark)


def _level(plan: Plan) -> float | None:
    try:
        return plan.epsilon()
    except InvalidArgument:  # this accountant has no answer
        return None


def _noise(plan: Plan, wanted: float | None) -> float | None:
    if wanted is None or wanted == math.inf or not plan.private:
        return None
    try:
        with quietly():
            return plan.with_epsilon(wanted).noise_multiplier
    except InvalidArgument:
        return None
