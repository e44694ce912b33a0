"""Charges: what a release costs an account, and of what it speaks.

A charge is refused unless it speaks of the same thing as all others of its account: the same
notion, unit, neighbors, scope, public vectors and policy. Sums of other things prove nothing.
Vectors and policies are told apart by codes under the budget's key, for a policy may be private.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from sfumato.accounting.budget.accounts import ABOUT, Account, Kind, Measure
from sfumato.accounting.budget.amounts import Amount
from sfumato.core.checks import at_least
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
# What differs from release to release.
_LEVELS = ("epsilon", "delta", "stays", "unchanged", "for_release")


@dataclass(frozen=True)
class Claim:
    """What a release proves, and ``about`` which vectors, scales and policies, spelled out.

    ``words`` is the number of words that were replaced, for which an author pays.
    """

    guarantee: Guarantee
    about: tuple[str, ...] = ()
    words: int = 1

    def cost(self, kind: Kind, measure: Measure) -> Amount:
        """What it costs an account: for an author, the level of each word that was replaced."""
        self._refuse_unfit(kind)
        self._refuse_measure(measure)
        one = Amount.charged(self.guarantee.epsilon, self.guarantee.delta)
        return one.times(at_least("words", self.words, 0)) if kind is Kind.AUTHOR else one

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
        if kind is Kind.AUTHOR and not (proven.metric and proven.unit == "word"):
            raise IncomparableGuarantees(
                "an author pays for every word by its distance, and this release states something "
                "else; charge an account of the kind 'text' or 'corpus'"
            )

    def _refuse_measure(self, measure: Measure) -> None:
        proven = self.guarantee
        if measure is Measure.LEVEL and proven.delta:
            raise IncomparableGuarantees(
                "this release has a delta, and the account adds up levels alone; open one with the "
                "measure 'approximate'"
            )
        concentrated = proven.notion is Notion.ZCDP
        if concentrated != (measure is Measure.RHO) or measure is Measure.RENYI:
            raise IncomparableGuarantees(
                f"the account is kept in {measure.value!r}, and this release states "
                f"{proven.notion.value}; what it costs in that measure must be computed from its "
                "plan"
            )

    def speaks_of(self, key: Key) -> str:
        """What all charges of an account have in common, in one spelling."""
        proven = self.guarantee
        if proven.notion in _ABOUT_SOMETHING and not (self.about or proven.policy):
            raise IncomparableGuarantees(
                "this level adds up only with levels over the same vectors and for the same "
                "policy, and which ones these were is not known"
            )
        about = key.code("about", *self.about) if self.about else ""
        return json.dumps(_subject(proven) | {ABOUT: about}, sort_keys=True)


def refuse_another(before: str, now: str) -> None:
    """Refuse a charge that speaks of something else than those before."""
    if before in ("", now):
        return
    earlier, later = json.loads(before), json.loads(now)
    differs = sorted(name for name in later if earlier.get(name) != later[name])
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
