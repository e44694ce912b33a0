"""Guarantees: what they refuse, how they add up, and that they survive being written down."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.guarantees.guarantee import (
    SEED_LEAK,
    SEED_TOO,
    Guarantee,
    Notion,
    metric_dp,
    no_guarantee,
)

SPACE = object()  # stands for the space and policy that a statement is about
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
lists = st.lists(texts, max_size=3, unique=True).map(tuple)
levels = st.floats(min_value=1e-12, max_value=1e12) | st.just(math.inf)
guarantees = st.builds(
    Guarantee,
    # Independence has one level only, and a guarantee by type has parts: test_parts.py.
    notion=st.sampled_from(sorted(set(Notion) - {Notion.INDEPENDENT, Notion.BY_TYPE})),
    unit=texts,
    neighbors=texts,
    epsilon=levels,
    delta=st.floats(min_value=0, max_value=1),
    metric=texts,
    scope=texts,
    leaks=lists,
    uncovered=lists,
    for_release=st.booleans(),
    about=st.just((SPACE,)),
)


def example(**changes: object) -> Guarantee:
    return dataclasses.replace(metric_dp(epsilon=2.0, metric="distance", about=(SPACE,)), **changes)  # type: ignore[arg-type]


@given(guarantees)
def test_a_guarantee_comes_back_from_json_as_it_was(guarantee: Guarantee) -> None:
    written = json.dumps(guarantee.as_dict(), allow_nan=False)
    assert Guarantee.from_dict(json.loads(written)) == guarantee


def test_a_guarantee_of_an_older_file_is_read() -> None:
    now = example(notion=Notion.UTILITY_OPTIMIZED_METRIC_LDP)
    written = now.as_dict() | {"notion": "utility-optimised metric local differential privacy"}
    written["neighbours"] = written.pop("neighbors")
    assert Guarantee.from_dict(written) == now
    assert "neighbors" in now.as_dict()
    with pytest.raises(InvalidArgument, match="not a guarantee"):
        Guarantee.from_dict(written | {"notion": "utility-optimised differential privacy"})


@pytest.mark.parametrize("epsilon", [None, "8", "much", True, [8.0]])
def test_a_level_that_is_no_number_is_not_read(epsilon: object) -> None:
    with pytest.raises(InvalidArgument, match="epsilon"):
        Guarantee.from_dict(example().as_dict() | {"epsilon": epsilon})


@pytest.mark.parametrize("content", [[], [1], "text", 3, None])
def test_what_has_no_keys_is_no_guarantee(content: Any) -> None:
    with pytest.raises(InvalidArgument, match="not a guarantee"):
        Guarantee.from_dict(content)


def test_a_key_that_is_not_part_of_a_guarantee_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="color"):
        Guarantee.from_dict(example().as_dict() | {"color": "red"})


@pytest.mark.parametrize("epsilon", [0, -1, -math.inf, math.nan, "much"])
def test_a_level_that_promises_nonsense_is_refused(epsilon: object) -> None:
    with pytest.raises((InvalidArgument, TypeError)):
        example(epsilon=epsilon)


@pytest.mark.parametrize("delta", [-0.1, 1.1, math.nan])
def test_a_delta_that_is_no_probability_is_refused(delta: float) -> None:
    with pytest.raises(InvalidArgument, match="delta="):
        example(delta=delta)


def test_a_guarantee_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        example().epsilon = 0.1  # type: ignore[misc]


@given(guarantees, levels, st.floats(min_value=0, max_value=1), lists, lists)
def test_releases_of_the_same_data_add_up(
    first: Guarantee,
    epsilon: float,
    delta: float,
    leaks: tuple[str, ...],
    uncovered: tuple[str, ...],
) -> None:
    second = dataclasses.replace(
        first, epsilon=epsilon, delta=delta, leaks=leaks, uncovered=uncovered
    )
    both = first.then(second)
    assert both.epsilon == first.epsilon + epsilon
    assert both.delta == min(1.0, first.delta + delta)
    assert set(both.leaks) == {*first.leaks, *leaks}
    assert set(both.uncovered) == {*first.uncovered, *uncovered}
    assert second.then(first).epsilon == both.epsilon


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("notion", Notion.PURE_DP),
        ("unit", "document"),
        ("neighbors", "texts"),
        ("metric", "another distance"),
        ("scope", "every number"),
    ],
)
def test_statements_about_different_things_do_not_add_up(field: str, value: object) -> None:
    with pytest.raises(IncomparableGuarantees, match=field):
        example().then(example(**{field: value}))


@pytest.mark.parametrize("about", [(), ("another space",)])
def test_the_same_names_are_not_enough(about: tuple[object, ...]) -> None:
    """Two patterns are both called "regex", and two files of vectors may have one name."""
    with pytest.raises(IncomparableGuarantees, match="cannot be told"):
        example().then(example(about=about))
    written = Guarantee.from_dict(example().as_dict())
    with pytest.raises(IncomparableGuarantees, match="cannot be told"):
        written.then(written)


def test_groups_of_the_same_name_are_not_enough() -> None:
    """A level inside groups names no distance, and still speaks of certain vectors."""
    groups = example(notion=Notion.LDP_WITHIN_GROUPS, metric="")
    assert groups.then(groups).epsilon == 4.0
    written = Guarantee.from_dict(groups.as_dict())
    with pytest.raises(IncomparableGuarantees, match="cannot be told"):
        written.then(written)


@given(guarantees, guarantees)
def test_no_two_notions_ever_add_up(first: Guarantee, second: Guarantee) -> None:
    assume(first.notion != second.notion)
    with pytest.raises(IncomparableGuarantees):
        first.then(second)


def test_what_is_for_release_stays_so_only_with_its_like() -> None:
    stamped = example().reproducible()
    assert example().then(example()).for_release
    assert not example().then(stamped).for_release
    assert not stamped.then(example()).for_release


@given(guarantees)
def test_a_seed_stamps_a_guarantee_once(guarantee: Guarantee) -> None:
    stamped = guarantee.reproducible()
    assert not stamped.for_release
    # What was not for release before does not become so by making it again without a seed.
    leak = SEED_LEAK if guarantee.for_release else SEED_TOO
    assert stamped.leaks.count(leak) == 1
    assert (SEED_LEAK in stamped.leaks) == guarantee.for_release
    assert stamped.reproducible() == stamped
    assert "not for release" in stamped.sentence()


@given(guarantees, lists, lists)
def test_leaks_and_gaps_are_only_ever_added(
    guarantee: Guarantee, leaks: tuple[str, ...], gaps: tuple[str, ...]
) -> None:
    more = guarantee.leaking(*leaks).not_covering(*gaps)
    assert set(more.leaks) == {*guarantee.leaks, *leaks}
    assert set(more.uncovered) == {*guarantee.uncovered, *gaps}
    assert more.leaking(*leaks).not_covering(*gaps) == more
    assert (more.epsilon, more.notion) == (guarantee.epsilon, guarantee.notion)


def test_the_baseline_claims_nothing() -> None:
    nothing = no_guarantee(unit="word")
    assert nothing.notion is Notion.NONE
    assert nothing.epsilon == math.inf
    assert nothing.as_dict()["epsilon"] == "inf"
