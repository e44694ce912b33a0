"""Randomized response on codes: rows by enumeration, the inequality for every pair, and twins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Context, Decimal
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms import binary as module
from sfumato.mechanisms.binary import Binary
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

Rows = NDArray[np.float64]

LEVELS = pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])


@pytest.fixture(scope="module")
def random_space() -> Space:
    """60 words in 4 dimensions, one of them at the origin, where every projection is 0."""
    vectors = np.random.default_rng(17).normal(size=(60, 4)).astype(np.float32)
    vectors[7] = 0.0
    return Space("random", [f"w{number}" for number in range(60)], vectors)


def hamming(binary: Binary) -> Rows:
    """In how many bits the codes of any two points differ, the unknown one included."""
    codes = binary.codes
    return np.asarray((codes[:, None, :] != codes[None, :, :]).sum(axis=2), dtype=np.float64)


def worst_excess(rows: Rows, allowed: Rows) -> float:
    """Largest amount, in nats, by which any pair of inputs exceeds what is allowed for it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rows)
        ratio = logs[:, None, :] - logs[None, :, :]
    # 0/0 says nothing; something over 0 is an infinite excess and stays one.
    ratio = np.where(np.isnan(ratio), -np.inf, ratio)
    return float((ratio - allowed[:, :, None]).max())


def test_a_code_is_the_signs_of_a_public_projection_and_the_sign_of_zero_is_plus(
    random_space: Space,
) -> None:
    binary = Binary(space=random_space, epsilon=1, bits=9, projection_seed=3)
    projection = np.random.default_rng(3).standard_normal((4, 9))
    assert binary.codes.shape == (61, 9)
    for point, code in enumerate(binary.codes):
        place = random_space.at(np.array([point]))[0]
        assert code.tolist() == [bool(place @ axis >= 0) for axis in projection.T]
    assert binary.codes[7].all()
    other = replace(binary, projection_seed=4)
    assert (other.codes != binary.codes).any()


def test_codes_do_not_depend_on_blocks(
    random_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Binary(space=random_space, epsilon=1, bits=9)
    noisy = np.random.default_rng(1).random((300, 9)) < 0.5
    expected, codes = whole.nearest(noisy), whole.codes
    monkeypatch.setattr(module, "CODES", 7)
    parts = Binary(space=random_space, epsilon=1, bits=9)
    assert (parts.codes == codes).all()
    assert (parts.nearest(noisy) == expected).all()


@pytest.mark.parametrize("bits", [1, 3, 9, 70])
def test_the_nearest_code_is_that_of_a_plain_loop_with_ties_in_public_order(
    random_space: Space, bits: int
) -> None:
    binary = Binary(space=random_space, epsilon=1, bits=bits)
    noisy = np.random.default_rng(1).random((200, bits)) < 0.5
    for code, found in zip(noisy, binary.nearest(noisy), strict=True):
        differing = [int((code != other).sum()) for other in binary.codes[:-1]]
        assert found == differing.index(min(differing))


@LEVELS
@pytest.mark.parametrize("bits", [1, 4, 8])
def test_enumerated_rows_are_sums_over_all_noisy_codes(
    small_space: Space, epsilon: float, bits: int
) -> None:
    binary = Binary(space=small_space, epsilon=epsilon, bits=bits)
    naive = np.zeros((13, 12))
    flipped = 1 / (1 + math.exp(epsilon))
    for noisy in product([False, True], repeat=bits):
        word = binary.nearest(np.array([noisy]))[0]
        for point, code in enumerate(binary.codes.tolist()):
            same = [one == two for one, two in zip(code, noisy, strict=True)]
            naive[point, word] += math.prod(1 - flipped if kept else flipped for kept in same)
    rows = binary.enumerated_rows()
    assert rows == pytest.approx(naive, rel=1e-10)
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12


@LEVELS
@pytest.mark.parametrize("bits", [1, 5, 10])
def test_no_pair_of_words_exceeds_the_claim(random_space: Space, epsilon: float, bits: int) -> None:
    binary = Binary(space=random_space, epsilon=epsilon, bits=bits)
    assert worst_excess(binary.enumerated_rows(), epsilon * hamming(binary)) <= 1e-9


@LEVELS
def test_twin_that_flips_for_twice_the_level_is_caught(random_space: Space, epsilon: float) -> None:
    honest = Binary(space=random_space, epsilon=epsilon, bits=8)
    louder = replace(honest, epsilon=2 * epsilon)
    assert worst_excess(louder.enumerated_rows(), epsilon * hamming(honest)) > 1e-3


def test_twin_that_breaks_ties_for_the_input_is_caught(random_space: Space) -> None:
    # Words with one code must have one row; a tie that goes to the input tells them apart.
    binary = Binary(space=random_space, epsilon=1.0, bits=3)
    rows = binary.enumerated_rows()
    for point in range(len(random_space)):
        leader = binary.nearest(binary.codes[[point]])[0]
        rows[point, [leader, point]] = rows[point, [point, leader]]
    assert worst_excess(rows, hamming(binary)) == math.inf


def test_the_claim_is_tight(random_space: Space) -> None:
    # With one bit and an output for either value, the ratio is e^ε exactly.
    binary = Binary(space=random_space, epsilon=2.0, bits=1)
    assert worst_excess(binary.enumerated_rows(), 1.999 * hamming(binary)) > 1e-4


def test_words_with_one_code_have_one_row(random_space: Space) -> None:
    binary = Binary(space=random_space, epsilon=1.0, bits=3)
    rows, same = binary.enumerated_rows(), hamming(binary) == 0
    assert same.sum() > len(same)
    for one, two in zip(*np.nonzero(same), strict=True):
        assert (rows[one] == rows[two]).all()


def test_the_mechanism_flips_bits_and_takes_the_nearest_code(small_space: Space) -> None:
    points = np.tile(np.arange(13), 30)
    binary = Binary(space=small_space, epsilon=1.5, bits=6)
    outputs = binary.privatize(points, Randomness.reproducible(8))
    draws = Randomness.reproducible(8).uniform(390 * 6).reshape(390, 6)
    noisy = binary.codes[points] != (draws < 1 / (1 + math.exp(1.5)))
    assert (outputs == binary.nearest(noisy)).all()


def test_inputs_and_codes_are_not_changed(small_space: Space) -> None:
    binary = Binary(space=small_space, epsilon=0.1, bits=6)
    points, codes = np.arange(13), binary.codes.copy()
    binary.privatize(points, Randomness.secure())
    assert (points == np.arange(13)).all()
    assert (binary.codes == codes).all()


def test_the_guarantee_is_metric_dp_in_the_number_of_bits(small_space: Space) -> None:
    binary = Binary(space=small_space, epsilon=3, bits=20, projection_seed=2)
    assert isinstance(binary, PointMechanism)
    guarantee = binary.guarantee()
    assert guarantee.notion is Notion.METRIC_DP
    assert guarantee.epsilon == 3.0
    assert "out of 20" in guarantee.metric
    assert "projection 2 " in guarantee.metric
    assert guarantee.then(replace(binary, epsilon=1).guarantee()).epsilon == 4.0


def test_rows_of_many_bits_are_refused(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="bits=11 must be at most 10"):
        Binary(space=small_space, epsilon=1, bits=11).enumerated_rows()


@pytest.mark.parametrize("bits", [0, -3, 1.5, "many", None, True])
def test_a_number_of_bits_below_one_is_refused(small_space: Space, bits: int) -> None:
    with pytest.raises(InvalidArgument, match="bits="):
        Binary(space=small_space, epsilon=1, bits=bits)


def test_the_allowed_range_is_named(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="bits=0 must be at least 1"):
        Binary(space=small_space, epsilon=1, bits=0)
    with pytest.raises(InvalidArgument, match="projection_seed=-1 must be at least 0"):
        Binary(space=small_space, epsilon=1, projection_seed=-1)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "much", None])
