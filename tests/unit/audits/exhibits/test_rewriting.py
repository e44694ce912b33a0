"""Exhibits of rewriting: each has the error that it shows, and the repair lacks it."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.audits.exhibits import rewriting
from sfumato.core.randomness import Randomness


def test_classic_noise_has_the_level_that_is_told() -> None:
    sigma = rewriting.classic_noise()
    assert gaussian_epsilon(1 / sigma, 1e-5) == pytest.approx(1550, rel=0.01)
    repaired = rewriting.CLASSIC_GAUSSIAN.repaired()
    assert isinstance(repaired, rewriting.NoisyNumber)
    assert repaired.sigma / sigma == pytest.approx(2.8, abs=0.05)


def test_the_bins_of_a_noisy_number_are_a_distribution() -> None:
    rows = rewriting.NoisyNumber(sigma=0.02).log_rows(np.arange(82))
    assert np.allclose(np.exp(rows).sum(axis=1), 1.0)
    assert np.isfinite(rows).all()
    # Symmetric: as far to the left of 0 as to the right of 1.
    assert rows[0, 3] == pytest.approx(rows[80, 77], rel=1e-9)


def test_differences_of_positions_are_exact_under_one_noise_vector() -> None:
    broken = rewriting.broadcast(together=True).draw(1, 50, Randomness.reproducible(1))
    assert np.ptp(broken, axis=0).max() < 1e-12
    repaired = rewriting.broadcast(together=False).draw(1, 50, Randomness.reproducible(1))
    assert np.ptp(repaired, axis=0).min() > 0.1


def test_tokens_that_are_cut_off_are_impossible_and_stop_words_stay() -> None:
    points = np.arange(41)
    assert np.isneginf(rewriting.TopTokens().log_rows(points)).any()
    for law in (rewriting.NextToken(), rewriting.Unclipped()):
        assert np.isfinite(law.log_rows(points)).all()
    kept = rewriting.MaskedWords(kept=20).log_rows(np.array([3, 30]))
    assert kept[0, 3] == 0.0
    # Another word may well become this stop word; the stop word becomes nothing else.
    assert np.isfinite(kept[1]).all()
    assert np.isneginf(np.delete(kept[0], 3)).all()
