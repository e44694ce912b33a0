"""Accounts: of whom they speak, in which measure, and up to which limit.

Guarantee
    At the limit, which is fixed when the account is opened, the statement of ``Account.sentence``
    holds for all that was charged together, although each release may have been chosen after
    seeing what came before. It is the statement that all charges have in common (``charges``), with
    the limit in the place of their levels.

Why it holds
    A charge that would pass the limit is refused, so the limit is a *filter*:

    - ``level``: likelihood ratios multiply along every path, so the levels add up. Here the sum so
      far is a statement too.
    - ``approximate``: levels and deltas add up (Rogers, Roth, Ullman and Vadhan 2016).
    - ``rho``: zero-concentrated levels add up (Whitehouse, Ramdas, Rogers and Wu 2023).
    - ``renyi``: divergences of ONE order, fixed at the opening, add up (Feldman and Zrnic 2021).

Care
    For all but ``level`` the sum so far is not a guarantee: whoever stops when luck is on his side
    exceeds it. (With noise of multiplier 4, a delta of 10⁻³ and up to 1,000 releases, stopping when
    the loss is 0.5 above the level so far reaches ten times that delta.) Say what holds at the
    limit, and what has been used as one would say it of money.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sfumato.accounting.budget.amounts import LARGEST, Amount
from sfumato.accounting.budget.authors import statement
from sfumato.accounting.orders import best_epsilon
from sfumato.core.checks import between, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import at_most

LONGEST_NAME = 1000
ABOUT = "vectors or policy"
# The notion of a corpus account: what is stated of its units follows from its measure.
DIFFERENTIAL = "differential privacy"


class Kind(StrEnum):
    """Of whom an account speaks."""

    TEXT = "text"
    AUTHOR = "author"
    CORPUS = "corpus"


WHOM = {
    Kind.TEXT: "one text",
    Kind.AUTHOR: "all that one author sent through here",
    Kind.CORPUS: "one unit of a corpus",
}


_ALL = "all of them"
_EACH = "what each of them leaves out or shows in its own words (they stand in the history)"
AT_THE_LIMIT = "This holds at the limit; what is used so far is no statement of its own."


class Measure(StrEnum):
    """What is added up."""

    LEVEL = "level"
    APPROXIMATE = "approximate"
    RHO = "rho"
    RENYI = "renyi"


@dataclass(frozen=True)
class AccountName:
    """A kind and the caller's own id, such as ``author:u-17``."""

    kind: Kind
    id: str

    @classmethod
    def read(cls, written: str) -> AccountName:
        """From ``KIND:ID``.

        >>> AccountName.read("author:u-17").kind.value
        'author'
        """
        kind, colon, name = written.partition(":")
        if not colon or not name or len(name) > LONGEST_NAME:
            # The id may name a person, so it is not repeated.
            raise InvalidArgument(
                "an account is named KIND:ID, such as corpus:tickets or author:u-17, with at most "
                f"{LONGEST_NAME:,} characters"
            )
        return cls(Kind(one_of("kind", kind, [one.value for one in Kind])), name)


@dataclass(frozen=True)
class Limit:
    """A measure and the most of it that may be charged; ``order`` is that of ``renyi``."""

    measure: Measure
    most: Amount
    order: float | None = None

    @classmethod
    def of(
        cls, measure: str, level: float, *, delta: float = 0.0, order: float | None = None
    ) -> Limit:
        """From numbers as people give them, rounded down."""
        kind = Measure(one_of("measure", measure, [one.value for one in Measure]))
        if level != math.inf:
            positive("limit", level)
        elif kind is not Measure.LEVEL:
            raise InvalidArgument("only an account of the measure 'level' may have no limit")
        if between("delta", delta, 0.0, 1.0) == 1 or (delta > 0) != (kind is Measure.APPROXIMATE):
            # (At a delta of 1 everything may be shown to everybody.)
            raise InvalidArgument(
                "an account of the measure 'approximate' has a limit for delta between 0 and 1, "
                "such as `delta=1e-5`, and no other one has"
            )
        if (order is not None) != (kind is Measure.RENYI):
            raise InvalidArgument(
                "an account of the measure 'renyi' has one order, such as `order=4`, and no other "
                "one has"
            )
        if order is not None and positive("order", order) <= 1:
            raise InvalidArgument(f"order={order:g} must be greater than 1")
        most = Amount.allowed(level, delta)
        if most.units == 0 or (delta and most.delta == 0):
            raise InvalidArgument("this limit is too small to charge anything to it")
        return cls(kind, most, order)

    def epsilon(self, delta: float) -> float:
        """The level of differential privacy at the limit, at some delta of at least its own."""
        most = self.most
        if self.measure is Measure.LEVEL:
            return most.level
        if self.measure is Measure.APPROXIMATE:
            return most.level if delta >= most.probability else math.inf
        if self.measure is Measure.RHO:
            return best_epsilon(lambda orders: most.level * orders, delta)
        order = float(self.order or math.inf)
        if not delta:
            return math.inf
        found = most.level + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
        return max(0.0, found) * (1 + 1e-12)

    def shown(self) -> str:
        """The most that may be charged, in symbols."""
        if self.most.units == LARGEST:
            return "without a limit"
        symbol = {Measure.RHO: "ρ", Measure.RENYI: "divergence"}.get(self.measure, "ε")
        chance = f", δ ≤ {at_most(self.most.probability)}" if self.most.delta else ""
        return f"{symbol} ≤ {at_most(self.most.level)}{chance}"


