"""Many lines at once, of many authors: all in one transaction, and in one order for everybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from budget_claims import metric
from forked import granted, in_a_child
from sfumato.accounting.budget import Amount, Budget, Limit
from sfumato.accounting.budget.accounts import AccountName, Kind
from sfumato.accounting.budget.shared import Due, Request
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument

LIMIT = Limit.of("level", 3.0)


def due(author: str, key: str, words: int = 1, content: str = "") -> Due:
    return Due(AccountName(Kind.AUTHOR, author), metric(1.0, words=words), Request(key, content))


def test_what_fits_is_paid_for_in_the_order_it_came(budget: Budget) -> None:
    dues = [due("a", "1", 2), due("b", "2"), due("a", "3", 2), due("a", "4"), due("c", "5", 0)]
    assert budget.pay(dues, LIMIT) == [True, True, False, True, True]
    assert budget.show("author:a").spent == Amount.charged(3.0)
    assert budget.show("author:c").charges == 0  # what costs nothing is not charged
    assert budget.pay([due("a", "1", 2)]) == [True]  # paid for already
    assert budget.pay([due("nobody", "6"), due("nobody", "7", 0)]) == [False, True]


def test_held_lines_are_settled_together_and_not_paid_for_again(budget: Budget) -> None:
    budget.pay([due("a", "1"), due("b", "2")], LIMIT, held=True)
    assert budget.pay([due("a", "1")], held=True) == [True]  # the run was resumed
    with pytest.raises(InvalidArgument, match="another request"):
        budget.pay([due("a", "1", content="another text")], held=True)
    names = [(AccountName(Kind.AUTHOR, one), key) for one, key in ("a1", "b2", "b3")]
    budget.settle_all(names)
    assert budget.show("author:a").held == Amount(0)
    with pytest.raises(InvalidArgument, match="settled"):
        budget.pay([due("a", "1")], held=True)


def test_one_line_that_cannot_be_added_up_undoes_all_of_them(budget: Budget) -> None:
    budget.pay([due("b", "1")], LIMIT)
    other = Due(AccountName(Kind.AUTHOR, "b"), metric(1.0, about=("d2",)), Request("2"))
    with pytest.raises(IncomparableGuarantees):
        budget.pay([due("a", "3"), other], LIMIT)
    assert len(budget.accounts()) == 1


def test_processes_that_meet_at_the_same_authors_neither_wait_for_ever_nor_overspend(
    budget: Budget, place: str, key_file: Path
) -> None:
    authors = "abcd"

    def pay(process: int) -> int:
        order = authors if process % 2 else authors[::-1]
        with Budget.at(place, key_file) as mine:
            return sum(
                sum(mine.pay([due(one, f"{process}-{number}-{one}") for one in order], LIMIT))
                for number in range(3)
            )

    children = [in_a_child(lambda n=one: pay(n)) for one in range(6)]  # type: ignore[misc]
    assert granted(children) == 3 * len(authors)
    assert all(one.left == Amount(0) for one in budget.accounts().values())
