"""Releases through the service: compute, charge together with the output, then send.

Guarantee
    An output leaves the service only after its account has paid for it. Under one
    ``Idempotency-Key`` an account pays once and gets the same output, whatever is sent how often
    and whenever the service stops.

Why it holds
    The output is made in memory. It is stored in the transaction that charges for it, and sent when
    that has been committed: a stop before the commit released and charged nothing, and a stop after
    it leaves the output to be asked for again (``accounting.budget.shared``). A key that was
    charged is looked up before anything is drawn. Outputs are kept for a day; after that the key is
    refused, for a second draw would be a second release.

Care
    What is charged is what the settings claim before the text is read, so the amount tells nothing
    of the text, but for an author, who pays for each word that was replaced: the output shows how
    many these are.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.accounting.budget.accounts import Account
from sfumato.accounting.budget.charges import Charged
from sfumato.accounting.budget.shared import Budget, Request
from sfumato.guarantees.guarantee import Guarantee
from sfumato.releases.payment import claim_of
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.sidefile import replaces_words
from sfumato.releases.tally import Tally
from sfumato.service.problems import Problem
from sfumato.service.queue import Turn
from sfumato.service.requests import AccountName
from sfumato.service.settings import Limits

_CALL = re.compile(r":? `[^`]*`")


@dataclass(frozen=True)
class Cashier:
    """What charges releases: the service's budget, if it has one."""

    budget: Budget | None
    uncharged: bool = False

    def need(self) -> Budget:
        """The budget, where one is needed."""
        if self.budget is None:
            raise Problem(
                422, "NoBudget", "this service keeps no budget, so it has no accounts to charge"
            )
        return self.budget

    def check(self, account: AccountName | None, guarantee: Guarantee) -> None:
        """Refuse a release that nobody would pay for."""
        if account is not None:
            self.need()
        elif self.budget is not None and not self.uncharged and costs(guarantee):
            raise Problem(
                422, "MissingAccount", "this service charges its releases: name an account"
            )


@dataclass(frozen=True)
class Paid:
    """A request under its key, and the account that pays for it."""

    account: AccountName
    key: str = field(repr=False)
    content: str = field(repr=False)

    @classmethod
    def of(cls, account: AccountName, key: str | None, body: bytes) -> Paid:
        """What was asked, word by word; without a key of the caller's it can be asked once."""
        content = json.dumps(json.loads(body), sort_keys=True)
        return cls(account, key or secrets.token_hex(16), content)

    def request(self, budget: Budget) -> Request:
        """As a budget takes it; callers make keys of ids, which are nobody's business there."""
        return Request(budget.coded(self.key), self.content)


def privatize(
    privatizer: Privatizer, text: str | list[str], cashier: Cashier, paid: Paid | None, turn: Turn
) -> dict[str, Any]:
    """Release one text or several together, and charge for them."""
    privatizer.check()
    stated = privatizer.guarantee()
    cashier.check(None if paid is None else paid.account, stated)
    if paid is not None:
        before = recall(cashier.need(), paid, turn)
        if before is not None:
            return before
    texts = [text] if isinstance(text, str) else text
    written = privatizer.privatize(texts)
    tally = privatizer.tally_
    content = {
        "text": written[0] if isinstance(text, str) else written,
        "counts": counts(privatizer, tally),
        "guarantee": told(privatizer.guarantee()),
    }
    return charged(content, stated, tally.drawn.elements(), cashier, paid, turn)


def charged(
    content: dict[str, Any],
    stated: Guarantee,
    replaced: Iterable[tuple[int, ...]],
    cashier: Cashier,
    paid: Paid | None,
    turn: Turn,
) -> dict[str, Any]:
    """What is sent, after its account has paid for it.

    ``replaced`` counts the places in each document, under each part of the statement.
    """
    if paid is None:
        turn.begin_charging()
        return content | {"budget": None}
    claim = claim_of(stated).replacing(replaced)
    outcome = json.dumps(content)
    budget = cashier.need()
    with turn.at_budget():
        made = budget.charge(paid.account.spelled, claim, paid.request(budget), outcome)
    return _sent(made)


def recall(budget: Budget, paid: Paid, turn: Turn) -> dict[str, Any] | None:
    """What was sent under this key before; None if nothing was."""
    with turn.at_budget():
        before = budget.recall(paid.account.spelled, paid.request(budget))
    return None if before is None else _sent(before)


def told(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee with its sentence and its three plain lines."""
    # What to do next is said in terms of Python, which is not what a caller has at hand.
    lines = [_CALL.sub("", line) for line in guarantee.summary()]
    return guarantee.as_dict() | {"sentence": guarantee.sentence(), "summary": lines}


def meter(account: Account, amount: float | None = None) -> dict[str, Any]:
    """What an account allows and what is used, and what holds at its limit."""
    shown = account.as_dict()
    return shown if amount is None else {"charged": amount} | shown


def counts(privatizer: Privatizer, tally: Tally) -> dict[str, Any]:
    """What an output shows anyway: places and their types, and words where these are replaced."""
    by_words = replaces_words(privatizer)
    shown: dict[str, Any] = {"documents": tally.documents, "replaced_places": tally.places}
    if by_words:
        return shown | {"words": tally.words, "privatized_words": tally.selected}
    return shown | {"types": dict(sorted(tally.types.items()))}


def _sent(made: Charged) -> dict[str, Any]:
    if made.outcome is None:
        raise Problem(
            410,
            "OutcomeForgotten",
            "this key was charged, and its output is no longer kept; a new key is a new release",
        )
    content: dict[str, Any] = json.loads(made.outcome)
    return content | {
        "budget": meter(made.account, made.amount.level),
        "repeated": made.repeated,
    }


def costs(guarantee: Guarantee) -> bool:
    """Whether any part of a statement has a level above 0; where nothing is proven, it has."""
    if guarantee.parts:
        return any(costs(part.guarantee) for part in guarantee.parts)
    return guarantee.epsilon > 0


def texts_of(text: str | Sequence[str], limits: Limits) -> list[str]:
    """One text or several, no more and no longer than a request may have."""
    found = [text] if isinstance(text, str) else list(text)
    if len(found) > limits.texts:
        raise Problem(413, "TooMany", f"a request may have {limits.texts:,} texts at most")
    if sum(map(len, found)) > limits.letters:
        raise Problem(413, "TooLarge", f"texts may have {limits.letters:,} letters at most")
    return found
