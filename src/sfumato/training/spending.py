"""The level so far, quickly enough for a progress bar.

A privacy loss distribution takes a moment to compose, so it is composed at a few marks only. The
level never falls from one step to the next, so the level at the next mark is a level for every
step up to it; where Rényi divergences say less, their answer is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.checks import between
from sfumato.training.plan import Plan, silently


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
