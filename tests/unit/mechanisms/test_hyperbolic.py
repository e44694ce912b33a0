"""Hyperbolic noise: exact for every pair in its row form, its statement in either form."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from pairs import all_points, all_rows, worst_excess
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.claims import loss_bounds
from sfumato.mechanisms.hyperbolic import Hyperbolic, HyperbolicRows, tanh_of_length
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import RowMechanism
from sfumato.vectors.space import Space

LEVELS = pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])


def row_form(space: Space, epsilon: float, scale: float | None = None) -> HyperbolicRows:
    mechanism = Hyperbolic(space=space, epsilon=epsilon, scale=scale, form="rows")
    assert isinstance(mechanism, HyperbolicRows)
    return mechanism


@LEVELS
@pytest.mark.parametrize("scale", [None, 0.05, 1.0, 2.4])
def test_no_pair_of_words_exceeds_the_claim(
    random_space: Space, epsilon: float, scale: float | None
) -> None:
    rows = row_form(random_space, epsilon, scale)
    logs = all_rows(rows)
    assert np.abs(np.exp(logs).sum(axis=1) - 1).max() <= 1e-12
    assert worst_excess(logs, rows) <= 1e-9


@LEVELS
def test_twin_with_four_times_the_epsilon_is_caught(random_space: Space, epsilon: float) -> None:
    honest = row_form(random_space, epsilon)
    assert worst_excess(all_rows(replace(honest, epsilon=4 * epsilon)), honest) > 1e-6


def test_twin_with_the_euclidean_distance_is_caught(random_space: Space) -> None:
    # Far out the map stretches, so two words may be nearer in the claim than in the twin; at a
    # small scale every pair is.
    honest = row_form(random_space, 1.0, 0.01)
    flat = build_mechanism("exponential", space=random_space, epsilon=1.0)
    assert isinstance(flat, RowMechanism)
    assert worst_excess(all_rows(flat), honest) > 1e-3


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_rows_are_the_definition_written_out(small_space: Space, epsilon: float) -> None:
    rows = row_form(small_space, epsilon, 0.7)
    for point in all_points(small_space).tolist():
        away = rows.ball.distances_from(point)[:-1]
        weights = [math.exp(-epsilon * d / 2) for d in away]
        assert rows.row(point) == pytest.approx(np.array(weights) / math.fsum(weights), rel=1e-10)


def test_the_level_decides_the_form(small_space: Space) -> None:
    low, high = (
        build_mechanism("hyperbolic", space=small_space, epsilon=level) for level in (2.0, 2.5)
    )
    assert isinstance(low, RowMechanism)
    assert not isinstance(high, RowMechanism)
    forced = Hyperbolic(space=small_space, epsilon=100.0, form="rows")
    assert isinstance(forced, RowMechanism)
    for mechanism in (low, high, forced):
        assert isinstance(mechanism, PointMechanism)
        assert isinstance(mechanism, Hyperbolic)
        copy = pickle.loads(pickle.dumps(mechanism))
        assert type(copy) is type(mechanism)
        assert copy.form == mechanism.form
        assert loss_bounds(mechanism, 0)[0] == 0


def test_on_a_line_there_is_noise_at_every_level() -> None:
    line = Space("line", ["a", "b", "c"], np.array([[0.0], [1.0], [5.0]], dtype=np.float32))
    assert Hyperbolic(space=line, epsilon=0.01).form == "noise"


def test_a_copy_with_another_level_keeps_its_form_or_is_refused(small_space: Space) -> None:
    rows = replace(Hyperbolic(space=small_space, epsilon=1.0), epsilon=50.0)
    assert isinstance(rows, HyperbolicRows)
    with pytest.raises(InvalidArgument, match="epsilon=1 must be greater than 2"):
        replace(Hyperbolic(space=small_space, epsilon=50.0), epsilon=1.0)


def test_both_forms_claim_the_same_distance_and_say_which_they_are(small_space: Space) -> None:
    noise = Hyperbolic(space=small_space, epsilon=5.0, scale=0.3)
    rows = Hyperbolic(space=small_space, epsilon=5.0, scale=0.3, form="rows")
    for mechanism in (noise, rows):
        guarantee = mechanism.guarantee()
        assert guarantee.notion is Notion.METRIC_DP
        assert guarantee.epsilon == 5.0
        assert "hyperbolic distance" in guarantee.metric
        assert "scale 0.3" in guarantee.metric
        assert "times the Euclidean distance" in guarantee.metric
        for point in all_points(small_space).tolist():
            bounds = 5.0 * mechanism.ball.distances_from(point)
            assert loss_bounds(mechanism, point) == pytest.approx(bounds)
    assert "drawn by noise" in noise.guarantee().sentence()
    assert "drawn from exact rows" in rows.guarantee().sentence()


@LEVELS
def test_the_euclidean_level_covers_every_pair(random_space: Space, epsilon: float) -> None:
    rows = row_form(random_space, epsilon)
    places = random_space.at(all_points(random_space))
    for point in all_points(random_space).tolist():
        flat = np.linalg.norm(places - places[point], axis=1)
        allowed = rows.euclidean_epsilon * flat * (1 + 1e-9) + 1e-9
        assert (loss_bounds(rows, point) <= allowed).all()


def test_noise_beyond_the_numbers_of_a_computer_still_gives_a_word(small_space: Space) -> None:
    just_above = Hyperbolic(space=small_space, epsilon=float(np.nextafter(2.0, 3.0)))
    points = np.tile(all_points(small_space), 50)
    with np.errstate(all="raise", under="ignore"):
        outputs = just_above.privatize(points, Randomness.reproducible(1))
    assert ((outputs >= 0) & (outputs < len(small_space))).all()
    assert len(np.unique(outputs)) > 3
    assert (tanh_of_length(3, just_above.epsilon, 100, Randomness.secure()) == 1.0).any()


def test_at_a_very_high_level_words_stay(small_space: Space) -> None:
    points = all_points(small_space)[:-1]
    for form in ("noise", "rows"):
        mechanism = Hyperbolic(space=small_space, epsilon=1e7, form=form)
        assert (mechanism.privatize(points, Randomness.secure()) == points).all()


def test_settings_are_read_from_the_command_line(small_space: Space) -> None:
    settings = {"form": "rows", "scale": "0.25"}
    built = build_mechanism("hyperbolic", space=small_space, epsilon=9.0, settings=settings)
    assert isinstance(built, HyperbolicRows)
    assert built.ball.scale == 0.25


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"epsilon": 2.0, "form": "noise"}, r"epsilon=2 must be greater than 2.*form='rows'"),
        ({"epsilon": 5.0, "form": "curved"}, "form"),
        ({"epsilon": 5.0, "scale": 0.0}, "scale=0"),
        ({"epsilon": 5.0, "scale": 1e6}, "at most"),
        ({"epsilon": 5.0, "scale": "wide"}, "scale='wide' must be a number"),
        ({"epsilon": -1.0}, "epsilon=-1"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": "much"}, "epsilon='much'"),
    ],
)
def test_bad_settings_are_refused(
    small_space: Space, settings: dict[str, float], problem: str
) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        Hyperbolic(space=small_space, **settings)  # type: ignore[arg-type]


def test_rows_without_rows_are_refused(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="has no rows"):
        HyperbolicRows(space=small_space, epsilon=9.0, form="noise")
