"""Noise multipliers that a paper printed, found again.

Faustini et al. 2024, "Empirical calibration and metric differential privacy in language models",
table 7: Rényi accountant, batches of 128, sizes and epochs of its tables 5 and 6, delta = 1/n.
``scripts/published_noise.py`` prints the whole table with all differences.
"""

from __future__ import annotations

import math

import pytest

from references import gaussians
from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.training.plan import Plan, quietly

EXAMPLES, BATCH_SIZE = 5056, 128
COLA = pytest.mark.parametrize(
    ("epochs", "epsilon", "published"),
    [(30, 10, 0.747), (10, 10, 0.615), (30, 1, 3.06), (10, 1, 1.91)],
)


def noise(epochs: int, epsilon: float, **changes: str) -> float:
    with quietly():
        return Plan.for_epsilon(
            epsilon=epsilon,
            units=EXAMPLES,
            batch_size=BATCH_SIZE,
            epochs=epochs,
            delta=changes.get("delta", "1/n"),
            accountant=changes.get("accountant", "rdp"),
        ).noise_multiplier


@COLA
def test_the_noise_for_cola_is_found_again(epochs: int, epsilon: float, published: float) -> None:
    assert noise(epochs, epsilon) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize(("epochs", "published"), [(30, 0.347), (10, 0.278)])
def test_at_level_100_the_orders_that_the_library_leaves_out_explain_the_paper(
    epochs: int, published: float
) -> None:
    rate, steps = BATCH_SIZE / EXAMPLES, math.ceil(epochs * EXAMPLES / BATCH_SIZE)
    orders = [1 + x / 10 for x in range(1, 100)]
    own = steps * gaussians.divergences_by_integration(rate, published, orders)
    level = gaussians.epsilon_of_divergences(orders, own, 1 / EXAMPLES)
    assert level == pytest.approx(100, rel=0.01)
    event = SampledGaussian(rate=rate, noise_multiplier=published, count=steps)
    assert compute_spending([event], "rdp").epsilon(1 / EXAMPLES) > 120


@pytest.mark.parametrize("change", [{"accountant": "pld"}, {"delta": "auto"}], ids=str)
def test_other_accounting_would_be_noticed(change: dict[str, str]) -> None:
    assert noise(10, 10, **change) != pytest.approx(0.615, rel=0.02)
