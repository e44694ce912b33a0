"""Rows of a batch and the records they belong to."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.training.clipping.slots import Records


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_sums_and_values_follow_the_owners(owners: list[int]) -> None:
    owner, rows = torch.tensor(owners), torch.arange(1.0, len(owners) + 1)[:, None]
    records = Records.of(owner, len(owners))
    names = sorted(set(owners))
    expected = [sum(i + 1 for i, one in enumerate(owners) if one == name) for name in names]
    assert records.count == len(names)
    assert records.sum(rows)[:, 0].tolist() == expected
    values = torch.arange(float(len(names)))
    assert records.per_row(values).tolist() == [names.index(one) for one in owners]
    assert records.indices(rows).tolist() == [names.index(one) for one in owners]
    groups = [group.tolist() for group in records.groups()]
    assert groups == [[i for i, one in enumerate(owners) if one == name] for name in names]


def test_without_owners_every_row_is_a_record() -> None:
    assert Records.of(None, 3).each_row
    assert Records.of(torch.tensor([2, 5, 9]), 3).each_row
    assert not Records.of(torch.tensor([2, 9, 5]), 3).each_row


@pytest.mark.parametrize("owner", [torch.zeros(2), torch.zeros(3), torch.zeros(3, 1).long()])
def test_owners_must_be_one_number_per_row(owner: torch.Tensor) -> None:
    with pytest.raises(InvalidArgument, match="one whole number for each row"):
        Records.of(owner, 3)