def test_a_level_that_is_no_positive_number_is_refused(small_space: Space, epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon="):
        Binary(space=small_space, epsilon=epsilon)


def test_settings_are_read_from_the_command_line(small_space: Space) -> None:
    settings = {"bits": "12", "projection_seed": "9"}
    built = build_mechanism("binary", space=small_space, epsilon=1.0, settings=settings)
    assert isinstance(built, Binary)
    assert (built.bits, built.projection_seed) == (12, 9)


# --- the law of the draws themselves ----------------------------------------------------------

DRAWS = 2**53  # a uniform number is one of so many, each as likely as any other
PRECISE = Context(prec=80, Emin=-(10**9), Emax=10**9)
levels = st.floats(min_value=1e-12, max_value=1e300) | st.floats(min_value=30, max_value=800)


class Grid(Randomness):
    """A stream that gives chosen numbers of the grid, in their order."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(1)
        self.numbers = numbers

    def uniform(self, count: int) -> NDArray[np.float64]:
        return np.resize(np.array(self.numbers, dtype=np.float64) / DRAWS, count)


def keeps_its_claim(flips: int, epsilon: float) -> bool:
    """Whether so many flips among all draws keep both ratios of one bit within e^ε."""
    bound = PRECISE.exp(min(Decimal(epsilon), Decimal(1000)))
    flipped, kept = Decimal(flips), Decimal(DRAWS - flips)
    return kept <= PRECISE.multiply(bound, flipped) and flipped <= PRECISE.multiply(bound, kept)


@given(levels)
@example(36.7)
@example(37.0)
@example(745.2)
@example(1e3)
@example(1e300)
@example(1e-12)
def test_the_draws_themselves_keep_the_claim_at_every_level(epsilon: float) -> None:
    space = Space("two", ["a", "b"], np.array([[1.0], [-1.0]], dtype=np.float32))
    binary = Binary(space=space, epsilon=epsilon, bits=1)
    flips = int(binary.flip_chance * DRAWS)
    assert flips == binary.flip_chance * DRAWS
    assert keeps_its_claim(flips, epsilon)
    # Not far from the level either: no more than a step of the grid, and the rounding of e^ε.
    assert flips <= DRAWS / (1 + math.exp(min(epsilon, 700.0))) * (1 + 1e-14) + 1
    # And this is what happens: of two neighboring draws the one flips and the other does not.
    outputs = binary.privatize(np.zeros(2, dtype=np.intp), Grid(flips - 1, flips))
    assert outputs.tolist() == [1, 0]


def nearest(epsilon: float) -> int:
    return round(DRAWS / (1 + math.exp(min(epsilon, 700.0))))


def vanishing(epsilon: float) -> int:
    """Without rounding up, e^−ε is nothing at all beyond 745."""
    odds = math.exp(-epsilon)
    return math.ceil(odds / (1 + odds) * DRAWS)


@pytest.mark.parametrize(
    ("twin", "epsilon"),
    [(nearest, 40.0), (vanishing, 1e3), (lambda epsilon: nearest(epsilon) // 2, 5.0)],
)
def test_twins_that_flip_too_rarely_are_caught(
    twin: Callable[[float], int], epsilon: float
) -> None:
    assert not keeps_its_claim(twin(epsilon), epsilon)


def test_at_a_very_high_level_each_word_becomes_the_first_of_its_code(small_space: Space) -> None:
    binary = Binary(space=small_space, epsilon=1e3)
    outputs = binary.privatize(np.arange(12), Randomness.secure())
    assert (binary.codes[outputs] == binary.codes[:12]).all()
