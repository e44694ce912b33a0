"""False claims about noisy gradients: directional noise (von Mises–Fisher) and DP-SGD.

Each function below makes one way to train, as an observer of every step sees it, in the fewest
dimensions in which draws can tell. Its docstring says what is claimed, why that is false, and what
repairs it. All levels are in closed form: a use of directional noise with concentration κ in d
dimensions has Rényi divergences of at most α·ρ, with ρ = 2κ²/d against any other record and κ²/2d
against a uniform draw (``accounting.directional`` has the proof), and these give the level
ρ + 2√(ρ·ln(1/δ)) at δ (Bun and Steinke 2016, proposition 1.3).
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import DrawVectors, VectorSubject
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.vmf import draw_cosines

FAUSTINI = "Faustini et al. 2024"
OPPOSITE = ("a record whose gradient points one way", "one whose gradient points the other way")
PRESENT = ("a data set", "the same with one more record")

# As many times more dimensions as the published attack on BERT has than the published training.
TRAINED, TIMES = 3, 182
ATTACKED = TRAINED * TIMES
KEPT_KAPPA = 6.0
KEPT_DELTA = 0.01

SAMPLED_DIMENSION = 64
SAMPLED_KAPPA = 1.0
RATE = 0.5
OTHERS = 2
ONE_DELTA = 0.002

CIRCLE = 2
EPOCHS_KAPPA = 1.0
EPOCHS = 3

BATCH = 8
NOISE = 4.0
NOISE_DELTA = 1e-3

MICRO = 4
MICRO_NOISE = 2.0

APPROXIMATE = "{} are told apart by a factor of at most exp({:.3g}), but for a share of {:g}."


def level_from_divergences(rho: float, delta: float) -> float:
    """The level at ``delta`` if every Rényi divergence of order α is at most α·rho.

    >>> level_from_divergences(0.0, 0.01)
    0.0
    """
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def draw_directions(signs: Floats, dimension: int, kappa: float, randomness: Randomness) -> Floats:
    """A von Mises–Fisher draw for each sign: around the first axis, against it, or uniform (0)."""
    cosines = draw_cosines(dimension, kappa * np.abs(signs), randomness)
    across = randomness.normal(len(signs), dimension - 1)
    across *= (np.sqrt(1 - cosines**2) / np.linalg.norm(across, axis=1))[:, None]
    return np.column_stack([np.where(signs < 0, -cosines, cosines), across])


def kept_kappa(kappa: float) -> VectorSubject:
    """One use of a record in few dimensions, with this concentration.

    What is claimed
        Directional noise of concentration κ leaks as much as an attack, or a proof, says of κ,
        whatever the number of trained weights is: κ = 1000 in training is compared with κ = 1000
        in the attack.

    Why it is false
        The noise of a direction is √d/κ. Training is on d = 592,130 weights of BERT (3,072 of
        GPT-2), the attack on all 108 (124) million, where the same κ means 13.5 (201) times more
        noise. A level for many dimensions does not hold in few.

    Repair
        κ·√(d/d'), which keeps √d/κ.

    Reference
        Faustini, Fernandes, McIver and Dras 2024, "Empirical calibration and metric differential
        privacy in language models" (tables 1 to 4; "all gradients were shared").
    """
    epsilon = level_from_divergences(2 * KEPT_KAPPA**2 / ATTACKED, KEPT_DELTA)

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        return draw_directions(np.full(count, (1.0, -1.0)[number]), TRAINED, kappa, randomness)

    return VectorSubject(
        claim=APPROXIMATE.format("Any two records", epsilon, KEPT_DELTA),
        epsilon=epsilon,
        inputs=OPPOSITE,
        source=source,
        delta=KEPT_DELTA,
    )


def sampled_directions() -> VectorSubject:
    """A sum of draws, one for each record of a Poisson sample.

    What is claimed
        A use of a record has a level ε₀; if records are in a step with probability q, the step has
        the level ln(1 + q·(exp(ε₀) − 1)), as DP-SGD has.

    Why it is false
        Every draw has length 1. So the length of a sum of n draws is near √n, and shows how many
        records the sample had, however much the directions are disturbed. Gaussian noise is as long
        with a record as without; directional noise is not there if the record is not.

    Repair
        Fixed places: a record that is not there is replaced by a uniform draw, and the level of a
        use is ε₀, without amplification.

    Reference
        The accounting of DP-SGD (Abadi et al. 2016), carried over to directional noise. Batches
        are sampled in algorithm 1 of Faustini et al. 2024, and disjoint in its proof.
    """
    level, delta = _level_of_a_place(), RATE * ONE_DELTA
    epsilon = math.log1p(RATE * math.expm1(level))

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        total = np.zeros((count, SAMPLED_DIMENSION))
        for _ in range(OTHERS + number):
            taken = randomness.uniform(count) < RATE
            total += taken[:, None] * _draw_place(np.ones(count), randomness)
        return total

    return _step(epsilon, delta, source)


def fixed_places() -> VectorSubject:
    """A sum of as many draws as there are places, uniform ones for records that are not there."""

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        total = _draw_place(np.full(count, float(number)), randomness)
        for _ in range(OTHERS):
            total += _draw_place(np.ones(count), randomness)
        return total

    return _step(_level_of_a_place(), ONE_DELTA, source)


def epochs_of_directions(epsilon: float) -> VectorSubject:
    """All epochs in which a record is used, with a claim at this level.

    What is claimed
        Batches are disjoint, so their levels do not add up, and training has the level of one use,
        2κ ("the result follows by parallel composition").

    Why it is false
        Batches are disjoint within an epoch. Every epoch uses every record again, and what is seen
        of E epochs tells two records apart by up to exp(2κE).

    Repair
        The level 2κE.

    Reference
        Faustini et al. 2024, corollary 2 and its proof; 3 to 30 epochs in its table 5.
    """

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        signs = np.full(count, (1.0, -1.0)[number])
        seen = [
            draw_directions(signs, CIRCLE, EPOCHS_KAPPA, randomness.stream(epoch))
            for epoch in range(EPOCHS)
        ]
        return np.concatenate(seen, axis=1)

    return VectorSubject(
        claim=f"Any two records are told apart by a factor of at most exp({epsilon:g}).",
        epsilon=epsilon,
        inputs=OPPOSITE,
        source=source,
    )


def noisy_sum(deviation: float) -> VectorSubject:
    """A sum of clipped gradients, with Gaussian noise of this deviation in units of the norm.

    What is claimed
        The level of DP-SGD with the noise multiplier σ.

    Why it is false
        The sum of B gradients gets noise of σ·C/B instead of σ·C, because the noise for the *mean*
        is added before the sum is divided. One record moves the sum by up to C, as before, and the
        noise multiplier is σ/B.

    Repair
        Noise of σ·C on the sum, or of σ·C/B on the mean.

    Reference
        A slip of implementations; Faustini et al. 2024 do not say on which side of the division
        the noise of their attacks is.
    """
    epsilon = gaussian_epsilon(1 / NOISE, NOISE_DELTA)

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        # All others are known to the attacker and subtracted: what is left is one record, or none.
        return number + deviation * randomness.normal(count, 1)

    return VectorSubject(
        claim=APPROXIMATE.format("Data sets that differ in a record", epsilon, NOISE_DELTA),
        epsilon=epsilon,
        inputs=PRESENT,
        source=source,
        delta=NOISE_DELTA,
    )


def clipped_mean(gradients: Floats) -> float:
    """The mean over a micro-batch, in units of the clipping norm, cut off at 1.

    Places that are left empty have a gradient of 0, and the divisor stays.

    >>> clipped_mean(np.array([8.0, 8.0, 8.0, 0.0])), clipped_mean(np.array([0.4, 0.0, 0.0, 0.0]))
    (1.0, 0.1)
    """
    return float(np.clip(gradients.sum() / MICRO, -1.0, 1.0))


def micro_batches(deviation: float) -> VectorSubject:
    """A sum over micro-batches of clipped means, with noise of this deviation in units of C.

    What is claimed
        Gradients are averaged in micro-batches of m records, each mean is clipped to norm C, and
        their sum gets noise of σ·C: the level of DP-SGD with the noise multiplier σ, as if one
        record moved a clipped mean by C, or even by C/m.

    Why it is false
        A record takes part before the clipping. With it and without it, a clipped mean is one of
        two vectors of norm at most C, so it moves by at most 2C, and 2C is reached: the others pull
        one way, the record pulls the other way harder than all of them, and the mean turns round.
        Dividing by m does not help, since a mean longer than C is cut to C whatever m is. That is
        so for a record that is removed as for one that is replaced; only m = 1 has C, because a
        record that is alone leaves 0 behind. If, moreover, removing a record moves others to
        another micro-batch, every mean may turn round, and k of them move the sum by 2C·k.

    Repair
        Places in micro-batches that are fixed, so that a missing record leaves its own empty, and
        noise of 2·σ·C. Or, which is less noise by half, each record clipped by itself.

    Reference
        The accounting of DP-SGD (Abadi et al. 2016), carried over to gradients that are scaled in
        each micro-batch, as Dupuy, Arava, Gupta and Rumshisky 2022 do ("An efficient DP-SGD
        mechanism for large scale NLU models").
    """
    epsilon = gaussian_epsilon(1 / MICRO_NOISE, NOISE_DELTA)
    # All pull one way; the record, if it is there, pulls the other way.
    others = np.full(MICRO, 8.0)
    others[0] = 0.0
    beside = others.copy()
    beside[0] = -8.0 * (MICRO + 1)
    means = clipped_mean(others), clipped_mean(beside)

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        return means[number] + deviation * randomness.normal(count, 1)

    return VectorSubject(
        claim=APPROXIMATE.format("Data sets that differ in a record", epsilon, NOISE_DELTA),
        epsilon=epsilon,
        inputs=PRESENT,
        source=source,
        delta=NOISE_DELTA,
    )


def _level_of_a_place() -> float:
    return level_from_divergences(SAMPLED_KAPPA**2 / (2 * SAMPLED_DIMENSION), ONE_DELTA)


def _draw_place(signs: Floats, randomness: Randomness) -> Floats:
    return draw_directions(signs, SAMPLED_DIMENSION, SAMPLED_KAPPA, randomness)


def _step(epsilon: float, delta: float, source: DrawVectors) -> VectorSubject:
    return VectorSubject(
        claim=APPROXIMATE.format("Data sets that differ in a record", epsilon, delta),
        epsilon=epsilon,
        inputs=PRESENT,
        source=source,
        delta=delta,
    )


KAPPA_ACROSS_DIMENSIONS = Exhibit(
    name="kappa-across-dimensions",
    source=FAUSTINI,
    claim="directional noise of one κ leaks the same for any number of weights",
    reason=f"the noise is √d/κ: with {TIMES} times fewer weights it is {math.sqrt(TIMES):.3g} "
    "times smaller",
    repair="κ·√(d/d'), which keeps √d/κ",
    broken=lambda: kept_kappa(KEPT_KAPPA),
    repaired=lambda: kept_kappa(KEPT_KAPPA / math.sqrt(TIMES)),
)
MICRO_BATCHES = Exhibit(
    name="micro-batches",
    source="the accounting of DP-SGD, carried over to micro-batches",
    claim="noise of σ·C on a sum of clipped means of micro-batches has the level of σ",
    reason="a record can turn a clipped mean round, from C one way to C the other: it moves by 2C",
    repair="fixed places in micro-batches and noise of 2·σ·C; or clip every record by itself",
    broken=lambda: micro_batches(MICRO_NOISE),
    repaired=lambda: micro_batches(2 * MICRO_NOISE),
)
NOISE_OVER_BATCH = Exhibit(
    name="noise-over-batch",
    source="DP-SGD with the noise of the mean on the sum",
    claim="noise of σ·C/B on the sum of a batch of B has the level of the noise multiplier σ",
    reason=f"the noise multiplier is σ/B: {BATCH} times smaller for a batch of {BATCH}",
    repair="noise of σ·C on the sum",
    broken=lambda: noisy_sum(NOISE / BATCH),
    repaired=lambda: noisy_sum(NOISE),
)
ONE_EPOCH_FOR_ALL = Exhibit(
    name="one-epoch-for-all",
    source=f"{FAUSTINI}, corollary 2",
    claim="training with directional noise has the level 2κ, by parallel composition",
    reason=f"every epoch uses each record again: {EPOCHS} epochs have {EPOCHS} times the level",
    repair="the level 2κ·E for E epochs",
    broken=lambda: epochs_of_directions(2 * EPOCHS_KAPPA),
    repaired=lambda: epochs_of_directions(2 * EPOCHS_KAPPA * EPOCHS),
)
POISSON_DIRECTIONS = Exhibit(
    name="poisson-directions",
    source="the accounting of DP-SGD, carried over to directional noise",
    claim="Poisson sampling at rate q lowers the level of directional noise by about q",
    reason="every draw has length 1, so the length of a sum shows how many records it has",
    repair="fixed places, those left empty filled with uniform draws, and no amplification",
    broken=sampled_directions,
    repaired=fixed_places,
)
