"""Paying for long work: its whole cost is held before its first noise, and settled at its end.

Guarantee
    Nothing of a run is drawn unless its account has paid for all of it. A run that is killed stays
    paid; resumed, it is not charged again; begun again, it is.

Why it holds
    What a run costs is known from its plan. It is held under a code that is drawn with the run and,
    where a run can be resumed, kept in a file beside its work before the hold. Under the same code
    another plan, corpus (by its content) or place is refused, and so is all work once it is
    settled.

Care
    The file tells the code, which is a random number, and a mark of the account under the budget's
    key: neither tells who pays. Whoever copies the place of a run and puts it back while the run is
    not settled can have noise drawn anew under one charge: a ledger on a disk trusts its owner.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.accounting.budget.accounts import AccountName, Kind
from sfumato.accounting.budget.amounts import Amount
from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.shared import Budget, Request
from sfumato.core.errors import CannotResume, InvalidArgument, SfumatoError, StorageFailed
from sfumato.core.files import sync_folder, write_first
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness

SCHEMA = 1


@dataclass(frozen=True)
class Payment:
    """Where work is charged: a budget, an account of it, and the file of its key."""

    budget: str
    account: str
    key: Path | None = None

    def pay(self, claim: Claim, work: Mapping[str, object], run: str | None = None) -> Hold:
        """Hold the cost of a run before it begins; ``run`` is its code if it can be resumed.

        ``work`` is what the run reads and writes, and how; it is kept as a code under the key.
        """
        request = Request(run or secrets.token_hex(16), spelled(work))
        with Budget.at(self.budget, self.key) as budget:
            budget.hold(self.account, claim, request)
        return Hold(self, request.key)

    def pay_at(self, place: Path, claim: Claim, work: Mapping[str, object]) -> Hold:
        """The same for a run that can be resumed, whose code is kept in the file ``place``."""
        first = not place.exists()
        try:
            return self.pay(claim, work, self.code_at(place))
        except StorageFailed:
            raise  # whether it is held is not known
        except SfumatoError:
            if first:  # nothing is held, so nothing is begun
                forget_code(place)
            raise

    def code_at(self, place: Path) -> str:
        """The code of the run that keeps it there; drawn, and on the disk, if there is none."""
        with Budget.at(self.budget, self.key) as budget:
            fresh = secrets.token_hex(16)
            told = {"schema": SCHEMA, "run": fresh, "payer": budget.mark(self.account, fresh)}
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                write_first(place, (json.dumps(told) + "\n").encode())
                sync_folder(place.parent)
            except OSError as error:
                problem = error.strerror or "writing failed"
                raise StorageFailed(f"cannot write {place}: {problem}") from None
            found = read_object(place, "what a run is charged under")
            run, payer = found.get("run"), found.get("payer")
            if not isinstance(run, str) or payer != budget.mark(self.account, run):
                raise CannotResume(
                    f"{place} says that another account, or another budget, pays for this run; "
                    "resume with the one that it was begun with, or begin another run elsewhere"
                )
        return run


@dataclass(frozen=True)
class Hold:
    """What is held for a run that goes on."""

    payment: Payment
    run: str

    def settle(self, amount: Amount | None = None) -> None:
        """The run is done; ``amount`` is what it cost, if it ended early."""
        with Budget.at(self.payment.budget, self.payment.key) as budget:
            budget.settle(self.payment.account, self.run, amount)


def corpus_payment(
    budget: str | Path | None, account: str | None, key: str | Path | None
) -> Payment | None:
    """Who pays for work on a corpus, if somebody does.

    >>> corpus_payment(None, None, None)
    >>> corpus_payment("budget.db", "corpus:tickets", None).account
    'corpus:tickets'
    """
    if (budget is None) != (account is None) or (budget is None and key is not None):
        raise InvalidArgument(
            "a budget is charged by account: `budget=FILE` and `account='corpus:ID'`"
        )
    if budget is None or account is None:
        return None
    if AccountName.read(account).kind is not Kind.CORPUS:
        raise InvalidArgument(
            "this speaks of the units of a corpus, so an account of that kind pays: "
            "`account='corpus:ID'`"
        )
    return Payment(str(budget), account, None if key is None else Path(key))


def refuse_seed(randomness: Randomness) -> None:
    """Refuse to pay for what nobody may release."""
    if not randomness.for_release:
        raise InvalidArgument(
            "with a seed an output is not for release, so nothing is charged for it: leave out "
            "the budget, or the seed"
        )


def forget_code(place: Path) -> None:
    """Remove the code of a run that was refused, and its folder if that holds nothing else."""
    place.unlink(missing_ok=True)
    if place.parent.is_dir() and not any(place.parent.iterdir()):
        place.parent.rmdir()


def spelled(work: Mapping[str, object]) -> str:
    """Work in one spelling."""
    return json.dumps(work, sort_keys=True, default=str)


def content_digest(path: Path) -> str:
    """A digest of a file, to be kept under a key and nowhere else: it would test any guess."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def digest_of(parts: Iterable[tuple[object, ...]]) -> str:
    """A digest of documents, to be kept under a key and nowhere else."""
    found = hashlib.sha256()
    for one in parts:
        written = json.dumps(one, ensure_ascii=True).encode()
        found.update(len(written).to_bytes(8, "big") + written)
    return found.hexdigest()
