"""What interleaved training costs, against the figures of the paper's settings and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.core.errors import InvalidArgument
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.methods.interleaved import Interleaved, InterleavedPlan, Visits, paper_epsilon
from sfumato.training.methods.stretch_records import StretchRecords
from sfumato.training.settings import Privacy

DELTA = 8e-5


@pytest.mark.parametrize(
    ("neighbors", "state", "level"),
    [
        ("zero-out", "reset", 152.5),
        ("zero-out", "noise", 274.6),
        ("zero-out", "separate", 391.5),
        ("replacement", "reset", 505.8),
        ("replacement", "noise", 950.0),
        ("replacement", "separate", 1384.0),
    ],
)
def test_what_the_settings_of_the_paper_prove(neighbors: str, state: str, level: float) -> None:
    """σ = 0.5, 50 epochs, one private stretch a record; 4.91 is what the paper prints."""
    visits = Visits(epochs=50, stretches=1, state=state, neighbors=neighbors)
    assert visits.epsilon(0.5, delta=DELTA) == pytest.approx(level, abs=0.1)


@pytest.mark.parametrize(("state", "noise"), [("reset", 5.8), ("noise", 8.2), ("separate", 10.0)])
def test_the_noise_that_proves_what_the_paper_prints(state: str, noise: float) -> None:
    visits = Visits(epochs=50, stretches=1, state=state)
    found = visits.noise_for(4.91, delta=DELTA)
    assert found == pytest.approx(noise, abs=0.05)
    assert visits.epsilon(found, delta=DELTA) <= 4.91
    assert visits.epsilon(0.999 * found, delta=DELTA) > 4.91


# A record with private stretches in steps 1, 2 and 4 of each of two epochs, written out: what is
# released in each step that moves with it, by how many clipping norms, under which noise.
BY_HAND = [
    ("epoch 1, step 1, gradient", 1.0, 3.0),
    ("epoch 1, step 1, state", 1.0, 3.0),
    ("epoch 1, step 2, gradient", 1.0, 3.0),
    ("epoch 1, step 2, state", 1.0, 3.0),
    ("epoch 1, step 4, gradient", 1.0, 3.0),
    ("epoch 1, step 4, state", 1.0, 3.0),
    ("epoch 2, step 1, gradient", 1.0, 3.0),
    ("epoch 2, step 1, state", 1.0, 3.0),
    ("epoch 2, step 2, gradient", 1.0, 3.0),
    ("epoch 2, step 2, state", 1.0, 3.0),
    ("epoch 2, step 4, gradient", 1.0, 3.0),
    ("epoch 2, step 4, state", 1.0, 3.0),
]


def composed(schedule: list[tuple[str, float, float]], delta: float) -> float:
    """Release by release, as distributions of the privacy loss: no formula for Gaussians."""
    whole = privacy_loss_distribution.identity(1e-4)
    for _, move, noise in schedule:
        whole = whole.compose(
            privacy_loss_distribution.from_gaussian_mechanism(
                noise, sensitivity=move, value_discretization_interval=1e-4
            )
        )
    return float(whole.get_epsilon_for_delta(delta))


def test_a_schedule_written_out_by_hand() -> None:
    visits = Visits(epochs=2, stretches=3, state="noise")
    assert visits.releases == len(BY_HAND)
    proven = visits.epsilon(3.0, delta=1e-5)
    assert proven == pytest.approx(composed(BY_HAND, 1e-5), abs=2e-3)
    # A twin that leaves the states out says too little.
    gradients = [one for one in BY_HAND if one[0].endswith("gradient")]
    assert composed(gradients, 1e-5) < proven - 0.5
    reset = Visits(epochs=2, stretches=3, state="reset")
    assert reset.epsilon(3.0, delta=1e-5) == pytest.approx(composed(gradients, 1e-5), abs=2e-3)


def test_nothing_is_spent_before_the_first_step_and_everything_without_noise() -> None:
    assert Visits(epochs=0, stretches=3).epsilon(1.0, delta=1e-5) == 0.0
    assert Visits(epochs=1, stretches=3).epsilon(0.0, delta=1e-5) == math.inf
    assert Visits(epochs=1, stretches=3).noise_for(math.inf, delta=1e-5) == 0.0


def test_the_paper_counts_on_secret_batches() -> None:
    """σ = 2, q = 0.05, 100 steps: what is claimed, and what is true once the batches are known."""
    claimed = paper_epsilon(noise_multiplier=2.0, rate=0.05, updates=100, delta=1e-5)
    assert claimed == pytest.approx(1.22, abs=0.01)
    # Whoever knows the batches knows how often a record was used, and loses that much with it.
    uses = stats.binom(100, 0.05)

    def delta(epsilon: float) -> float:
        return sum(
            float(uses.pmf(count)) * gaussian_delta(math.sqrt(count) / 2.0, epsilon)
            for count in range(1, 60)
        )

    assert delta(6.56) > 1e-5 > delta(6.58)
    assert paper_epsilon(noise_multiplier=0.0, rate=0.1, updates=1, delta=1e-5) == math.inf


def records(stretches: list[int]) -> StretchRecords:
    """Documents with so many private stretches, of one token each."""
    cuts, first, place = [], [0], 0
    for count in stretches:
        for number in range(count + 1):
            end = place + 1 if number == count else place + 2
            cuts.append((place, place + 1, end))
            place = end
        place += 1
        first.append(len(cuts))
    return StretchRecords(
        tokens=np.zeros(place + 1, dtype=np.uint16),
        cuts=np.array(cuts),
        first=np.array(first),
        padding=0,
    )


def test_a_plan_pays_for_the_document_with_most_stretches() -> None:
    found = records([0, 1, 4, 2, 0, 1])
    assert found.private.tolist() == [0, 1, 4, 2, 0, 1]
    privacy = Privacy(epsilon=6.0, delta=1e-3, epochs=3, batch_sizes=(2,))
    plan = InterleavedPlan.of(found, privacy, Interleaved())
    assert (plan.documents, plan.units, plan.stretches) == (6, 4, 4)
    assert plan.steps == 3 * 7
    assert 5.99 < plan.epsilon() <= 6.0
    assert plan.epsilon() == Visits(epochs=3, stretches=4).epsilon(
        plan.noise_multiplier, delta=1e-3
    )
    reset = InterleavedPlan.of(found, privacy, Interleaved(state="reset"))
    assert plan.noise_multiplier == pytest.approx(math.sqrt(2) * reset.noise_multiplier, rel=1e-4)
    # An epoch that has begun counts in full.
    assert plan.epsilon(1) == plan.epsilon(7) < plan.epsilon(8) < plan.epsilon()
    assert plan.epsilon(0) == 0.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": 2.5}, "whole number of times"),
        ({"batch_sizes": (2, 4)}, "do not change"),
        ({"noise_schedule": (2.0, 1.0)}, "do not change"),
        ({"unit": "author"}, "one document"),
        ({"accountant": "rdp"}, "closed form"),
        ({"clipping": Clipping(kind="adaptive", count_noise=1.0)}, "adaptive clipping"),
    ],
)
def test_what_is_not_accounted_for_is_refused(changes: dict[str, object], words: str) -> None:
    settings: dict[str, object] = {"epsilon": 6.0, "delta": 1e-3, "batch_sizes": (2,)}
    privacy = Privacy(**(settings | changes))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=words):
        InterleavedPlan.of(records([1, 2, 0]), privacy, Interleaved())
