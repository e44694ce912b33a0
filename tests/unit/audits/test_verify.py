"""Which methods are used for which mechanism, and how the budget is shared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.audits.candidates import color_space
from sfumato.audits.verify import Effort, refute
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.rows import EVERY_WORD, distances
from sfumato.mechanisms.truncated import Truncated
from sfumato.vectors.space import Space
from unit.audits.subjects import RowTwin, Twin, answers

QUICK = Effort(draws=400)


def source() -> Randomness:
    return Randomness.reproducible(1)


def test_rows_are_checked_exactly_and_all_else_is_sampled(small_space: Space) -> None:
    exact = refute(Exponential(space=small_space, epsilon=1.0), effort=QUICK)
    assert [finding.method for finding in exact.findings] == ["exact"]
    assert exact.findings[0].draws == 0
    sampled = refute(Laplace(space=small_space, epsilon=1.0), effort=QUICK, randomness=source())
    assert [finding.method for finding in sampled.findings] == ["sampled"]
    assert sampled.findings[0].draws == 400
    assert sampled.findings[0].where == "small"


def test_rows_do_not_speak_for_draws_of_another_method(small_space: Space) -> None:
    honest = Exponential(space=small_space, epsilon=1.0)

    class KeepsTheWord(Exponential):
        """Rows as they should be, and draws that are the original."""

        def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
            del randomness
            return np.minimum(points, len(self.space) - 1)

    verdict = refute(KeepsTheWord(space=small_space, epsilon=1.0), randomness=source())
    assert [finding.method for finding in verdict.findings] == ["exact", "sampled"]
    assert [finding.refuted for finding in verdict.findings] == [False, True]
    assert not refute(honest).refuted


def test_rows_do_not_speak_for_draws_from_parts_made_in_another_way() -> None:
    class Louder(Exponential):
        """Rows as they should be, while draws come from parts that are three times as steep."""

        def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
            return Exponential(space=self.space, epsilon=self.epsilon).log_rows(points)

        def away(self, points: NDArray[np.intp], words: slice = EVERY_WORD) -> NDArray[np.float64]:
            return 3 * distances(self.space, points, words)

    verdict = refute(Louder(space=color_space(2.0), epsilon=2.0), randomness=source())
    assert [finding.method for finding in verdict.findings] == ["exact", "sampled"]
    assert [finding.refuted for finding in verdict.findings] == [False, True]
    # Its sums over far words are its own; so its draws are looked at, and found in order.
    truncated = refute(Truncated(space=color_space(2.0), epsilon=2.0), randomness=source())
    assert [finding.method for finding in truncated.findings] == ["exact", "sampled"]


@pytest.mark.parametrize("seed", [0, None])
def test_noise_that_can_be_made_again_is_no_noise(seed: int | None) -> None:
    class Replayed(Laplace):
        """Laplace noise as it should be, always the same where there is a seed."""

        def noise(self, count: int, randomness: Randomness) -> NDArray[np.float64]:
            if seed is not None:
                randomness = Randomness.reproducible(seed)
            return super().noise(count, randomness)

    mechanism = Replayed(space=color_space(2.0), epsilon=2.0)
    verdict = refute(mechanism, effort=QUICK, randomness=source())
    assert verdict.refuted == (seed is not None)
    assert ("come in the very same order" in verdict.sentence()) == (seed is not None)


def test_a_mechanism_that_is_not_held_to_its_own_numbers_but_to_its_sentence() -> None:
    class Evasive(Laplace):
        """Half the noise, and bounds that make nothing of it."""

        def noise(self, count: int, randomness: Randomness) -> NDArray[np.float64]:
            return super().noise(count, randomness) / 2

        def loss_bounds(self, point: int) -> NDArray[np.float64]:
            return np.where(np.arange(len(self.space) + 1) == point, 0.0, np.inf)

        def covered_outputs(self) -> NDArray[np.bool_]:
            return np.zeros(len(self.space), dtype=np.bool_)

    assert refute(Evasive(space=color_space(2.0), epsilon=2.0), randomness=source()).refuted


def test_rows_that_are_not_known_at_this_level_are_not_asked_for(small_space: Space) -> None:
    class Sometimes(Exponential):
        def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
            if self.epsilon > 1:
                raise InvalidArgument("no rows above 1")
            return super().log_rows(points)

        def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
            return Laplace(space=self.space, epsilon=self.epsilon).privatize(points, randomness)

    for epsilon, methods in ((1.0, ["exact", "sampled"]), (2.0, ["sampled"])):
        mechanism = Sometimes(space=small_space, epsilon=epsilon)
        verdict = refute(mechanism, effort=QUICK, randomness=source())
        assert [finding.method for finding in verdict.findings] == methods


def test_the_budget_is_shared_among_sampled_rounds_only(small_space: Space) -> None:
    laplace = Laplace(space=small_space, epsilon=1.0)
    verdict = refute(
        laplace,
        replace(laplace, epsilon=2.0),
        Exponential(space=small_space, epsilon=1.0),
        confidence=0.9,
        effort=QUICK,
        randomness=source(),
    )
    assert verdict.confidence == 0.9
    assert [finding.confidence for finding in verdict.findings] == [0.95, 0.95, 1.0]


def test_one_space_that_refutes_is_enough(small_space: Space) -> None:
    honest = Exponential(space=small_space, epsilon=1.0)
    twin = RowTwin(honest, replace(honest, epsilon=4.0))
    assert refute(honest, twin, effort=QUICK, randomness=source()).refuted
    assert not refute(honest, honest, effort=QUICK).refuted


def test_all_pairs_of_a_small_space_and_some_of_a_large_one(random_space: Space) -> None:
    every = refute(Exponential(space=random_space, epsilon=1.0))
    assert every.pairs == 201 * 200 // 2
    some = refute(Exponential(space=random_space, epsilon=1.0), effort=Effort(pairs=100))
    assert 100 <= some.pairs < 300
    assert some.findings[0].inputs >= 15


def test_pairs_that_draws_cannot_test_are_said_so(small_space: Space) -> None:
    steep = Laplace(space=small_space, epsilon=1000.0)
    verdict = refute(steep, effort=QUICK, randomness=source())
    assert not verdict.refuted
    assert verdict.pairs == 0
    assert "sampling cannot test it here" in verdict.findings[0].note
    assert "no pair that could be tested" in verdict.sentence()


def test_pairs_and_draws_are_as_asked_for() -> None:
    laplace = Laplace(space=color_space(1.0), epsilon=1.0)
    effort = Effort(pairs=9, draws=300)
    verdict = refute(laplace, effort=effort, randomness=source())
    assert verdict.pairs == 9
    assert verdict.findings[0].draws == 300


def test_any_subject_can_be_verified_not_only_words() -> None:
    verdict = refute(answers(epsilon=1.0, truth=3.0), randomness=source())
    assert verdict.refuted
    assert verdict.claim == "at most exp(1)"


def test_the_same_seed_gives_the_same_verdict_and_no_seed_is_secure() -> None:
    twin = Twin(
        Laplace(space=color_space(1.0), epsilon=1.0), Laplace(space=color_space(1.0), epsilon=2.0)
    )
    effort = Effort(pairs=20, draws=1000)
    one, again = (refute(twin, effort=effort, randomness=source()) for _ in range(2))
    assert one == again
    fresh = [refute(twin, effort=effort) for _ in range(2)]
    assert fresh[0] != fresh[1]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 2.0])
def test_a_confidence_that_is_none_is_refused(small_space: Space, confidence: float) -> None:
    with pytest.raises(InvalidArgument, match="confidence="):
        refute(Laplace(space=small_space, epsilon=1.0), confidence=confidence)


@pytest.mark.parametrize("values", [{"pairs": 0}, {"draws": 10}, {"draws": 1.5}])
def test_an_effort_that_is_none_is_refused(values: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        Effort(**values)