# The limit of an account that holds nothing back, in levels.
NO_LIMIT = Limit(Measure.LEVEL, Amount(LARGEST))


@dataclass(frozen=True)
class Account:
    """An account as it stands; ``held`` is the part of ``spent`` that work in progress holds."""

    kind: Kind
    limit: Limit
    spent: Amount
    held: Amount
    charges: int
    speaks_of: str
    opened: str
    closed: str | None = None

    @property
    def left(self) -> Amount:
        """What may still be charged."""
        return self.limit.most.without(self.spent)

    def sentence(self, delta: float = 1e-5) -> str:
        """What holds for all that this account allows, in the words of what was charged to it."""
        if not self.speaks_of:
            return (
                f"Nothing is charged yet. All charges will have to speak of the same thing, and "
                f"will have {self.limit.shown()} together."
            )
        if self.limit.most.units == LARGEST:
            return (
                "This account has no limit: what was charged so far is all that can be said. Each "
                f"charge speaks of {json.loads(self.speaks_of)['neighbors']}."
            )
        return f"All releases that are charged to this account, together: {self._statement(delta)}"

    def _statement(self, delta: float) -> str:
        limit, subject = self.limit, json.loads(self.speaks_of)
        if self.kind is Kind.AUTHOR:
            return f"{statement(subject, limit.shown())}{_left_open(subject)}"
        if self.kind is Kind.CORPUS and limit.measure is not Measure.RENYI:
            said = _of_units(subject, limit).sentence()
            return said if limit.measure is Measure.LEVEL else f"{said} {AT_THE_LIMIT}"
        if limit.measure is Measure.RENYI:
            level, chance = at_most(limit.epsilon(delta)), at_most(delta)
            order = repr(limit.order).removesuffix(".0")  # of this very order, and of no larger one
            return (
                f"a divergence of at most {at_most(limit.most.level)} at order {order}, "
                f"hence ε ≤ {level} at δ = {chance}, comparing "
                f"{subject['neighbors']}; not covered: {_EACH}. {AT_THE_LIMIT}"
            )
        if limit.measure is Measure.RHO:  # what was charged had a level, and what is stated has ρ
            subject["notion"] = Notion.ZCDP.value
        said = _stated(subject, limit.most).sentence()
        return said if limit.measure is Measure.LEVEL else f"{said} {AT_THE_LIMIT}"

    def as_dict(self) -> dict[str, object]:
        """For JSON; levels as numbers, no limit as null."""
        most = self.limit.most
        unlimited = most.units == LARGEST
        return {
            "kind": self.kind.value,
            "measure": self.limit.measure.value,
            "order": self.limit.order,
            "limit": None if unlimited else most.level,
            "spent": self.spent.level,
            "held": self.held.level,
            "left": None if unlimited else self.left.level,
            "limit_delta": most.probability,
            "spent_delta": self.spent.probability,
            "charges": self.charges,
            "opened": self.opened,
            "closed": self.closed,
            "sentence": self.sentence(),
        }


def _left_open(subject: Mapping[str, Any]) -> str:
    """What all charges leave out or show, in the words of a guarantee."""
    said = (("Not covered", subject.get("uncovered")), ("Still visible", subject.get("leaks")))
    return "".join(f" {what}: {'; '.join(listed)}." for what, listed in said if listed)


def _of_units(subject: Mapping[str, Any], limit: Limit) -> Guarantee:
    """What holds at the limit for the units of a corpus, whatever was released."""
    notions = {Measure.LEVEL: Notion.PURE_DP, Measure.RHO: Notion.ZCDP}
    return Guarantee(
        notion=notions.get(limit.measure, Notion.APPROXIMATE_DP),
        unit=subject["unit"],
        neighbors=subject["neighbors"],
        epsilon=limit.most.level,
        delta=limit.most.probability,
        record=subject.get("record", ""),
        scope=_ALL,
        uncovered=(_EACH,),
    )


def _stated(subject: Mapping[str, Any], most: Amount) -> Guarantee:
    """The statement of all charges, at the limit; each part of one by type has the whole of it."""
    told = {name: value for name, value in subject.items() if name != ABOUT}
    parts = [
        {"types": one["types"], "guarantee": _stated(one["guarantee"], most).as_dict()}
        for one in told.pop("parts", ())
    ]
    independent = told["notion"] == Notion.INDEPENDENT.value
    level = max((one["guarantee"]["epsilon"] for one in parts), default=most.level)
    return Guarantee.from_dict(
        told
        | {"epsilon": 0.0 if independent else level, "delta": most.probability}
        | ({"parts": parts} if parts else {})
    )
