"""Schedules: every step has its batch size and noise, and a beginning is a beginning."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.training.stages import (
    Stage,
    decreasing_noise,
    each_step,
    first_steps,
    geometric,
    growing_batches,
    scale_stages,
)

stages = st.lists(
    st.builds(
        Stage,
        steps=st.integers(1, 20),
        batch_size=st.integers(1, 50),
        noise_multiplier=st.floats(0.1, 10),
    ),
    min_size=1,
    max_size=6,
).map(tuple)


@given(stages, st.data())
def test_the_first_steps_are_the_first_steps(
    given_stages: tuple[Stage, ...], data: st.DataObject
) -> None:
    every = [(stage.batch_size, stage.noise_multiplier) for stage in each_step(given_stages)]
    steps = data.draw(st.integers(0, len(every)))
    kept = first_steps(given_stages, steps)
    assert [(stage.batch_size, stage.noise_multiplier) for stage in each_step(kept)] == every[
        :steps
    ]


@given(stages)
def test_more_steps_than_there_are_cannot_be_taken(given_stages: tuple[Stage, ...]) -> None:
    with pytest.raises(InvalidArgument, match="steps="):
        first_steps(given_stages, sum(stage.steps for stage in given_stages) + 1)


@given(st.integers(1, 500), st.integers(1, 12))
def test_a_schedule_has_all_its_steps_in_parts_of_equal_length(steps: int, count: int) -> None:
    sizes = list(range(8, 8 + count))
    if steps < count:
        with pytest.raises(InvalidArgument, match="steps="):
            growing_batches(steps=steps, sizes=sizes, noise_multiplier=1.0)
        return
    made = growing_batches(steps=steps, sizes=sizes, noise_multiplier=1.0)
    lengths = [stage.steps for stage in made]
    assert sum(lengths) == steps
    assert max(lengths) - min(lengths) <= 1
    assert [stage.batch_size for stage in made] == sizes


def test_noise_may_decrease() -> None:
    made = decreasing_noise(steps=9, batch_size=4, noise=geometric(2.0, 0.5, 3))
    assert [stage.noise_multiplier for stage in made] == [2.0, 1.0, 0.5]


@given(stages, st.floats(1e-3, 1e3))
def test_scaling_never_gives_less_noise_than_asked_for(
    given_stages: tuple[Stage, ...], factor: float
) -> None:
    for before, after in zip(given_stages, scale_stages(given_stages, factor), strict=True):
        wanted = before.noise_multiplier * factor
        assert wanted * (1 - 1e-15) <= after.noise_multiplier <= wanted * (1 + 1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"batch_size": 0},
        {"noise_multiplier": -0.1},
        {"noise_multiplier": math.nan},
        {"noise_multiplier": 1e-31},
        {"noise_multiplier": 1e31},
        {"steps": 1.5},
    ],
    ids=str,
)
def test_impossible_stages_are_refused(wrong: dict[str, float]) -> None:
    settings = {"steps": 5, "batch_size": 2, "noise_multiplier": 1.0, **wrong}
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        Stage(**settings)  # type: ignore[arg-type]


def test_a_schedule_without_stages_is_none() -> None:
    with pytest.raises(InvalidArgument, match="number of stages"):
        growing_batches(steps=5, sizes=[], noise_multiplier=1.0)
