"""Paying for a training run: all that its guarantee covers, before anything of it is drawn.

Guarantee
    No noise of a run is drawn, for its tokenizer or its steps, unless the account has paid for all
    of it. What is charged is the guarantee that the run will state: tokenizer and model together,
    adaptive clipping, states that are released, for the neighbors that the method speaks of.

Why it holds
    The plan follows from settings and the number of units, which are public, and is known before
    the first step. A tokenizer is drawn earlier: then its noise and the plan are computed from the
    number of units first, and a run whose plan turns out to be another is refused. The code of the
    run is in its folder (``accounting.budget.payment``); the ledger of the folder sees to it that a
    resumed run takes no step twice.

Care
    In an account of divergences a run costs what the releases of its plan cost
    (``accounting.budget.costs``). A method of somebody's own states a level, and what it costs in
    divergences nobody here can tell. A tokenizer with a threshold has no divergence at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.costs import Costs
from sfumato.accounting.budget.payment import Hold, Payment, digest_of, refuse_seed
from sfumato.core.errors import CannotResume, InvalidArgument
from sfumato.core.own_code import code_of
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.histograms.thresholds import SHOWN_ALONE, Noise
from sfumato.policies.identity import told_apart
from sfumato.text.document import Document
from sfumato.training.folder import RunFolder
from sfumato.training.plan import Plan, TrainingPlan
from sfumato.training.vocabulary import count_units, planned, stated_together

if TYPE_CHECKING:
    from sfumato.training.request import Request


@runtime_checkable
class Costed(Protocol):
    """A plan that says what it costs in divergences."""

    def costs(self, after_steps: int | None = None) -> Costs:
        """What the first steps cost, or all."""


@dataclass
class Bill:
    """What a run has to pay, and what is held for it."""

    payment: Payment
    request: Request
    folder: RunFolder
    corpus: str
    units: int
    held: Hold | None = None
    expected: Plan | None = None
    noise: Noise | None = None

    @classmethod
    def opened(
        cls, payment: Payment, request: Request, documents: Sequence[Document], folder: RunFolder
    ) -> Bill:
        """Refuse what cannot be paid for, before anything is drawn."""
        refuse_seed(request.randomness())
        begun = folder.config.is_file() or folder.tokenizer.is_dir()
        if begun and not folder.budget.is_file():
            raise CannotResume(
                f"{folder.path} holds a run that was begun without a budget; resume it without "
                "one, or begin another run in another folder"
            )
        digest = digest_of((one.text, one.author, *one.labels) for one in documents)
        units = count_units(documents, request.privacy.unit)
        return cls(payment, request, folder, digest, units)

    def pay_first(self) -> None:
        """Pay for tokenizer and model together, if a tokenizer is drawn before there is a plan."""
        wanted = self.request.vocabulary
        if wanted is None or self.folder.finished:
            return
        self.noise, left = planned(wanted, self.request.privacy, self.units)
        self.expected = left.plan(self.units)
        stated = self.request.method.promise(self.expected.guarantee(), None)
        self._hold(self.expected, stated_together(stated, self.expected, self.noise))

    def pay(self, plan: TrainingPlan, promised: Guarantee) -> dict[str, Any]:
        """Pay for a plan unless that is done; what the settings of the run say of it."""
        if self.expected is not None and plan != self.expected:
            raise InvalidArgument(
                f"the method {self.request.method.name} has another plan than DP-SGD for these "
                "units, and that is what was paid for; learn the tokenizer in a run of its own"
            )
        if self.held is None and not self.folder.finished:
            self._hold(plan, promised)
        return {"budget": self._hold_of_run().run}

    def settle(self) -> None:
        """The run is finished."""
        self._hold_of_run().settle()

    def _hold_of_run(self) -> Hold:
        """What is held for the run, by this process or by one before it."""
        return self.held or Hold(self.payment, self.payment.code_at(self.folder.budget))

    def _hold(self, plan: TrainingPlan, promised: Guarantee) -> None:
        claim, work = self.claim(plan, promised), self.work(plan)
        self.held = self.payment.pay_at(self.folder.budget, claim, work)

    def claim(self, plan: TrainingPlan, promised: Guarantee) -> Claim:
        """What the run costs, and of whom it speaks."""
        protection = self.request.protection
        about = () if protection is None else (told_apart(protection.policy),)
        # The account knows the policy by a code of its own.
        stated = replace(promised, policy="", about=())
        return Claim(stated, about, costs=self._costs(plan, promised))

    def work(self, plan: TrainingPlan) -> dict[str, object]:
        """What is done under the code of the run, and where."""
        return {
            "work": "train",
            "corpus": self.corpus,
            "plan": plan.as_dict(),
            "tokenizer": None if self.noise is None else self.noise.as_dict(),
            "place": str(self.folder.path.resolve()),
        }

    def _costs(self, plan: TrainingPlan, promised: Guarantee) -> Costs | None:
        if code_of(type(self.request.method)) != () or not isinstance(plan, Costed):
            return None
        costs = plan.costs()
        if promised.notion is Notion.SELECTIVE_DP:
            costs = replace(costs, unit=promised.unit, neighbors=promised.neighbors)
        return costs if self.noise is None else replace(costs, unbounded=SHOWN_ALONE)
