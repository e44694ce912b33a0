"""The budget itself: accounts are opened and charged, work is held and settled.

Guarantee
    No account is ever charged beyond its limit, whatever processes do at the same time or whenever
    they are killed. Whoever charges *before* an output leaves the process has shown nothing that is
    not charged; whoever stores the output with the charge can ask for it again under the same key,
    and pays once.

Why it holds
    ``store`` says why charges are exact and atomic. A hold counts as spent and never expires, since
    nobody can know what a process that died had shown. Only work that is still held can be settled
    for less, and only where a filter allows to stop early: in every measure but ``approximate``,
    where a plan is one charge.

What is in the database
    Names of accounts are codes under the key; requests are codes, too. Guarantees are there as they
    are released, with outcomes until they are forgotten. A database without its key does not tell
    whose accounts these are. The key itself is never there: ``prepare`` stores a code of a fixed
    word, by which another key is recognized.

Care
    A backup that is restored forgets charges. Services with separate budgets do not know of each
    other, and an author who is split over many ids has many accounts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType

from sfumato.accounting.budget.accounts import Account, AccountName, Limit, Measure
from sfumato.accounting.budget.amounts import Amount
from sfumato.accounting.budget.charges import Charge, Charged, Claim, refuse_another
from sfumato.accounting.budget.store import Entry, Store, Stored
from sfumato.core.errors import BadInput, BudgetExceeded, InvalidArgument, StorageFailed
from sfumato.core.files import from_home
from sfumato.core.keys import Key

KEY_VARIABLE = "SFUMATO_BUDGET_KEY"
LONGEST_KEY = 200
# How long the output of a charge can be asked for again.
OUTCOMES_LAST = timedelta(days=1)


@dataclass(frozen=True)
class Request:
    """What is asked under a key, so that the same key is not used for something else."""

    key: str
    content: str = ""

    def __post_init__(self) -> None:
        if not 0 < len(self.key) <= LONGEST_KEY:
            raise InvalidArgument(f"a key of a charge has 1 to {LONGEST_KEY} characters")


class Budget(AbstractContextManager["Budget"]):
    """A budget in a database; ``Budget.at`` opens one, or makes it."""

    def __init__(self, store: Store, key: Key) -> None:
        if not key.lasts:
            raise InvalidArgument("a budget needs a key that lasts: a file, or the environment")
        self._store, self._key = store, key
        store.prepare(bytes.fromhex(key.code("budget", "key check")))

    @classmethod
    def at(cls, place: str | Path, key: str | Path | None = None, *, new: bool = False) -> Budget:
        """A file, or the address of a PostgreSQL database (``postgresql://…``).

        ``key`` is a file; without it the environment variable SFUMATO_BUDGET_KEY is the key. A file
        that is not there is made only if ``new``: a mistyped name must not be an empty budget.
        """
        found = Key.from_environment(KEY_VARIABLE) if key is None else Key.from_file(key)
        if found is None:
            raise InvalidArgument(
                "a budget has a key, without which its accounts cannot be found: give a file, "
                f"`key=FILE`, or set {KEY_VARIABLE}; 'openssl rand -hex 32 > FILE' makes a good one"
            )
        return cls(_store_at(str(place), new=new), found)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the database."""
        self._store.close()

    def open(self, name: str, limit: Limit) -> Account:
        """Open an account; its limit never changes."""
        account = AccountName.read(name)
        if not self._store.open(self._code(account), account.kind, limit, _now()):
            raise InvalidArgument(
                "there is an account of this name already; a limit cannot be changed, and new data "
                "have a new account"
            )
        return self.show(name)

    def show(self, name: str) -> Account:
        """An account as it stands."""
        found = self._store.account(self._code(AccountName.read(name)))
        if found is None:
            raise BadInput(
                "there is no account of this name in the budget; names are compared letter by "
                "letter"
            )
        return found

    def accounts(self) -> dict[str, Account]:
        """All accounts by the beginning of their codes; names cannot be told from codes."""
        return {name.hex()[:12]: account for name, account in self._store.accounts()}

    def code(self, name: str) -> str:
        """The beginning of an account's code, as ``accounts`` shows it."""
        return self._code(AccountName.read(name)).hex()[:12]

    def history(self, name: str) -> list[Charge]:
        """All charges of an account, the oldest first."""
        self.show(name)
        return self._store.charges(self._code(AccountName.read(name)))

    def end(self, name: str) -> Account:
        """Close an account: nothing more can be charged to it, ever."""
        self.show(name)
        self._store.close_account(self._code(AccountName.read(name)), _now())
        return self.show(name)

    def charge(
        self, name: str, claim: Claim, request: Request, outcome: str | None = None
    ) -> Charged:
        """Charge a release and store its output with the charge, before the output is shown.

        Under a key that was charged before, nothing is charged, and the output of then comes back.
        """
        return self._enter(name, claim, request, outcome=outcome, held=False)

    def hold(self, name: str, claim: Claim, request: Request) -> Charged:
        """Charge long work before it begins; ``settle`` it when it is done."""
        return self._enter(name, claim, request, outcome=None, held=True)

    def settle(self, name: str, key: str, amount: Amount | None = None) -> Account:
        """Work that was held is done; ``amount`` is what it cost, if it ended early."""
        code = self._code(AccountName.read(name))
        account, found = self.show(name), self._store.stored(code, key)
        if found is None:
            raise BadInput("nothing is held under this key")
        cost = found.amount if amount is None else amount
        if not found.held and cost == found.amount:
            return account
        if account.limit.measure is Measure.APPROXIMATE and cost != found.amount:
            raise InvalidArgument(
                "an account of the measure 'approximate' gives nothing back: a plan is one charge"
            )
        if not self._store.settle(code, key, cost, None):
            raise InvalidArgument("work is settled once, and for no more than was held")
        return self.show(name)

    def forget_outcomes(self, older_than: timedelta = OUTCOMES_LAST) -> None:
        """Drop stored outputs of long ago; charges stay."""
        self._store.forget_outcomes(_written(datetime.now(UTC) - older_than))

    def _enter(
        self, name: str, claim: Claim, request: Request, *, outcome: str | None, held: bool
    ) -> Charged:
        account = self.show(name)
        cost = claim.cost(account.kind, account.limit.measure)
        speaks_of = claim.speaks_of(self._key)
        # Under one key there is one request, at one cost: a larger one must not pass for it.
        parts = (request.content, str(cost.units), str(cost.delta), speaks_of, str(held))
        asked = bytes.fromhex(self._key.code("request", *parts))
        entry = Entry(
            account=self._code(AccountName.read(name)),
            key=request.key,
            request=asked,
            amount=cost,
            held=held,
            guarantee=json.dumps(_spoken(claim)),
            speaks_of=speaks_of,
            outcome=outcome,
            at=_now(),
        )
        if self._store.charge(entry):
            return Charged(self.show(name), entry.amount, outcome)
        known = self._store.stored(entry.account, request.key)
        if known is not None:
            return self._again(name, known, asked, held=held)
        account = self.show(name)
        if account.closed is not None:
            raise BudgetExceeded("the account is closed; nothing more can be charged to it")
        refuse_another(account.speaks_of, entry.speaks_of)
        raise BudgetExceeded(_missing(account, entry.amount))

    def _again(self, name: str, known: Stored, asked: bytes, *, held: bool) -> Charged:
        if known.request != asked:
            raise InvalidArgument(
                "this key was used for another request; every request has a key of its own"
            )
        if held and not known.held:
            raise InvalidArgument(
                "the work under this key is settled, so it cannot go on; what is drawn now is a "
                "new release, with a key of its own"
            )
        return Charged(self.show(name), known.amount, known.outcome, repeated=True)

    def _code(self, name: AccountName) -> bytes:
        return bytes.fromhex(self._key.code("account", name.kind.value, name.id))


def _spoken(claim: Claim) -> Mapping[str, object]:
    return {
        "notion": claim.guarantee.notion.value,
        "epsilon": claim.guarantee.epsilon,
        "delta": claim.guarantee.delta,
        "sentence": claim.guarantee.sentence(),
    }


def _missing(account: Account, cost: Amount) -> str:
    left = account.left
    parts = [f"this release costs {cost.level:g} and {left.level:g} is left"]
    if cost.delta > left.delta:
        parts.append(f"its delta is {cost.probability:.3g} and {left.probability:.3g} is left")
    return (
        f"the budget does not allow it: {'; '.join(parts)}. Nothing was drawn or charged; ask for "
        "less, or stop here"
    )


def _store_at(place: str, *, new: bool) -> Store:
    if place.startswith(("postgresql://", "postgres://")):
        from sfumato.accounting.budget.postgres import PostgresStore

        return PostgresStore(place)
    from sfumato.accounting.budget.sqlite import SqliteStore

    if "://" in place and not place.startswith("sqlite://"):
        raise InvalidArgument("a budget is a file, or an address that begins with postgresql://")
    path = from_home(place.removeprefix("sqlite://"))
    if not new and not path.exists():
        raise StorageFailed(f"there is no budget at {path}; open an account to make one")
    if not path.parent.is_dir():
        raise StorageFailed(f"there is no folder {path.parent}")
    return SqliteStore(path)


def _now() -> str:
    return _written(datetime.now(UTC))


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
