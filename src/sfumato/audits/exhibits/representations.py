"""False claims about noisy representations, as published code makes them.

Each function below makes one method, as the code has it or as it should be. Its docstring says what
is claimed, why that is false, and what repairs it. The code was read, not run.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import VectorSubject
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import laplace_coordinates

LOCAL_DP = "Any two texts are told apart by a factor of at most exp({:g}) (local DP)."

CAPE_DIMENSION, CAPE_EPSILON = 16, 1.0
# What an encoder may return for two texts: once scaled, no coordinate is the same.
CAPE_CODES = np.stack(
    [
        np.append(np.full(CAPE_DIMENSION - 1, 3.0), -1.0),
        np.append(np.full(CAPE_DIMENSION - 1, -1.0), 3.0),
    ]
)
CAPE_TEXTS = ("a text with the vector (3, …, 3, −1)", "a text with the vector (−1, …, −1, 3)")
BATCH_DIMENSION, BATCH_EPSILON = 4, 4.0
# The vector of a text, in a batch beside one whose vector the attacker knows.
BATCH_CODES, BATCH_BESIDE = (0.0, 0.05), 0.5
BATCH_TEXTS = ("a batch with a text of vector (0, 0, …)", "the same with one of (0.05, 0.05, …)")

FEDERATE_DIMENSION, FEDERATE_EPSILON = 64, 2.0
FEDERATE_CODES = np.stack([np.ones(FEDERATE_DIMENSION), -np.ones(FEDERATE_DIMENSION)])
FEDERATE_TEXTS = ("a text with the vector (1, 1, …)", "a text with the vector (−1, −1, …)")


def cape(scale: float) -> VectorSubject:
    """CAPE, with Laplace noise of this scale on every coordinate.

    What is claimed
        Scale the coordinates of a text's vector to [0, 1] by their smallest and largest one, add
        Laplace noise of scale 1/ε to each: ε-DP, for the sensitivity is 1.

    Why it is false
        1 is how far *one* coordinate can move. All k can, so the sensitivity in L1, which this
        noise is for, is k, and so is the factor between the true level and the claim: 768 for BERT.

    Repair
        Scale k/ε; or less noise by another bound (``representations/per_dimension.py``).

    Reference
        Plant, Gkatzia and Giuffrida 2021, "CAPE: Context-aware private embeddings for private
        language learning", and its published code.
    """

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        code = CAPE_CODES[number]
        scaled = (code - code.min()) / (code.max() - code.min())
        found: Floats = scaled + laplace_coordinates((count, len(code)), scale, randomness)
        return found

    return VectorSubject(
        claim=LOCAL_DP.format(CAPE_EPSILON), epsilon=CAPE_EPSILON, inputs=CAPE_TEXTS, source=source
    )


def cape_batch(*, together: bool) -> VectorSubject:
    """CAPE for a batch of two texts, with noise that is drawn once, or for each text.

    What is claimed
        The vectors of a batch, with noise added to them, are ε-DP for every text.

    Why it is false
        In the published code one vector of noise is drawn and added to all texts of a batch. The
        difference of two noisy vectors has no noise: whoever knows one text of the batch (or sends
        one) has the vector of another exactly. (The smallest and largest coordinate are taken over
        the batch as well, so texts shape each other's vectors.)

    Repair
        Noise of its own for each text, for the whole sensitivity.

    Reference
        The published code of Plant, Gkatzia and Giuffrida 2021 (CAPE).
    """
    size = BATCH_DIMENSION
    scale = size / BATCH_EPSILON

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        drawn = laplace_coordinates((count, size if together else 2 * size), scale, randomness)
        noise = np.hstack([drawn, drawn]) if together else drawn
        clear = np.repeat([BATCH_CODES[number], BATCH_BESIDE], size)
        found: Floats = clear + noise
        # The text, and how it differs from the one that is known: a function of what is released.
        found[:, size:] = found[:, :size] - found[:, size:]
        return found

    return VectorSubject(
        claim=LOCAL_DP.format(BATCH_EPSILON),
        epsilon=BATCH_EPSILON,
        inputs=BATCH_TEXTS,
        source=source,
    )


def federate(scale: float) -> VectorSubject:
    """FEDERATE, with Laplace noise of this scale on every coordinate.

    What is claimed
        Divide a text's vector by its norm, add Laplace noise of scale 2/ε to each coordinate: ε-DP,
        for normalized vectors are at most 2 apart.

    Why it is false
        That is so for the L1 norm. The published code divides by the L2 norm, and then two vectors
        are up to 2·√k apart in L1: the true level is √k·ε.

    Repair
        Divide by the L1 norm; or scale 2·√k/ε.

    Reference
        The published code of Maheshwari et al. 2022, "Fair NLP models with differentially private
        text encoders".
    """

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        code = FEDERATE_CODES[number] / np.linalg.norm(FEDERATE_CODES[number])
        found: Floats = code + laplace_coordinates((count, len(code)), scale, randomness)
        return found

    return VectorSubject(
        claim=LOCAL_DP.format(FEDERATE_EPSILON),
        epsilon=FEDERATE_EPSILON,
        inputs=FEDERATE_TEXTS,
        source=source,
    )


CAPE = Exhibit(
    name="cape",
    source="CAPE (Plant, Gkatzia and Giuffrida 2021)",
    claim="Laplace noise of scale 1/ε on coordinates in [0, 1] is ε-DP",
    reason=f"the L1 sensitivity is k = {CAPE_DIMENSION}, not 1",
    repair="scale k/ε",
    broken=lambda: cape(1 / CAPE_EPSILON),
    repaired=lambda: cape(CAPE_DIMENSION / CAPE_EPSILON),
)
CAPE_ONE_NOISE = Exhibit(
    name="cape-one-noise",
    source="published code of CAPE (Plant, Gkatzia and Giuffrida 2021)",
    claim="noise on the vectors of a batch makes each text ε-DP",
    reason="one noise vector is added to all texts of a batch, so their differences are exact",
    repair="noise of its own for every text",
    broken=lambda: cape_batch(together=True),
    repaired=lambda: cape_batch(together=False),
)
FEDERATE = Exhibit(
    name="federate",
    source="published code of FEDERATE (Maheshwari et al. 2022)",
    claim="Laplace noise of scale 2/ε on vectors divided by their norm is ε-DP",
    reason=f"they are divided by the L2 norm: the level is √{FEDERATE_DIMENSION} times ε",
    repair="scale 2·√k/ε, or the L1 norm",
    broken=lambda: federate(2 / FEDERATE_EPSILON),
    repaired=lambda: federate(2 * math.sqrt(FEDERATE_DIMENSION) / FEDERATE_EPSILON),
)
