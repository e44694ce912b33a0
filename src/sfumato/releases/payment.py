"""Charging a run to an account that lasts, before its first noise is drawn.

Guarantee
    Nothing of a run is drawn unless the account has paid for all of it. A run that is killed stays
    paid; resumed, it is not charged again; begun again, it is.

Why it holds
    The level of a run is known from its settings. It is held under a code that is drawn with the
    run and kept with its finished parts, and settled when the output stands. Under the same code
    other settings, or another input, are refused: two draws cannot share one charge.

Care
    The whole file is one text here, or one corpus: what the account says, it says of that.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfumato.accounting.budget.accounts import AccountName, Kind
from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.shared import Budget, Request
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.guarantees.guarantee import Guarantee
from sfumato.policies.identity import Identified, identity_of
from sfumato.releases.privatizer import Privatizer
from sfumato.vectors.space import Space


@dataclass(frozen=True)
class Payment:
    """Where a run is charged: a budget, the file of its key, and an account."""

    budget: str
    account: str
    key: Path | None = None

    def __post_init__(self) -> None:
        if AccountName.read(self.account).kind is Kind.AUTHOR:
            raise InvalidArgument(
                "a file is charged to text:ID or corpus:ID; what an author pays depends on which "
                "lines are theirs"
            )

    @contextmanager
    def paid(
        self, privatizer: Privatizer, settings: Mapping[str, object], run: str | None = None
    ) -> Iterator[None]:
        """Hold the cost of a run while it goes on; ``run`` is its code if it can be resumed."""
        if privatizer.seed is not None:
            raise InvalidArgument(
                "with a seed an output is not for release, so nothing is charged for it: leave out "
                "the budget, or the seed"
            )
        claim = claim_of(privatizer.guarantee())
        request = Request(
            run or secrets.token_hex(16), json.dumps(settings, sort_keys=True, default=str)
        )
        with Budget.at(self.budget, self.key) as budget:
            budget.hold(self.account, claim, request)
            yield
            budget.settle(self.account, request.key)


def claim_of(guarantee: Guarantee) -> Claim:
    """What a guarantee costs, with all that it speaks of spelled out."""
    return Claim(guarantee, tuple(_spelled(one) for one in guarantee.about))


def _spelled(one: object) -> str:
    if isinstance(one, Space):
        return f"space {one.digest}"
    if one is None or isinstance(one, (str, int, float)):
        return f"{type(one).__name__} {one!r}"
    identity = identity_of(one) if isinstance(one, Identified) else None
    if identity is None:
        raise IncomparableGuarantees(
            "the policy, or something else that the guarantee speaks of, does not say what it is; "
            "so nobody could tell whether later charges speak of the same"
        )
    return f"policy {identity.spelled}"
