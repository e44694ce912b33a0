"""Charging a run to an account that lasts, before its first noise is drawn.

Guarantee
    Nothing of a run is drawn unless the account has paid for all of it. A run that is killed stays
    paid; resumed, it is not charged again; begun again, it is.

Why it holds
    The level of a run is known from its settings. It is held under a code that is drawn with the
    run and kept with its finished parts, and settled when all of the output is put together. Under
    the same code other settings, another input (by its content) or another output file are refused,
    and so is all work once it is settled.

Care
    What the account says, it says of the unit and the neighbors of the guarantee that was charged:
    words or stretches of a file, or each of its documents.

    The finished parts of a run lie in a folder of its owner. Whoever copies it, and puts it back
    while the run is not settled, can have parts drawn anew under one charge: the ledger trusts its
    owner, as every ledger on a disk does.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
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

    def hold(
        self, privatizer: Privatizer, work: Mapping[str, object], run: str | None = None
    ) -> Hold:
        """Hold the cost of a run before it begins; ``run`` is its code if it can be resumed.

        ``work`` is what the run reads and writes, and how; it is kept as a code under the key.
        """
        if privatizer.seed is not None:
            raise InvalidArgument(
                "with a seed an output is not for release, so nothing is charged for it: leave out "
                "the budget, or the seed"
            )
        claim = claim_of(privatizer.guarantee())
        content = json.dumps(work, sort_keys=True, default=str)
        request = Request(run or secrets.token_hex(16), content)
        with Budget.at(self.budget, self.key) as budget:
            budget.hold(self.account, claim, request)
        return Hold(self, request.key)


@dataclass(frozen=True)
class Hold:
    """What is held for a run that goes on."""

    payment: Payment
    run: str

    def settle(self) -> None:
        """The run is done."""
        with Budget.at(self.payment.budget, self.payment.key) as budget:
            budget.settle(self.payment.account, self.run)


def content_digest(path: Path) -> str:
    """A digest of a file, to be kept under a key and nowhere else: it would test any guess."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


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
