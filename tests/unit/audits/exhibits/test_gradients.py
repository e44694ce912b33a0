"""The exhibits about noisy gradients draw from the laws they name, and their levels are what they
say. Tolerances are at least eight standard errors wide.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.audits.exhibits import gradients
from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import VectorSubject
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.vmf import mean_cosine

COUNT = 20_000


def made(exhibit: Exhibit, *, repaired: bool = False) -> VectorSubject:
    subject = exhibit.repaired() if repaired else exhibit.broken()
    assert isinstance(subject, VectorSubject)
    return subject


def drawn(subject: VectorSubject, number: int) -> np.ndarray[tuple[int, int]]:
    return np.asarray(subject.draw(number, COUNT, Randomness.reproducible(3)))


def test_directions_have_length_one_and_the_mean_cosine_of_their_law() -> None:
    signs = np.repeat([1.0, -1.0, 0.0], COUNT)
    outputs = gradients.draw_directions(signs, 5, 3.0, Randomness.reproducible(1))
    assert np.linalg.norm(outputs, axis=1) == pytest.approx(1.0)
    means = outputs.reshape(3, COUNT, 5).mean(axis=1)
    expected = np.outer([1.0, -1.0, 0.0], np.eye(5)[0]) * mean_cosine(5, 3.0)
    assert means == pytest.approx(expected, abs=0.03)


def test_a_kept_kappa_has_less_noise_in_few_dimensions_than_its_repair() -> None:
    claimed = 2 * gradients.KEPT_KAPPA**2 / gradients.ATTACKED
    kept = gradients.KEPT_KAPPA / math.sqrt(gradients.TIMES)
    # The repair has the divergences of the claim; what was kept has many times more.
    assert 2 * kept**2 / gradients.TRAINED == pytest.approx(claimed)
    cosines = [
        drawn(made(gradients.KAPPA_ACROSS_DIMENSIONS, repaired=repaired), 0)[:, 0].mean()
        for repaired in (False, True)
    ]
    expected = [mean_cosine(gradients.TRAINED, kappa) for kappa in (gradients.KEPT_KAPPA, kept)]
    assert cosines == pytest.approx(expected, abs=0.04)


def test_a_sample_shows_its_size_and_fixed_places_do_not() -> None:
    broken = made(gradients.POISSON_DIRECTIONS)
    for number in (0, 1):
        empty = (drawn(broken, number) == 0.0).all(axis=1).mean()
        absent = (1 - gradients.RATE) ** (gradients.OTHERS + number)
        assert empty == pytest.approx(absent, abs=0.03)
    repaired = made(gradients.POISSON_DIRECTIONS, repaired=True)
    squares = [(drawn(repaired, number) ** 2).sum(axis=1).mean() for number in (0, 1)]
    # Places are three either way; cosines among records add little at this concentration.
    cosine = mean_cosine(gradients.SAMPLED_DIMENSION, gradients.SAMPLED_KAPPA) ** 2
    assert squares == pytest.approx([3 + 2 * cosine, 3 + 6 * cosine], abs=0.06)
    assert broken.epsilon < repaired.epsilon


def test_epochs_are_seen_one_beside_the_other_with_draws_of_their_own() -> None:
    outputs = drawn(made(gradients.ONE_EPOCH_FOR_ALL), 1)
    assert outputs.shape == (COUNT, gradients.CIRCLE * gradients.EPOCHS)
    along = outputs[:, :: gradients.CIRCLE]
    assert along.mean(axis=0) == pytest.approx(
        -mean_cosine(gradients.CIRCLE, gradients.EPOCHS_KAPPA), abs=0.05
    )
    between = np.corrcoef(along.T)[~np.eye(gradients.EPOCHS, dtype=bool)]
    assert between == pytest.approx(0.0, abs=0.06)
    claims = [made(gradients.ONE_EPOCH_FOR_ALL, repaired=one).epsilon for one in (False, True)]
    assert claims[1] == gradients.EPOCHS * claims[0]


def test_noise_over_the_batch_is_smaller_than_what_is_claimed() -> None:
    spreads = [
        drawn(made(gradients.NOISE_OVER_BATCH, repaired=one), 0).std() for one in (False, True)
    ]
    assert spreads == pytest.approx([gradients.NOISE / gradients.BATCH, gradients.NOISE], rel=0.05)


def test_a_record_turns_a_clipped_mean_round_and_nothing_moves_it_farther() -> None:
    means = [drawn(made(gradients.MICRO_BATCHES), number).mean() for number in (0, 1)]
    assert means == pytest.approx([1.0, -1.0], abs=0.15)
    spreads = [drawn(made(gradients.MICRO_BATCHES, repaired=one), 0).std() for one in (False, True)]
    assert spreads == pytest.approx([gradients.MICRO_NOISE, 2 * gradients.MICRO_NOISE], rel=0.05)
    # Any micro-batch, with a record and with its place left empty: 2C at most, and more than C.
    chance = np.random.default_rng(0)
    gaps = []
    for scale in (0.1, 1.0, 10.0):
        for batch in scale * chance.standard_normal((300, gradients.MICRO)):
            without = np.concatenate([[0.0], batch[1:]])
            gaps.append(abs(gradients.clipped_mean(batch) - gradients.clipped_mean(without)))
    assert 1.5 < max(gaps) <= 2.0
    # A record that is alone leaves nothing behind: only then it is C.
    alone = np.array([-50.0, *np.zeros(gradients.MICRO - 1)])
    assert gradients.clipped_mean(alone) == -1.0
    assert gradients.clipped_mean(np.zeros(gradients.MICRO)) == 0.0
