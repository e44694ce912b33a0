"""The exhibits about federations move as far as they say, and their repairs as far as the noise."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.audits.exhibits import federation
from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import VectorSubject
from sfumato.core.randomness import Randomness


def moved(exhibit: Exhibit, *, repaired: bool = False) -> float:
    """How far a client moves a round, against the noise of its due; both with the same noise."""
    subject = exhibit.repaired() if repaired else exhibit.broken()
    assert isinstance(subject, VectorSubject)
    without, beside = (subject.draw(n, 4, Randomness.reproducible(3)) for n in (0, 1))
    apart = np.linalg.norm(np.asarray(beside) - np.asarray(without), axis=1)
    return float(apart[0]) * federation.ASKED


@pytest.mark.parametrize(
    ("exhibit", "times"),
    [(federation.WEIGHTS, 19.82), (federation.MISSING, 10.0), (federation.NEXT_NORM, 1.0)],
)
def test_how_far_one_client_moves_a_round(exhibit: Exhibit, times: float) -> None:
    assert moved(exhibit) == pytest.approx(times, abs=0.01)
    assert moved(exhibit, repaired=True) == pytest.approx(1.0)


def test_what_has_no_noise_at_all() -> None:
    assert moved(federation.UNDEFINED) > 9.0
    assert moved(federation.UNDEFINED, repaired=True) == 0.0
    assert moved(federation.METRICS) > 1.0
    assert moved(federation.METRICS, repaired=True) == pytest.approx(1.0)
    assert federation.next_norm(1.0, 1.0) < 0.4
