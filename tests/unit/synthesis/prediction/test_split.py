"""A record is read for one text, whatever it says, and nobody moves when it is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.synthesis.prediction.plan import PredictionPlan
from sfumato.synthesis.prediction.split import Group, split_places

UNITS = 400
LABELS = [int(one) for one in np.random.default_rng(1).integers(0, 2, UNITS)]


def plan_of(labels: str, *, classes: int = 2, shots: int = 1) -> PredictionPlan:
    return PredictionPlan(
        units=UNITS,
        epsilon=20,
        delta=1e-4,
        prompts=40,
        labels=labels,
        classes=classes,
        shots=shots,
        tokens=4,
    )


def split(plan: PredictionPlan, labels: Sequence[int]) -> list[Group]:
    return split_places(plan, labels, [250.0, 150.0], Randomness.reproducible(3))


def read_for(groups: Sequence[Group], labels: Sequence[int]) -> Counter[int]:
    """For how many texts each place is read."""
    return Counter(
        place
        for group in groups
        for prompt in group.prompts
        for place in prompt
        if labels[place] in group.labels
    )


@pytest.mark.parametrize("labels", ["equal", "noised", "public"])
def test_a_record_is_read_for_one_text(labels: str) -> None:
    plan = plan_of(labels)
    groups = split(plan, LABELS)
    assert set(read_for(groups, LABELS).values()) == {1}
    texts = Counter(label for group in groups for label in group.labels)
    wanted = {"equal": (5, 5), "noised": (6, 4)}.get(labels)
    assert wanted is None or (texts[0], texts[1]) == wanted
    if labels == "public":
        by_label = Counter(LABELS)
        assert all(texts[one] <= by_label[one] // 40 for one in (0, 1))


@pytest.mark.parametrize("labels", ["equal", "noised"])
def test_groups_do_not_depend_on_labels_that_are_private(labels: str) -> None:
    plan = plan_of(labels)
    assert split(plan, LABELS) == split(plan, [0] * UNITS)


def test_twin_groups_by_true_labels_depend_on_them() -> None:
    plan = plan_of("public")
    assert split(plan, LABELS) != split(plan, LABELS[::-1])


def test_the_order_is_drawn_and_prompts_of_several_records_are_disjoint() -> None:
    plan = plan_of("equal", classes=0, shots=2)
    groups = split_places(plan, [0] * UNITS, [], Randomness.reproducible(1))
    assert [len(one.prompts) for one in groups] == [40] * 5
    places = [place for group in groups for prompt in group.prompts for place in prompt]
    assert sorted(places) == list(range(UNITS))
    assert places != sorted(places)
    other = split_places(plan, [0] * UNITS, [], Randomness.reproducible(2))
    assert other != groups


def test_labels_with_too_few_records_are_refused() -> None:
    plan = PredictionPlan(units=60, epsilon=20, prompts=40, labels="public", classes=2, tokens=4)
    with pytest.raises(InvalidArgument, match="no label has the 40 records"):
        split_places(plan, [0, 1] * 30, [], Randomness.reproducible(1))
