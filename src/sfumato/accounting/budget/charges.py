"""Charges: what a release costs an account, and of what it speaks.

A charge is refused unless it speaks of the same thing as all others of its account: the same
notion, unit, neighbors, scope, public vectors and policy. Sums of other things prove nothing.
Vectors and policies are told apart by codes under the budget's key, for a policy may be private.

Releases about the units of a corpus add up whatever they release: a model, a tokenizer and a
synthetic corpus are one composition, if neighbors are the same. So what they cover, show and leave
out may differ there, and the account says that each release has its own words for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.accounting.budget.accounts import ABOUT, DIFFERENTIAL, Account, Kind, Limit, Measure
from sfumato.accounting.budget.amounts import Amount
from sfumato.accounting.budget.authors import account_for, draws, price, refuse_unfit
from sfumato.accounting.budget.costs import Costs, pure_costs
from sfumato.core.errors import IncomparableGuarantees
from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import SMALL_UNITS

# These say nothing without the vectors, the scale or the policy that they speak of.
_ABOUT_SOMETHING = (
    Notion.METRIC_DP,
    Notion.SELECTIVE_METRIC_DP,
    Notion.UTILITY_OPTIMIZED_METRIC_LDP,
    Notion.LDP_WITHIN_GROUPS,
    Notion.SELECTIVE_DP,
    Notion.DIRECTIONAL,
    Notion.BY_TYPE,
)
# Notions that a corpus account adds up, whichever of them each release states.
OF_UNITS = (Notion.PURE_DP, Notion.APPROXIMATE_DP, Notion.ZCDP)
# What differs from release to release.
_LEVELS = ("epsilon", "delta", "stays", "unchanged", "for_release")


@dataclass(frozen=True)
class Claim:
    """What a release proves, and ``about`` which vectors, scales and policies, spelled out.

    ``words`` is the number of words that were replaced, for which an author pays (of stretches, or
    of draws for whole documents, where the statement is about those); of a guarantee by type,
    ``places`` has one such number for each part. ``replacing`` counts them. ``costs`` are
    those of its plan, for measures in which a guarantee says nothing.
    """

    guarantee: Guarantee
    about: tuple[str, ...] = ()
    words: int = 1
    costs: Costs | None = None
    places: tuple[int, ...] = ()

    def cost(self, kind: Kind, limit: Limit) -> Amount:
        """What it costs an account: for an author, the level of each place that was replaced."""
        self._refuse_unfit(kind)
        if limit.measure in (Measure.RHO, Measure.RENYI):
            return Amount.charged(self._concentrated(limit))
        self._refuse_measure(limit.measure)
        if kind is Kind.AUTHOR:
            return price(self.guarantee, self.counts)
        return Amount.charged(self.guarantee.epsilon, self.guarantee.delta)

    def replacing(self, documents: Iterable[Sequence[int]]) -> Claim:
        """The same claim for documents with so many places under each statement."""
        counts = draws(self.guarantee, documents)
        if self.guarantee.parts:
            return replace(self, words=0, places=counts)
        return replace(self, words=counts[0])

    @property
    def counts(self) -> tuple[int, ...]:
        """How many places were replaced under each statement."""
        return self.places if self.guarantee.parts else (self.words,)

    def spoken(self, kind: Kind) -> dict[str, object]:
        """What a history tells of the release; of an author's lines, what each was charged for."""
        proven, of_author = self.guarantee, kind is Kind.AUTHOR
        return {
            "notion": proven.notion.value,
            "epsilon": proven.epsilon,
            "delta": proven.delta,
            # An account has a line for each line of its author: the whole sentence would be there
            # many times, and is told by the account.
            "sentence": account_for(proven, self.counts) if of_author else proven.sentence(),
        }

    def _refuse_unfit(self, kind: Kind) -> None:
        proven = self.guarantee
        if math.isinf(proven.epsilon) or proven.notion is Notion.NONE:
            raise IncomparableGuarantees(
                "this release has no proven level, so no budget can pay for it"
            )
        if not proven.for_release:
            raise IncomparableGuarantees("this release is not for release, so nobody pays for it")
        if kind is Kind.CORPUS and (proven.metric or proven.unit in SMALL_UNITS or proven.parts):
            raise IncomparableGuarantees(
                "this release speaks of parts of a text, and an account of a corpus of its units; "
                "charge an account of the kind 'text'"
            )
        if kind is Kind.AUTHOR:
            refuse_unfit(proven)

    def _refuse_measure(self, measure: Measure) -> None:
        proven = self.guarantee
        if proven.notion is Notion.ZCDP:
            raise IncomparableGuarantees(
                f"the account is kept in {measure.value!r}, and this release states "
                f"{proven.notion.value}; charge an account of the measure 'rho'"
            )
        if measure is Measure.LEVEL and proven.delta:
            raise IncomparableGuarantees(
                "this release has a delta, and the account adds up levels alone; open one with the "
                "measure 'approximate'"
            )

    def _concentrated(self, limit: Limit) -> float:
        """What it costs in divergences: by its plan, or by a level that holds without a delta."""
        proven, costs = self.guarantee, self.costs
        if proven.notion is Notion.ZCDP and limit.measure is Measure.RHO:
            return proven.epsilon
        if costs is None and proven.notion is Notion.PURE_DP:
            costs = pure_costs(proven.unit, proven.neighbors, proven.epsilon)
        if costs is None:
            raise IncomparableGuarantees(
                f"the account is kept in {limit.measure.value!r}, and this release states "
                f"{proven.notion.value}; what it costs in that measure must be computed from its "
                "plan, and no plan says it"
            )
        if limit.measure is Measure.RHO:
            return costs.rho()
        return costs.divergence(float(limit.order or math.inf))

    def speaks_of(self, key: Key, kind: Kind) -> str:
        """What all charges of an account have in common, in one spelling."""
        proven = self.guarantee
        if proven.notion in _ABOUT_SOMETHING and not (self.about or proven.policy):
            raise IncomparableGuarantees(
                "this level adds up only with levels over the same vectors and for the same "
                "policy, and which ones these were is not known"
            )
        about = key.code("about", *self.about) if self.about else ""
        subject = self._of_units() if kind is Kind.CORPUS else _subject(proven)
        return json.dumps(subject | {ABOUT: about}, sort_keys=True)

    def _of_units(self) -> dict[str, Any]:
        """Neighbors alone: of a corpus, whatever is released about the same ones adds up."""
        proven, costs = self.guarantee, self.costs
        notion = DIFFERENTIAL if proven.notion in OF_UNITS else proven.notion.value
        subject = {
            "notion": notion,
            "unit": costs.unit if costs else proven.unit,
            "neighbors": costs.neighbors if costs else proven.neighbors,
        }
        for name in ("record", "policy"):
            if getattr(proven, name):
                subject[name] = getattr(proven, name)
        return subject


