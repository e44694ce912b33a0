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
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType

from sfumato.accounting.budget.accounts import (
    NO_LIMIT,
    Account,
    AccountName,
    Kind,
    Limit,
    Measure,
)
from sfumato.accounting.budget.amounts import Amount
from sfumato.accounting.budget.charges import Charge, Charged, Claim, refuse_another
from sfumato.accounting.budget.store import Entry, Store, Stored
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    InvalidArgument,
    MissingAccount,
    StorageFailed,
)
from sfumato.core.files import from_home
from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Guarantee

KEY_VARIABLE = "SFUMATO_BUDGET_KEY"
LONGEST_KEY = 200
# How long the output of a charge can be asked for again.
OUTCOMES_LAST = timedelta(days=1)
_CLOSED = "the account is closed; nothing more can be charged to it"


@dataclass(frozen=True)
class Request:
    """What is asked under a key, so that the same key is not used for something else."""

    key: str
    content: str = ""

    def __post_init__(self) -> None:
        # It is stored as it is, and not every database takes what cannot be printed.
        if not 0 < len(self.key) <= LONGEST_KEY or not self.key.isprintable():
            raise InvalidArgument(
                f"a key of a charge has 1 to {LONGEST_KEY} characters that can be printed"
            )


@dataclass(frozen=True)
class Due:
    """What a line costs its author."""

    author: AccountName
    claim: Claim
    request: Request


