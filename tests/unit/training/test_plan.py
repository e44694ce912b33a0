"""The plan: it promises no more than its own sampling and noise allow, and keeps what it solves."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.accountants import compute_spending, replacing_one
from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.plan import Plan, PrivacyCaution, quietly
from sfumato.training.sampling import Poisson, Sampling, Shuffled
from sfumato.training.stages import Stage, decreasing_noise, geometric, growing_batches

STAGE = Stage(steps=60, batch_size=50, noise_multiplier=1.0)


def plan(**changes: Any) -> Plan:
    return Plan(**{"units": 1000, "stages": (STAGE,), "accountant": "rdp", **changes})


# --- what is charged --------------------------------------------------------------------------


def test_poisson_sampling_is_charged_as_poisson_sampling() -> None:
    event = SampledGaussian(rate=0.05, noise_multiplier=1.0, count=60)
    assert plan().events() == (event,)
    assert plan().epsilon() == compute_spending([event], "rdp").epsilon(float(plan().delta))


def test_shuffled_batches_gain_nothing() -> None:
    shuffled = plan(sampling=Shuffled())
    assert shuffled.events() == (SampledGaussian(noise_multiplier=1.0, count=3),)
    assert shuffled.epsilon() > plan().epsilon()
    # Three epochs are three releases, however small the batches are.
    small = Stage(steps=300, batch_size=10, noise_multiplier=1.0)
    assert plan(sampling=Shuffled(), stages=(small,)).epsilon() == shuffled.epsilon()


def test_an_epoch_that_was_begun_is_charged_whole() -> None:
    shuffled = plan(sampling=Shuffled())
    assert shuffled.epsilon(21) == shuffled.epsilon(40)
    assert shuffled.epsilon(20) < shuffled.epsilon(21)


def test_a_batch_of_everybody_gains_nothing_from_sampling() -> None:
    full = replace(STAGE, batch_size=1000, steps=3)
    assert plan(stages=(full,)).epsilon() == plan(sampling=Shuffled()).epsilon()


def test_a_schedule_is_charged_step_by_step() -> None:
    stages = growing_batches(steps=60, sizes=[20, 50, 100], noise_multiplier=1.0)
    events = [
        SampledGaussian(rate=size / 1000, noise_multiplier=1.0, count=20) for size in (20, 50, 100)
    ]
    whole = plan(stages=stages)
    assert whole.epsilon() == pytest.approx(
        compute_spending(events, "rdp").epsilon(float(whole.delta))
    )
    assert whole.epsilon(40) == pytest.approx(
        compute_spending(events[:2], "rdp").epsilon(float(whole.delta))
    )


def test_decreasing_noise_costs_something_between_its_start_and_its_end() -> None:
    stages = decreasing_noise(steps=60, batch_size=50, noise=geometric(2.0, 0.5, 2))
    high, low = (plan(stages=(replace(STAGE, noise_multiplier=z),)) for z in (2.0, 1.0))
    assert high.epsilon() < plan(stages=stages).epsilon() < low.epsilon()


def test_after_no_step_nothing_is_spent_and_with_every_step_more() -> None:
    levels = [plan().epsilon(steps) for steps in (0, 1, 2, 10, 59, 60)]
    assert levels[0] == 0.0
    assert levels == sorted(set(levels))
    assert levels[-1] == plan().epsilon()
    with pytest.raises(InvalidArgument, match="steps=61"):
        plan().epsilon(61)


@pytest.mark.parametrize("sampling", [Poisson(), Shuffled()])
def test_an_exchanged_unit_costs_more_than_a_missing_one(sampling: Sampling) -> None:
    removed = plan(sampling=sampling)
    exchanged = plan(sampling=sampling, neighbors="replacement")
    assert exchanged.epsilon() > removed.epsilon()
    assert "exchanged" in exchanged.guarantee().neighbors


def test_an_exchange_without_sampling_counts_the_noise_half() -> None:
    exchanged = plan(sampling=Shuffled(), neighbors="replacement")
    halved = plan(sampling=Shuffled(), stages=(replace(STAGE, noise_multiplier=0.5),))
    assert exchanged.epsilon() == halved.epsilon()


def test_an_exchange_under_sampling_is_a_removal_and_an_addition() -> None:
    exchanged = plan(neighbors="replacement")
    both = replacing_one(compute_spending(plan().events(), "rdp"), float(plan().delta))
    assert exchanged.epsilon() == both
    # Half the noise under sampling is another pair of distributions: it is not what is charged.
    halved = plan(stages=(replace(STAGE, noise_multiplier=0.5),)).epsilon()
    assert exchanged.epsilon() != pytest.approx(halved, rel=0.01)


def test_no_accountant_that_claims_amplification_can_be_put_on_shuffled_batches() -> None:
    for accountant in ("pld", "rdp", "pure"):
        shuffled = plan(sampling=Shuffled(), accountant=accountant)
        assert {event.rate for event in shuffled.events()} == {1.0}
    with pytest.raises(FrozenInstanceError):
        plan().sampling = Shuffled()  # type: ignore[misc]


# --- solving ----------------------------------------------------------------------------------


@pytest.mark.parametrize("accountant", ["pld", "rdp", "pure"])
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_the_noise_found_keeps_the_level_and_hardly_less_does_not(
    accountant: str, epsilon: float
) -> None:
    solved = plan(accountant=accountant).with_epsilon(epsilon)
    assert epsilon * (1 - 1e-3) < solved.epsilon() <= epsilon
    assert float(f"{solved.noise_multiplier:.6g}") == solved.noise_multiplier
    (stage,) = solved.stages
    less = replace(stage, noise_multiplier=stage.noise_multiplier * 0.999)
    assert replace(solved, stages=(less,)).epsilon() > epsilon


@pytest.mark.parametrize(
    "changes",
    [
        {"sampling": Shuffled()},
        {"neighbors": "replacement"},
        {"unit": "author"},
        {"clipping": Clipping(kind="adaptive", count_noise=5.0)},
        {"stages": decreasing_noise(steps=60, batch_size=50, noise=geometric(2.0, 0.8, 4))},
    ],
    ids=str,
)
def test_every_kind_of_plan_can_be_solved(changes: dict[str, Any]) -> None:
    solved = plan(**changes).with_epsilon(3.0)
    assert 3.0 * (1 - 1e-3) < solved.epsilon() <= 3.0
    assert solved.unit == changes.get("unit", "example")


def test_a_schedule_keeps_its_shape() -> None:
    stages = decreasing_noise(steps=60, batch_size=50, noise=(4.0, 2.0, 1.0))
    solved = plan(stages=stages).with_epsilon(2.0)
    noise = [stage.noise_multiplier for stage in solved.stages]
    assert noise[0] / noise[1] == pytest.approx(2, rel=1e-4)
    assert noise[1] / noise[2] == pytest.approx(2, rel=1e-4)
    assert solved.noise_multiplier == noise[2]


def test_pld_needs_less_noise_than_rdp_and_rdp_less_than_pure_composition() -> None:
    noise = [
        Plan.for_epsilon(
            epsilon=4, units=2000, batch_size=100, epochs=5, accountant=name
        ).noise_multiplier
        for name in ("pld", "rdp", "pure")
    ]
    assert noise == sorted(noise)
    assert len(set(noise)) == 3


def test_for_epsilon_counts_epochs_and_takes_a_delta_below_one_in_n() -> None:
    made = Plan.for_epsilon(epsilon=3, units=1000, batch_size=64, epochs=2, accountant="rdp")
    assert made.steps == math.ceil(2000 / 64)
    assert float(made.delta) < 1000**-1.1
    assert made.sampling == Poisson()


def test_more_noise_than_there_is_cannot_be_had_and_is_told() -> None:
    with pytest.raises(InvalidArgument, match=r"epsilon=1e-09 cannot be reached"):
        plan(delta=1e-6).with_epsilon(1e-9)
    with pytest.raises(InvalidArgument, match="hardly any noise is left"):
        plan().with_epsilon(1e30)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, -math.inf, "much", None])
def test_a_level_that_is_no_positive_number_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon="):
        plan().with_epsilon(epsilon)


# --- within a budget --------------------------------------------------------------------------


def test_steps_within_a_budget_stop_before_it_is_exceeded() -> None:
    level = plan().epsilon(37)
    assert plan().steps_within(level) == 37
    assert plan().steps_within(level * (1 - 1e-9)) == 36
    assert plan().steps_within(1e-9) == 0
    assert plan().steps_within(1e9) == 60
    assert plan().steps_within(math.inf) == 60


# --- no privacy -------------------------------------------------------------------------------


def test_an_infinite_level_is_a_plan_without_noise_and_without_a_promise() -> None:
    bare = Plan.for_epsilon(epsilon=math.inf, units=1000, batch_size=50, epochs=1)
    assert (bare.noise_multiplier, bare.epsilon(), bare.private) == (0.0, math.inf, False)
    guarantee = bare.guarantee()
    assert guarantee.notion is Notion.NONE
    assert not guarantee.for_release
    assert "Nothing is proven" in guarantee.sentence()
    with pytest.raises(InvalidArgument, match="noise of 0 cannot be scaled"):
        bare.with_epsilon(3.0)


def test_one_step_without_noise_spoils_the_whole() -> None:
    stages = (STAGE, replace(STAGE, steps=1, noise_multiplier=0.0), STAGE)
    spoilt = plan(stages=stages)
    assert spoilt.epsilon(60) < math.inf
    assert spoilt.epsilon(61) == math.inf
    assert spoilt.guarantee().notion is Notion.NONE


# --- the promise ------------------------------------------------------------------------------


def test_the_guarantee_says_who_is_protected_against_what() -> None:
    guarantee = plan(unit="author").guarantee()
    assert guarantee.notion is Notion.APPROXIMATE_DP
    assert (guarantee.unit, guarantee.epsilon) == ("author", plan().epsilon())
    assert guarantee.delta == plan().delta
    sentence = guarantee.sentence()
    assert "one lacks one author of the other" in sentence
    assert "the number of authors" in sentence


def test_examples_of_one_person_are_not_covered_together() -> None:
    assert any("several examples" in gap for gap in plan().guarantee().uncovered)
    assert plan(unit="author").guarantee().uncovered == ()


def test_a_level_of_zero_is_still_a_guarantee() -> None:
    quiet = plan(stages=(replace(STAGE, noise_multiplier=1e7),), accountant="pld")
    assert quiet.epsilon() == 0.0
    assert 0 < quiet.guarantee().epsilon < 1e-9


# --- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"units": 1}, "units=1 must be at least 2"),
        ({"units": 0}, "units=0"),
        ({"units": 10.5}, "units=10.5"),
        ({"stages": ()}, "at least one stage"),
        ({"delta": 0.01}, r"delta=0\.01 is more than 1/n = 0\.001"),
        ({"delta": 0.0}, "strictly between 0 and 1"),
        ({"delta": "small"}, "'auto' or '1/n'"),
        ({"units": 40}, "batch_size=50 is more than the 40 units"),
        ({"units": 10**21}, "units must be at most"),
        ({"stages": (STAGE, replace(STAGE, steps=10**7))}, "more than can be planned for"),
    ],
    ids=str,
)
def test_impossible_plans_are_refused_with_the_reason(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        plan(**wrong)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ({"accountant": "rpd"}, "rdp"),
        ({"unit": "auther"}, "author"),
        ({"neighbors": "replace"}, "replacement"),
    ],
    ids=str,
)
def test_unknown_names_come_with_the_nearest(wrong: dict[str, Any], nearest: str) -> None:
    with pytest.raises(UnknownName, match=f"did you mean '{nearest}'"):
        plan(**wrong)


def test_one_in_n_warns_in_one_sentence_and_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = Plan.for_epsilon(
            epsilon=3, units=1000, batch_size=50, epochs=1, delta="1/n", accountant="rdp"
        )
    assert [warning.category for warning in caught] == [PrivacyCaution]
    assert (str(caught[0].message),) == made.cautions()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quietly():
            plan(delta="1/n")
        plan()


# --- JSON -------------------------------------------------------------------------------------

plans = st.builds(
    Plan,
    units=st.integers(60, 10**6),
    stages=st.lists(
        st.builds(
            Stage,
            steps=st.integers(1, 100),
            batch_size=st.just(60),
            noise_multiplier=st.just(0.0) | st.floats(1e-30, 50),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple),
    delta=st.sampled_from(["auto", 1e-9]),
    unit=st.sampled_from(["author", "example"]),
    neighbors=st.sampled_from(["add-or-remove", "replacement"]),
    sampling=st.sampled_from([Poisson(), Shuffled()]),
    clipping=st.sampled_from(
        [Clipping(norm=0.1), Clipping(kind="adaptive", count_noise=3.0, quantile=0.7)]
    ),
    accountant=st.sampled_from(["pld", "rdp", "pure"]),
)


@given(plans)
def test_a_plan_comes_back_from_json_as_it_was(made: Plan) -> None:
    assert Plan.from_dict(json.loads(json.dumps(made.as_dict()))) == made


def test_a_plan_of_an_older_file_is_read() -> None:
    written = plan().as_dict()
    written["neighbours"] = written.pop("neighbors")
    assert Plan.from_dict(written) == plan()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilon": 3}, "not part of a plan: epsilon"),
        ({"units": None}, "units=None"),
        ({"stages": [{"steps": 3}]}, "not a plan"),
        ({"clipping": 3}, "not a plan"),
        ({"sampling": "poison"}, "did you mean 'poisson'"),
    ],
    ids=str,
)
def test_what_is_no_plan_is_refused(change: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        Plan.from_dict(plan().as_dict() | change)
    missing = plan().as_dict()
    del missing["units"]
    with pytest.raises(InvalidArgument, match="not a plan"):
        Plan.from_dict(missing)


# --- batches ----------------------------------------------------------------------------------


def test_batches_carry_what_a_step_needs_and_the_planned_size() -> None:
    stages = (STAGE, Stage(steps=2, batch_size=80, noise_multiplier=0.5))
    made = plan(stages=stages)
    batches = list(made.batches(Randomness.reproducible(3), {}))
    assert [batch.step for batch in batches] == list(range(62))
    assert {(batch.size, batch.noise_multiplier) for batch in batches[:60]} == {(50, 1.0)}
    assert {(batch.size, batch.noise_multiplier) for batch in batches[60:]} == {(80, 0.5)}
    assert len({len(batch.members) for batch in batches}) > 5


def test_a_run_goes_on_with_the_step_after_the_last_one_charged() -> None:
    seeded = [list(plan().batches(Randomness.reproducible(3), {}, first=k)) for k in (0, 57)]
    assert [batch.step for batch in seeded[1]] == [57, 58, 59]
    for before, after in zip(seeded[0][57:], seeded[1], strict=True):
        assert np.array_equal(before.members, after.members)
    assert list(plan().batches(Randomness.secure(), {}, first=60)) == []
