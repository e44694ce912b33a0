"""Arithmetic on rows: every excess is found, and rounding accuses nobody."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pairs import all_points, all_rows, worst_excess
from sfumato.audits.exact import check_rows
from sfumato.audits.verdict import Finding
from sfumato.core.errors import InvalidArgument
from sfumato.mechanisms.build import build_mechanism, word_mechanisms
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.rows import RowMechanism
from sfumato.mechanisms.sanitize_plus import SanitizePlus
from sfumato.mechanisms.truncated import Truncated
from sfumato.vectors.space import Space
from unit.audits.subjects import TWO_WORDS, Rows, RowTwin

THIRDS = (1 / 3, 2 / 3)


def checked(mechanism: RowMechanism, points: NDArray[np.intp] | None = None) -> Finding:
    chosen = all_points(mechanism.space) if points is None else points
    return check_rows(mechanism, [chosen], mechanism.space.name, lambda _: None)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 10.0, 1e3, 1e6])
def test_no_true_claim_is_refuted_at_any_level(random_space: Space, epsilon: float) -> None:
    for name in word_mechanisms():
        mechanism = build_mechanism(name, space=random_space, epsilon=epsilon)
        if isinstance(mechanism, RowMechanism):
            finding = checked(mechanism)
            assert not finding.refuted, (name, finding.witness, finding.defect)
            assert finding.pairs > 0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kind", [Exponential, Truncated])
def test_the_excess_is_that_of_all_pairs_gone_through_one_by_one(
    random_space: Space, kind: type[Exponential | Truncated], epsilon: float
) -> None:
    honest = kind(space=random_space, epsilon=epsilon)
    louder = replace(honest, epsilon=4 * epsilon)
    finding = checked(RowTwin(honest, louder))
    assert finding.refuted
    assert finding.witness is not None
    assert finding.witness.excess == pytest.approx(worst_excess(all_rows(louder), honest), rel=1e-6)
    assert finding.pairs == 201 * 200 // 2


def test_the_witness_can_be_looked_up_in_the_rows(small_space: Space) -> None:
    honest = Exponential(space=small_space, epsilon=1.0)
    louder = Exponential(space=small_space, epsilon=4.0)
    witness = checked(RowTwin(honest, louder)).witness
    assert witness is not None
    first, second = (
        small_space.point_of(name.strip("'")) for name in (witness.first, witness.second)
    )
    (output,) = (n for n, word in enumerate(small_space.words) if f"'{word}'" in witness.event)
    assert witness.likelier == pytest.approx(louder.row(first)[output])
    assert witness.unlikelier == pytest.approx(louder.row(second)[output])
    assert witness.loss == pytest.approx(math.log(witness.likelier / witness.unlikelier))
    assert witness.exact


def test_what_is_possible_for_one_input_only_is_refuted() -> None:
    finding = checked(Rows(space=TWO_WORDS, table=((0.5, 0.5), (1.0, 0.0), (0.5, 0.5)), epsilon=50))
    assert finding.refuted
    assert finding.witness is not None
    assert finding.witness.loss == math.inf
    assert finding.witness.unlikelier == 0.0


def test_a_probability_that_only_underflows_accuses_nobody() -> None:
    class Underflowing(Rows):
        """The exponential mechanism written without logarithms: e^−1000 is 0 in float64."""

        def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
            away = 800.0 * np.abs(np.arange(2) - np.array([0.0, 1.0, 0.07])[points][:, None])
            weights = np.exp(-away)
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(weights / weights.sum(axis=1, keepdims=True)))

    finding = checked(Underflowing(space=TWO_WORDS, table=(), epsilon=800.0))
    assert not finding.refuted
    assert checked(Underflowing(space=TWO_WORDS, table=(), epsilon=10.0)).refuted


def test_a_probability_that_lost_its_digits_accuses_nobody() -> None:
    class Fading(Rows):
        """Without logarithms again: between 1e−308 and 0 a number has few digits, or one."""

        def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
            places = np.append(self.space.vectors.ravel(), 0.0)
            weights = np.exp(-0.5 * np.abs(places[:-1] - places[points][:, None]))
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(weights / weights.sum(axis=1, keepdims=True)))

        def loss_bounds(self, point: int) -> NDArray[np.float64]:
            places = np.append(self.space.vectors.ravel(), 0.0)
            return np.asarray(self.epsilon * np.abs(places - places[point]))

    line = np.append(np.linspace(0, 0.05, 20), np.linspace(1400, 1500, 60)).astype(np.float32)
    space = Space("a line", [f"word{n}" for n in range(80)], line[:, None])
    assert not checked(Fading(space=space, table=(), epsilon=1.0)).refuted
    assert checked(Fading(space=space, table=(), epsilon=0.4)).refuted


@pytest.mark.parametrize("row", [(0.5, 0.6), (0.3, 0.3), (math.nan, 0.5)])
def test_a_row_that_does_not_add_up_is_a_defect(row: tuple[float, float]) -> None:
    finding = checked(Rows(space=TWO_WORDS, table=((0.5, 0.5), row, (0.5, 0.5)), epsilon=50))
    assert finding.refuted
    assert "'yes' add up to" in finding.defect


def test_a_delta_is_allowed_for_and_no_more_than_that() -> None:
    # With probability 0.01 the original is shown; otherwise a fair coin.
    table = ((0.505, 0.495), (0.495, 0.505), (0.5, 0.5))
    pure = Rows(space=TWO_WORDS, table=table, epsilon=0.001)
    assert checked(pure).refuted
    assert not checked(replace(pure, delta=0.0101)).refuted
    assert checked(replace(pure, delta=0.0085)).refuted
    witness = checked(replace(pure, delta=0.0085)).witness
    assert witness is not None
    assert witness.likelier == pytest.approx(0.505)
    assert witness.loss == pytest.approx(math.log((0.505 - 0.0085) / 0.495))


def test_a_claim_about_some_outputs_is_tested_on_those_only(random_space: Space) -> None:
    mechanism = SanitizePlus(space=random_space, epsilon=1.0)
    assert not checked(mechanism).refuted

    class Boastful(SanitizePlus):
        """The same, claiming it for outputs that show their original too."""

        def covered_outputs(self) -> NDArray[np.bool_]:
            return np.ones(len(self.space), dtype=np.bool_)

    assert checked(Boastful(space=random_space, epsilon=1.0)).refuted


def test_a_claim_in_one_direction_only_is_tested_in_that_direction() -> None:
    class OneWay(Rows):
        def loss_bounds(self, point: int) -> NDArray[np.float64]:
            bounds = np.full(3, np.inf)
            bounds[point] = 0.0
            if point == 0:
                bounds[1] = 0.2
            return bounds

    # 'yes' is told from 'no' by its output 0 at most: from 0 to 1 the largest ratio is 1.1.
    one_way = OneWay(space=TWO_WORDS, table=((0.55, 0.45), (0.5, 0.5), (0.5, 0.5)), epsilon=1.0)
    finding = checked(one_way)
    assert not finding.refuted
    assert finding.pairs == 1
    assert checked(replace(one_way, table=((0.7, 0.3), (0.5, 0.5), (0.5, 0.5)))).refuted


def test_rows_of_the_wrong_shape_are_refused() -> None:
    class Short(Rows):
        def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
            return super().log_rows(points)[:, :1]

    with pytest.raises(InvalidArgument, match=r"shape \(3, 1\).*would be \(3, 2\)"):
        checked(Short(space=TWO_WORDS, table=(THIRDS,) * 3, epsilon=1.0))


def test_only_the_points_of_a_batch_are_compared(random_space: Space) -> None:
    mechanism = Exponential(space=random_space, epsilon=1.0)
    finding = checked(mechanism, np.array([3, 7, random_space.unknown]))
    assert (finding.pairs, finding.inputs) == (3, 3)
