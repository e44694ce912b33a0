"""The numbers behind a guarantee are the distance it names."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, metric_dp, no_guarantee
from sfumato.mechanisms.binary import Binary
from sfumato.mechanisms.claims import covered_outputs, euclidean, loss_bounds
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mahalanobis import Mahalanobis, shape_matrix
from sfumato.mechanisms.projected import Projected
from sfumato.mechanisms.truncated import Truncated
from sfumato.vectors.space import Space


class Stated:
    """A mechanism that states what it is told to and does nothing."""

    def __init__(self, space: Space, guarantee: Guarantee) -> None:
        self.space = space
        self._guarantee = guarantee

    def guarantee(self) -> Guarantee:
        return self._guarantee

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        del randomness
        return points


def places(space: Space) -> NDArray[np.float64]:
    return space.at(np.arange(len(space) + 1))


def test_the_euclidean_bound_includes_the_unknown_point(small_space: Space) -> None:
    everywhere = places(small_space)
    for point in range(len(small_space) + 1):
        naive = [2.0 * math.dist(everywhere[point], other) for other in everywhere]
        bounds = loss_bounds(Laplace(space=small_space, epsilon=2.0), point)
        assert bounds == pytest.approx(naive, abs=1e-12)


def test_each_distance_of_its_own_is_the_one_in_the_definition(random_space: Space) -> None:
    everywhere = places(random_space)
    steps = everywhere - everywhere[3]
    shaped = Mahalanobis(space=random_space, epsilon=2.0, lambda_=0.7)
    inverse = np.linalg.inv(shape_matrix(random_space, 0.7))
    norms = np.sqrt(np.einsum("nd,de,ne->n", steps, inverse, steps))
    assert loss_bounds(shaped, 3) == pytest.approx(2.0 * norms, rel=1e-9)
    projected = Projected(space=random_space, epsilon=2.0, dimensions=2)
    norms = np.linalg.norm(steps @ projected.projection.T, axis=1)
    assert loss_bounds(projected, 3) == pytest.approx(2.0 * norms, rel=1e-9)
    truncated = Truncated(space=random_space, epsilon=2.0, gamma=1.5)
    cut = np.minimum(euclidean(random_space, 3), 1.5)
    assert loss_bounds(truncated, 3) == pytest.approx(2.0 * cut)
    binary = Binary(space=random_space, epsilon=2.0, bits=9)
    differing = [(binary.codes[3] != code).sum() for code in binary.codes]
    assert loss_bounds(binary, 3) == pytest.approx(2.0 * np.array(differing))


def test_without_a_distance_the_level_is_the_bound_for_every_pair(small_space: Space) -> None:
    local = Guarantee(notion=Notion.PURE_DP, unit="word", neighbors="any two words", epsilon=1.5)
    bounds = loss_bounds(Stated(small_space, local), 4)
    assert bounds[4] == 0
    assert (np.delete(bounds, 4) == 1.5).all()


def test_where_nothing_is_proven_nothing_is_claimed(small_space: Space) -> None:
    bounds = loss_bounds(Stated(small_space, no_guarantee(unit="word")), 4)
    assert bounds[4] == 0
    assert np.isinf(np.delete(bounds, 4)).all()


def test_an_unknown_distance_must_be_given_in_numbers(small_space: Space) -> None:
    odd = metric_dp(epsilon=1.0, metric="taste")
    with pytest.raises(InvalidArgument, match="loss_bounds"):
        loss_bounds(Stated(small_space, odd), 0)


def test_all_outputs_are_covered_unless_a_mechanism_says_otherwise(small_space: Space) -> None:
    assert covered_outputs(Laplace(space=small_space, epsilon=1.0)).all()


class Evasive(Stated):
    """A mechanism whose numbers say less than its sentence."""

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        bounds = np.full(len(self.space) + 1, np.inf)
        bounds[: point + 1] = 0.0
        return bounds

    def covered_outputs(self) -> NDArray[np.bool_]:
        return np.zeros(len(self.space), dtype=np.bool_)


def test_numbers_are_held_to_a_sentence_that_needs_none(small_space: Space) -> None:
    plain = metric_dp(epsilon=2.0, metric=small_space.metric)
    bounds = loss_bounds(Evasive(small_space, plain), 3)
    assert (bounds[:4] == 0).all(), "numbers may say more"
    assert bounds[4:] == pytest.approx(2.0 * euclidean(small_space, 3)[4:])
    assert covered_outputs(Evasive(small_space, plain)).all()


def test_a_sentence_about_some_pairs_leaves_the_rest_to_the_numbers(small_space: Space) -> None:
    for other in (
        replace(metric_dp(epsilon=2.0, metric=small_space.metric), neighbors="two capitals"),
        metric_dp(epsilon=2.0, metric="taste"),
        Guarantee(notion=Notion.PURE_DP, unit="word", neighbors="two capitals", epsilon=2.0),
    ):
        assert np.isinf(loss_bounds(Evasive(small_space, other), 3)[4:]).all()
        assert not covered_outputs(Evasive(small_space, other)).any()


class Mumbling(Stated):
    """Numbers that are none, or too few of them."""

    said: object = ()

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        del point
        return self.said  # type: ignore[return-value]  # that is what must be noticed


@pytest.mark.parametrize("said", [(1.0, 2.0), [math.nan] * 13, ["one"] * 13, None])
def test_bounds_that_cannot_be_read_do_not_pass_for_a_claim(
    small_space: Space, said: object
) -> None:
    mechanism = Mumbling(small_space, metric_dp(epsilon=2.0, metric="taste"))
    mechanism.said = said
    with pytest.raises(InvalidArgument, match="must give 13 numbers"):
        loss_bounds(mechanism, 3)