def refuse_another(before: str, now: str) -> None:
    """Refuse a charge that speaks of something else than those before."""
    if before in ("", now):
        return
    earlier, later = json.loads(before), json.loads(now)
    differs = sorted(
        name for name in earlier.keys() | later.keys() if earlier.get(name) != later.get(name)
    )
    raise IncomparableGuarantees(
        f"this release speaks of another {' and another '.join(differs)} than all that the "
        "account was charged with, so their sum would prove nothing; charge an account of its own"
    )


def _subject(proven: Guarantee) -> dict[str, Any]:
    """A guarantee without its levels: what all charges of an account have in common."""
    subject = {name: one for name, one in proven.as_dict().items() if name not in _LEVELS}
    if proven.parts:
        subject["parts"] = [
            {"types": list(part.types), "guarantee": _subject(part.guarantee)}
            for part in proven.parts
        ]
    return subject


@dataclass(frozen=True)
class Charge:
    """One charge of an account, as its history shows it."""

    at: str
    amount: Amount
    held: bool
    guarantee: str

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "at": self.at,
            "charged": self.amount.level,
            "delta": self.amount.probability,
            "state": "held" if self.held else "spent",
            "guarantee": json.loads(self.guarantee),
        }


@dataclass(frozen=True)
class Charged:
    """What came of a charge: the account afterwards, and the outcome under its key.

    ``repeated`` tells that the key had been charged before: nothing was charged again, and
    ``outcome`` is what was stored then (None once it was forgotten).
    """

    account: Account
    amount: Amount
    outcome: str | None
    repeated: bool = False
