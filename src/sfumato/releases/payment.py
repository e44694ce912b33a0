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

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.accounting.budget import payment
from sfumato.accounting.budget.accounts import AccountName, Kind
from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.payment import Hold, refuse_seed
from sfumato.core.checks import one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee
from sfumato.policies.identity import told_apart
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.sidefile import document_of
from sfumato.vectors.space import Space

MASK, WITHHOLD = "mask", "withhold"


@dataclass(frozen=True)
class Payment(payment.Payment):
    """Where a run is charged: a budget, the file of its key, and an account.

    ``author:FIELD`` charges every line to the author that its field names (``authors``). Accounts
    of authors that have none are opened with ``author_limit``; without it nothing is left in them.
    What an author cannot pay for is masked or withheld, as ``when_spent`` says.
    """

    author_limit: float | None = None
    when_spent: str = MASK

    def __post_init__(self) -> None:
        one_of("when_spent", self.when_spent, (MASK, WITHHOLD))
        if self.author_limit is not None:
            positive("author_limit", self.author_limit)
        if self.author_field is None and (self.author_limit is not None or self.when_spent != MASK):
            raise InvalidArgument(
                "`author_limit=...` and `when_spent=...` are for authors who pay for their own "
                "lines: `account='author:FIELD'`, with the field that names the author"
            )

    @property
    def author_field(self) -> str | None:
        """The field that names who pays for a line; none where an account pays for all."""
        name = AccountName.read(self.account)
        return name.id if name.kind is Kind.AUTHOR else None

    @property
    def rule(self) -> list[object] | None:
        """How authors pay, to be compared when a run is resumed; nothing where one account does."""
        if self.author_field is None:
            return None
        return [self.author_field, self.author_limit, self.when_spent]

    def hold(
        self,
        privatizer: Privatizer,
        source: Source,
        work: Mapping[str, object],
        run: str | None = None,
    ) -> Hold:
        """Hold the cost of a run before it begins; ``run`` is its code if it can be resumed.

        ``work`` is what the run reads and writes, and how; it is kept as a code under the key.
        """
        refuse_seed(privatizer.randomness)
        return self.pay(claim_on(source, privatizer.guarantee()), work, run)


def claim_on(source: Source, guarantee: Guarantee) -> Claim:
    """What a guarantee costs for a file: one line, one record and a whole file are no one unit."""
    has_fields, whole_file = source.format.has_fields, source.layout.whole_file
    document = document_of(has_fields=has_fields, whole_file=whole_file)
    return claim_of(guarantee.of_documents(document))


def claim_of(guarantee: Guarantee) -> Claim:
    """What a guarantee costs, with all that it speaks of spelled out."""
    return Claim(guarantee, tuple(_spelled(one) for one in guarantee.about))


def _spelled(one: object) -> str:
    if isinstance(one, Space):
        return f"space {one.digest}"
    if one is None or isinstance(one, (str, int, float)):
        return f"{type(one).__name__} {one!r}"
    if isinstance(one, tuple):
        return f"({', '.join(map(_spelled, one))})"
    if isinstance(one, frozenset):  # such as words that are sensitive: no order is part of it
        return f"{{{', '.join(sorted(map(_spelled, one)))}}}"
    return told_apart(one)  # type: ignore[arg-type]  # what is no policy does not say what it is
