"""Charges: what a release costs an account, and of what it speaks.

A charge is refused unless it speaks of the same thing as all others of its account: the same
notion, unit, neighbors, scope, public vectors and policy. Sums of other things prove nothing.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from sfumato.accounting.budget.accounts import Account, Kind, Measure
from sfumato.accounting.budget.amounts import Amount
from sfumato.core.checks import at_least
from sfumato.core.errors import IncomparableGuarantees
from sfumato.guarantees.guarantee import Guarantee, Notion

_ON_VECTORS = (
    Notion.METRIC_DP,
    Notion.SELECTIVE_METRIC_DP,
    Notion.UTILITY_OPTIMIZED_METRIC_LDP,
    Notion.LDP_WITHIN_GROUPS,
)


@dataclass(frozen=True)
class Claim:
    """What a release proves, and over which public vectors (their digest) where it has some."""

    guarantee: Guarantee
    vectors: str = ""
    words: int = 1

    def cost(self, kind: Kind, measure: Measure) -> Amount:
        """What it costs an account: for an author, the level of each word that was replaced."""
        proven = self.guarantee
        if math.isinf(proven.epsilon) or proven.notion is Notion.NONE:
            raise IncomparableGuarantees(
                "this release has no proven level, so no budget can pay for it"
            )
        if measure is Measure.LEVEL and proven.delta:
            raise IncomparableGuarantees(
                "this release has a delta, and the account adds up levels alone; open one with the "
                "measure 'approximate'"
            )
        if measure in (Measure.RHO, Measure.RENYI):
            raise IncomparableGuarantees(
                f"the account is kept in {measure.value!r}, and this release states a level; what "
                "it costs in that measure must be computed from its plan"
            )
        one = Amount.charged(proven.epsilon, proven.delta)
        return one.times(at_least("words", self.words, 0)) if kind is Kind.AUTHOR else one

    def speaks_of(self) -> str:
        """What all charges of an account have in common, in one spelling."""
        return json.dumps(_subject(self.guarantee, self.vectors), sort_keys=True)

    def refuse_another(self, account: Account) -> None:
        """Refuse an account whose charges speak of something else."""
        if account.speaks_of in ("", self.speaks_of()):
            return
        before, now = json.loads(account.speaks_of), json.loads(self.speaks_of())
        differs = sorted(name for name in now if before.get(name) != now[name])
        raise IncomparableGuarantees(
            f"this release speaks of another {' and another '.join(differs)} than all that the "
            "account was charged with, so their sum would prove nothing; charge an account of its "
            "own"
        )


def _subject(proven: Guarantee, vectors: str) -> dict[str, object]:
    if proven.notion in _ON_VECTORS and not vectors:
        raise IncomparableGuarantees(
            "a level over public vectors adds up only with levels over the same ones; give their "
            "digest"
        )
    selective = proven.notion in (Notion.SELECTIVE_DP, Notion.SELECTIVE_METRIC_DP)
    if selective and not proven.policy:
        raise IncomparableGuarantees(
            "selective levels add up only for the same policy, and which one it was is not known"
        )
    subject: dict[str, object] = {
        "notion": proven.notion.value,
        "unit": proven.unit,
        "record": proven.record,
        "neighbors": proven.neighbors,
        "metric": proven.metric,
        "scope": proven.scope,
        "vectors": vectors,
        "policy": proven.policy,
    }
    if proven.parts:
        # Levels of a part may differ from release to release; what it speaks of may not.
        subject["parts"] = [
            [list(part.types), _subject(part.guarantee, vectors)] for part in proven.parts
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
