"""Counting that does not grow and does not tell."""

from __future__ import annotations

from statistics import median_low

from hypothesis import given
from hypothesis import strategies as st

from sfumato.mechanisms.selective import Privatized
from sfumato.releases.tally import Tally
from sfumato.text.edits import Edit, Edited


def of(counts: list[int]) -> Tally:
    """Documents with so many selected words, two of them replaced at a time."""
    edit = Edit(0, 0, "")
    return Tally.of(Privatized(Edited("", (edit,) * (count // 2)), 100, count) for count in counts)


@given(st.lists(st.integers(0, 50)), st.lists(st.integers(0, 50)))
def test_counts_are_those_of_the_documents(first: list[int], second: list[int]) -> None:
    tally = of(first)
    tally.add(of(second))
    both = first + second
    assert tally.documents == len(both)
    assert tally.selected == sum(both)
    assert tally.places == sum(count // 2 for count in both)
    assert tally.largest == max(both, default=0)
    assert tally.median == (median_low(both) if both else 0)
    assert Tally.from_dict(tally.as_dict()).as_dict() == tally.as_dict()
