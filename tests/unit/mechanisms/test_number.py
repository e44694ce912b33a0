"""Numbers with noise: what comes out, between which bounds, and what is claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.texts import texts
from sfumato.audits.verify import Effort, refute
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.geometric import ExactDraws
from sfumato.mechanisms.mechanism import StretchMechanism
from sfumato.mechanisms.number import Number
from sfumato.testing import check_mechanism
from sfumato.text.span import Span, Stretch

UNMOVED = 1e6  # a level at which nothing moves


def found(*written: str, language: str = "") -> list[Stretch]:
    return [Stretch(0, len(one), one, Span(0, len(one), "NUMBER"), language) for one in written]


def test_it_is_a_mechanism_for_stretches() -> None:
    assert isinstance(Number(epsilon=1), StretchMechanism)
    check_mechanism("number", settings={"epsilon": 0.5})
    check_mechanism("number", settings={"epsilon": 1e-12, "scale": "relative"})


def test_each_number_has_noise_of_its_own_in_its_form() -> None:
    drawn = Number(epsilon=0.01).replace(found(*["$5,000.25"] * 30), Randomness.reproducible(1))
    assert len(set(drawn)) > 20
    assert all(one.startswith("$") and one[-3] == "." for one in drawn)


def test_without_noise_numbers_stay_as_they_are() -> None:
    written = ["81 mg", "3.50", "1234", "0"]
    assert Number(epsilon=UNMOVED).replace(found(*written), Randomness.secure()) == written
    relative = Number(epsilon=UNMOVED, scale="relative", step=0.0001, digits=15)
    assert relative.replace(found("81 mg", "1,234"), Randomness.secure()) == ["81 mg", "1234"]


def test_numbers_are_put_between_public_bounds() -> None:
    written = ["-5", "17", "1" * 400, "99999999"]
    exact = Number(epsilon=UNMOVED, low=18, high=90)
    assert exact.replace(found(*written), Randomness.secure()) == ["18", "18", "90", "90"]
    for scale in ("absolute", "relative"):
        noisy = Number(epsilon=1e-6, scale=scale, low=18, high=90)
        drawn = noisy.replace(found(*written * 20), Randomness.secure())
        assert {int(one) for one in drawn} <= set(range(18, 91))


def test_a_form_that_no_number_between_the_bounds_fits_is_masked() -> None:
    narrow = Number(epsilon=1, low=0.2, high=0.4)
    assert narrow.replace(found("5", "0.3"), Randomness.reproducible(1))[0] == "[NUMBER]"


def test_what_cannot_be_read_becomes_its_type() -> None:
    assert Number(epsilon=1).replace(found("twenty", "10-12"), Randomness.secure()) == [
        "[NUMBER]",
        "[NUMBER]",
    ]


def test_relative_noise_grows_with_the_number_and_is_rounded_by_a_setting() -> None:
    mechanism = Number(epsilon=0.1, scale="relative", digits=2)
    drawn = mechanism.replace(found(*["1,234,567"] * 50), Randomness.reproducible(2))
    values = {int(one) for one in drawn}
    assert all(value % 10_000 == 0 for value in values)
    assert len(values) > 5
    small = mechanism.replace(found(*["3"] * 50), Randomness.reproducible(3))
    assert {int(one) for one in small} <= set(range(1, 20))


def test_the_step_is_what_the_level_is_stated_in() -> None:
    assert Number(epsilon=0.5).rate(0) == Fraction(1, 2)
    assert Number(epsilon=0.5).rate(2) == Fraction(1, 200)
    assert Number(epsilon=0.5, step=0.1).rate(1) == Fraction(1, 2)
    assert Number(epsilon=0.5, step=250).rate(0) == Fraction(1, 500)
    assert Number(epsilon=0.5, scale="relative").rate(7) == Fraction(1, 2)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("settings", [{}, {"step": 0.25}, {"scale": "relative"}])
def test_the_inequality_holds_for_all_pairs_of_a_window(
    epsilon: float, settings: dict[str, object]
) -> None:
    (points,) = Number(epsilon=epsilon, **settings).points()  # type: ignore[arg-type]
    rows = points.log_rows(np.arange(len(points.texts), dtype=np.intp))
    assert np.allclose(np.exp(rows).sum(axis=1), 1)
    for first in range(len(rows)):
        bounds = points.loss_bounds(first)
        for second in range(len(rows)):
            loss = (rows[first] - rows[second]).max()
            assert loss <= bounds[second] * (1 + 1e-9) + 1e-9


def test_the_statement_names_the_step_and_what_it_means() -> None:
    stated = Number(epsilon=0.1, step=5, low=0, high=500).guarantee()
    assert (stated.notion, stated.unit) == (Notion.METRIC_DP, "stretch")
    said = stated.sentence()
    assert "steps of 5 in the unit in which they are written" in said
    assert "within 10 steps, at most e (2.72) times likelier" in said
    assert "put between 0 and 500" in said
    relative = Number(epsilon=3, scale="relative").guarantee().sentence()
    assert "each number is 1.01 times the one before" in relative
    assert "1 step apart, at most 20.1 times likelier" in relative


@pytest.mark.parametrize(
    "settings",
    [{"epsilon": 0}, {"epsilon": "much"}, {"epsilon": 1, "step": 0}, {"epsilon": 1, "step": -1},
     {"epsilon": 1, "scale": "log"}, {"epsilon": 1, "scale": "relative", "step": 2},
     {"epsilon": 1, "low": 5, "high": 5}, {"epsilon": 1, "high": 1e16}, {"epsilon": 1, "digits": 0},
     {"epsilon": 1, "decimal": ";"}, {"epsilon": 1, "low": float("nan")}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        Number(**settings)  # type: ignore[arg-type]


@given(st.lists(texts, max_size=4), st.sampled_from(["absolute", "relative"]))
def test_it_is_total(written: list[str], scale: str) -> None:
    mechanism = Number(epsilon=0.3, scale=scale)
    assert len(mechanism.replace(found(*written), Randomness.reproducible(2))) == len(written)


# Sabotaged twins: each claims what Number claims.


@dataclass(frozen=True, kw_only=True)
class HalfTheNoise(Number):
    """Noise at twice the level."""

    def rate(self, decimals: int) -> Fraction:
        return 2 * super().rate(decimals)


@dataclass(frozen=True, kw_only=True)
class PrivateBounds(Number):
    """Bounds that depend on the number itself."""

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        value = int(stretches[0].text)
        noisy = int(super().replace(stretches, randomness)[0])
        return [str(min(max(noisy, value - 2), value + 2))]


@dataclass(frozen=True, kw_only=True)
class RoundedLikeTheOriginal(Number):
    """A number that ends in 0 comes out as one that ends in 0."""

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        noisy = int(super().replace(stretches, randomness)[0])
        return [str(round(noisy, -1) if stretches[0].text.endswith("0") else noisy)]


@dataclass(frozen=True, kw_only=True)
class NoiseBySize(Number):
    """Relative noise as a share of the number itself, as if the scale did not stretch with it."""

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        value = int(stretches[0].text)
        noise = ExactDraws(randomness).geometric(Fraction(self.epsilon))
        return [str(max(1, value + round(value * noise / 1000)))]


@pytest.mark.parametrize(
    "twin",
    [
        HalfTheNoise(epsilon=0.5),
        PrivateBounds(epsilon=0.5),
        RoundedLikeTheOriginal(epsilon=0.5, low=7),
        HalfTheNoise(epsilon=0.5, scale="relative"),
        NoiseBySize(epsilon=0.5, scale="relative"),
    ],
    ids=lambda twin: f"{type(twin).__name__}-{twin.scale}",
)
def test_a_twin_is_refuted(twin: Number) -> None:
    (points,) = twin.points()
    verdict = refute(
        points, effort=Effort(draws=1200), randomness=Randomness.reproducible(3), confidence=0.999
    )
    assert verdict.refuted
