"""Charging every author for their own lines, before a line leaves.

Guarantee
    No line of an author leaves here softened unless their account has paid for all that was
    replaced in it, at the moment it leaves and for good: whoever ends the process at any time finds
    no output that is not paid for. What no longer fits is masked, which costs nothing, or withheld;
    it is never passed on as it was. What an account then states about its author is in
    ``accounting.budget.authors``.

Why it holds
    A line is drawn in memory; its charge is on disk before the line is written. A run over files
    holds what it charges until the part that the lines belong to is on disk, and settles it then.
    So a run that was killed may draw a part again that nobody has seen, under the same charge, and
    a part that was finished once cannot be drawn again: its charges are settled. The charge of a
    line is kept under the code of its run and its place, with a code of its text, of the settings
    and of the output file, so that it pays for no other line.

    A mask is a function of what counts as public anyway: the type of a place where types show, and
    the same for every word where they do not. Nothing is drawn for it.

What does not hold
    That a line is masked shows that its author's budget did not suffice for it, and so how much had
    been privatized of them by then, in other outputs that are charged to the same account too.
    An author under two names has two accounts. A line that names no author has nobody to pay for
    it: it is masked or withheld, and counted.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sfumato.accounting.budget.accounts import LONGEST_NAME, NO_LIMIT, AccountName, Kind, Limit
from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.payment import refuse_seed
from sfumato.accounting.budget.shared import Budget, Due, Request
from sfumato.core.errors import InvalidArgument
from sfumato.files.chunks import Chunk, TextChunk
from sfumato.files.layout import Layout
from sfumato.mechanisms.selective import Privatized
from sfumato.policies.policy import Policy
from sfumato.releases.columns import Columns, looking
from sfumato.releases.drawn import Drawn
from sfumato.releases.payment import WITHHOLD, Payment, claim_of
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.sidefile import RECORD
from sfumato.text.document import Document
from sfumato.text.edits import Edited

PAID, MASKED, WITHHELD, NOBODY = "paid", "masked", "withheld", "without_author"
MASKED_LEAK = (
    "which lines are masked because the budget of their author did not suffice, and so how much "
    "had been privatized of that author by then, here and in other outputs charged to the account"
)
WITHHELD_LEAK = (
    "that lines are missing because the budget of their author did not suffice, and so how much "
    "had been privatized of that author by then, here and in other outputs charged to the account"
)
# So many authors are remembered whose account speaks of the same thing as this run.
_REMEMBERED = 100_000


@contextmanager
def till_for(
    payment: Payment | None,
    privatizer: Privatizer,
    layout: Layout,
    work: Mapping[str, object],
    run: str | None = None,
) -> Iterator[Till | None]:
    """Where the authors of a job pay, if they do; ``run`` is its code if it can be resumed."""
    if payment is None or payment.author_field is None:
        yield None
        return
    refuse_seed(privatizer.randomness)
    claim = _claim(privatizer, layout)
    claim.cost(Kind.AUTHOR, NO_LIMIT)  # whether it can be charged is said before the first line
    content = json.dumps(work, sort_keys=True, default=str)
    with Budget.at(payment.budget, payment.key) as budget:
        yield Till(
            payment=payment,
            budget=budget,
            claim=claim,
            work=content,
            run=run or secrets.token_hex(16),
            policy=looking(privatizer.selective),
            resumable=run is not None,
        )


def _claim(privatizer: Privatizer, layout: Layout) -> Claim:
    """What every line proves; a record with several texts is one document."""
    proven = privatizer.guarantee()
    if len(layout.fields) > 1 or layout.means_many:
        proven = proven.of_documents(RECORD)
    return claim_of(proven).replacing(())


@dataclass(kw_only=True)
class Till:
    """Takes what lines cost from the accounts of their authors."""

    payment: Payment
    budget: Budget = field(repr=False)
    claim: Claim = field(repr=False)
    work: str = field(repr=False)
    run: str
    policy: Policy = field(repr=False)
    resumable: bool = False
    _known: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        limit = self.payment.author_limit
        self._opening = None if limit is None else Limit.of("level", limit)

    def pay(self, drawn: Drawn) -> Drawn:
        """The same chunk, with what is not paid for masked, or withheld."""
        documents = drawn.chunk.documents()
        records = list(_records(documents, drawn.results, drawn.chunk.texts_per_record()))
        dues = {
            place: Due(author, self._priced(record), self._request(drawn.index, place, record))
            for place, record in enumerate(records)
            if (author := _account(record.author)) is not None and not self._free(author, record)
        }
        granted = self.budget.pay(list(dues.values()), self._opening, held=self.resumable)
        refused = {place for place, paid in zip(dues, granted, strict=True) if not paid}
        nobody = {place for place, one in enumerate(records) if _account(one.author) is None}
        self._remember(due.author.id for due in dues.values())
        counts = Counter(
            {
                PAID: len(records) - len(refused) - len(nobody),
                WITHHELD if self._withholds else MASKED: len(refused) + len(nobody),
                NOBODY: len(nobody),
            }
        )
        unpaid = refused | nobody
        drawn = replace(drawn, by_payment=+counts)
        if not unpaid:
            return drawn
        return (
            self._withheld(drawn, records, unpaid)
            if self._withholds
            else _masked(drawn, records, unpaid)
        )

    def settle(self, index: int, chunk: Chunk) -> None:
        """The part that came of a chunk is on disk: what was held for it is spent."""
        together = chunk.texts_per_record()
        authors = _first_authors(chunk.documents(), together)
        self.budget.settle_all(
            [
                (account, self._key(index, place))
                for place, author in enumerate(authors)
                if (account := _account(author)) is not None
            ]
        )

    def told(self, counts: Mapping[str, int]) -> dict[str, object]:
        """What a side file says about payment: the rule, and how many records came out how."""
        names = (PAID, WITHHELD if self._withholds else MASKED, NOBODY)
        return {
            "account": Kind.AUTHOR.value,
            "author_limit": self.payment.author_limit,
            "when_spent": self.payment.when_spent,
            "records": {name: counts.get(name, 0) for name in names},
        }

    @property
    def leak(self) -> str:
        """What the rule for spent budgets shows."""
        return WITHHELD_LEAK if self._withholds else MASKED_LEAK

    @property
    def _withholds(self) -> bool:
        return self.payment.when_spent == WITHHOLD

    def _priced(self, record: _Record) -> Claim:
        return self.claim.replacing([record.drawn])

    def _free(self, author: AccountName, record: _Record) -> bool:
        """Whether nothing has to be asked: the line costs nothing, and the account is known."""
        return (
            author.id in self._known and not self._priced(record).cost(Kind.AUTHOR, NO_LIMIT).units
        )

    def _remember(self, authors: Iterator[str]) -> None:
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._known.update(authors)

    def _key(self, index: int, place: int) -> str:
        return f"{self.run}-{index}-{place}"

    def _request(self, index: int, place: int, record: _Record) -> Request:
        # Kept as a code under the key: another text under this key is another request.
        content = json.dumps([self.work, *(one.text for one in record.documents)])
        return Request(self._key(index, place), content)

    def _withheld(self, drawn: Drawn, records: Sequence[_Record], unpaid: set[int]) -> Drawn:
        chunk = drawn.chunk
        if not isinstance(chunk, TextChunk):
            raise InvalidArgument(
                "rows of this format cannot be left out one by one: `when_spent='mask'` masks them"
            )
        left = chunk.without(unpaid)
        results = [
            one for place, record in enumerate(records) if place not in unpaid
            for one in record.results
        ]  # fmt: skip
        # Of cells that do not come out nothing is counted.
        columns = Columns.of(left.left(), left.dropped(), self.policy)
        return replace(drawn, chunk=left, results=results, columns=columns)


@dataclass(frozen=True, repr=False)
class _Record:
    """The texts of one record, and what was drawn for them."""

    documents: Sequence[Document]
    results: Sequence[Privatized]

    @property
    def author(self) -> str | None:
        return self.documents[0].author

    @property
    def drawn(self) -> tuple[int, ...]:
        return tuple(
            sum(counts) for counts in zip(*(one.drawn for one in self.results), strict=True)
        )


def _records(
    documents: Sequence[Document], results: Sequence[Privatized], together: Sequence[int]
) -> Iterator[_Record]:
    start = 0
    for count in together:
        yield _Record(documents[start : start + count], results[start : start + count])
        start += count


def _first_authors(documents: Sequence[Document], together: Sequence[int]) -> Iterator[str | None]:
    start = 0
    for count in together:
        yield documents[start].author
        start += count


def _account(author: str | None) -> AccountName | None:
    """The account of an author; nobody's, where a line does not say who that is."""
    if author is None or not author.strip() or len(author) > LONGEST_NAME:
        return None
    return AccountName(Kind.AUTHOR, author)


def _masked(drawn: Drawn, records: Sequence[_Record], unpaid: set[int]) -> Drawn:
    results = [
        replace(one, edited=Edited.of(document.text, one.masks), uncovered=0)
        if place in unpaid
        else one
        for place, record in enumerate(records)
        for document, one in zip(record.documents, record.results, strict=True)
    ]
    return replace(drawn, results=results)