class Budget(AbstractContextManager["Budget"]):
    """A budget in a database; ``Budget.at`` opens one, or makes it."""

    def __init__(self, store: Store, key: Key) -> None:
        if not key.lasts:
            raise InvalidArgument("a budget needs a key that lasts: a file, or the environment")
        self._store, self._key = store, key
        self._last: tuple[Guarantee, tuple[object, ...], str] | None = None
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
                "a budget has a key, without which its accounts cannot be found: name the file "
                f"that holds it, or set {KEY_VARIABLE}; 'openssl rand -hex 32 > FILE' makes a good "
                "one"
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
            raise MissingAccount(
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

    def coded(self, word: str) -> str:
        """A code under the key, for what is stored and may tell something of somebody."""
        return self._key.code("word", word)

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

    def recall(self, name: str, request: Request) -> Charged | None:
        """What was charged under a key before, without charging; None if nothing was.

        Whoever asks again for an output need not compute it again.
        """
        account = self.show(name)
        known = self._store.stored(self._code(AccountName.read(name)), request.key)
        if known is None:
            return None
        asked = self._asked(request, known.amount, account.speaks_of, held=known.held)
        _refuse_again(known, asked, held=False)
        return Charged(self.show(name), known.amount, known.outcome, repeated=True)

    def hold(self, name: str, claim: Claim, request: Request) -> Charged:
        """Charge long work before it begins; ``settle`` it when it is done."""
        return self._enter(name, claim, request, outcome=None, held=True)

    def pay(
        self, dues: Sequence[Due], opening: Limit | None = None, *, held: bool = False
    ) -> list[bool]:
        """Charge what still fits, all of it in one transaction; which of them are paid for.

        A due under a key that was charged before is paid for, unless the work under it is settled.
        Accounts that are not there are opened with the limit ``opening``; without one, nothing is
        left in them. What costs nothing is not charged, and always paid for.
        """
        codes = [self._code(due.author) for due in dues]
        paid = [False] * len(dues)
        with self._store.transaction():
            # Everybody takes accounts in one order: two that wait for each other wait for ever.
            for place in sorted(range(len(dues)), key=lambda place: (codes[place], place)):
                paid[place] = self._pay(codes[place], dues[place], opening, held=held)
        return paid

    def settle_all(self, keys: Sequence[tuple[AccountName, str]]) -> None:
        """Work that was held under these keys is done; keys of which nothing is held are passed."""
        with self._store.transaction():
            for code, key in sorted((self._code(name), key) for name, key in keys):
                found = self._store.stored(code, key)
                if found is not None and found.held:
                    self._store.settle(code, key, found.amount, None)

    def require(self, name: str, works: Sequence[tuple[Claim, str | None]]) -> None:
        """Refuse several works together if they do not all fit; nothing is charged or held.

        With each claim stands the key that it may be held under already, if there is one.
        """
        account, code = self.show(name), self._code(AccountName.read(name))
        due = []
        for claim, key in works:
            cost, speaks_of = (
                claim.cost(account.kind, account.limit),
                self._speaks_of(claim, account.kind),
            )
            refuse_another(account.speaks_of, speaks_of)
            account = replace(account, speaks_of=speaks_of)
            if key is None or self._store.stored(code, key) is None:
                due.append(cost)
        if due and account.closed is not None:
            raise BudgetExceeded(_CLOSED)
        total = Amount(sum(one.units for one in due), sum(one.delta for one in due))
        left = account.left
        if total.units > left.units or total.delta > left.delta:
            what = "this release costs" if len(due) == 1 else f"these {len(due):,} releases cost"
            raise BudgetExceeded(_missing(account, total, what))

    def mark(self, name: str, run: str) -> str:
        """By which a run knows the account that pays for it; it tells nothing without the key."""
        account = AccountName.read(name)
        return self._key.code("payer", run, account.kind.value, account.id)[:16]

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
        account, read = self.show(name), AccountName.read(name)
        cost = claim.cost(account.kind, account.limit)
        entry = replace(
            self._entry(self._code(read), Due(read, claim, request), cost, held=held),
            outcome=outcome,
        )
        if self._store.charge(entry):
            return Charged(self.show(name), entry.amount, outcome)
        known = self._store.stored(entry.account, request.key)
        if known is not None:
            _refuse_again(known, entry.request, held=entry.held)
            return Charged(self.show(name), known.amount, known.outcome, repeated=True)
        account = self.show(name)
        if account.closed is not None:
            raise BudgetExceeded(_CLOSED)
        refuse_another(account.speaks_of, entry.speaks_of)
        raise BudgetExceeded(_missing(account, entry.amount))

    def _pay(self, code: bytes, due: Due, opening: Limit | None, *, held: bool) -> bool:
        standing = self._store.standing(code)
        if standing is None and opening is not None:
            self._store.open(code, due.author.kind, opening, _now())
            standing = self._store.standing(code)
        cost = due.claim.cost(due.author.kind, NO_LIMIT if standing is None else standing.limit)
        if standing is None:
            return not cost.units
        entry = self._entry(code, due, cost, held=held)
        refuse_another(standing.speaks_of, entry.speaks_of)
        if not cost.units:
            return True
        known = self._store.stored(code, due.request.key)
        if known is None:
            return self._store.charge(entry)
        _refuse_again(known, entry.request, held=entry.held)
        return True

    def _entry(self, code: bytes, due: Due, cost: Amount, *, held: bool) -> Entry:
        speaks_of = self._speaks_of(due.claim, due.author.kind)
        return Entry(
            account=code,
            key=due.request.key,
            request=self._asked(due.request, cost, speaks_of, held=held),
            amount=cost,
            held=held,
            guarantee=json.dumps(due.claim.spoken(due.author.kind)),
            speaks_of=speaks_of,
            outcome=None,
            at=_now(),
        )

    def _asked(self, request: Request, cost: Amount, speaks_of: str, *, held: bool) -> bytes:
        # Under one key there is one request, at one cost: a larger one must not pass for it.
        parts = (request.content, str(cost.units), str(cost.delta), speaks_of, str(held))
        return bytes.fromhex(self._key.code("request", *parts))

    def _speaks_of(self, claim: Claim, kind: Kind) -> str:
        """What a claim speaks of; the lines of a run all speak of the same."""
        told, last = (claim.about, claim.costs, kind), self._last
        if last is None or last[0] is not claim.guarantee or last[1] != told:
            last = self._last = claim.guarantee, told, claim.speaks_of(self._key, kind)
        return last[2]

    def _code(self, name: AccountName) -> bytes:
        return bytes.fromhex(self._key.code("account", name.kind.value, name.id))


def _refuse_again(known: Stored, asked: bytes, *, held: bool) -> None:
    """Refuse a key that was used for something else, or for work that is done."""
    if known.request != asked:
        raise InvalidArgument(
            "this key was used for another request; every request has a key of its own"
        )
    if held and not known.held:
        raise InvalidArgument(
            "the work under this key is settled, so it cannot go on; what is drawn now is a "
            "new release, with a key of its own"
        )


def _missing(account: Account, cost: Amount, what: str = "this release costs") -> str:
    left = account.left
    parts = [f"{what} {cost.level:g} and {left.level:g} is left"]
    if cost.delta > left.delta:
        parts.append(f"its delta is {cost.probability:.3g} and {left.probability:.3g} is left")
    return (
        f"the budget does not allow it: {'; '.join(parts)}. Nothing was released or charged; ask "
        "for less, or stop here"
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
