"""False claims about encoders, which turn a text into a noisy vector or into noisy bits.

Each function below makes one method, with the noise as it was published or as it should be. Its
docstring says what is claimed, why that is false, and what repairs it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import VectorSubject
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import laplace_coordinates

LOCAL_DP = "Any two texts are told apart by a factor of at most exp({:g}) (local DP)."

ADEPT_DIMENSION = 64
ADEPT_LENGTH = 1.0
ADEPT_EPSILON = 2.0
# What an encoder may return for three texts; two of them are as far apart as clipping allows.
ADEPT_CODES = np.stack(
    [np.ones(ADEPT_DIMENSION), -np.ones(ADEPT_DIMENSION), np.linspace(-2.0, 2.0, ADEPT_DIMENSION)]
)
ADEPT_TEXTS = (
    "a text with code (1, 1, …)",
    "a text with code (−1, −1, …)",
    "a text with code (−2, …, 2)",
)

DPNR_DIMENSION = 16
DPNR_DROPPED = 0.1
DPNR_EPSILON = 1.0
DPNR_LEVEL = math.log((1 - DPNR_DROPPED) * math.exp(DPNR_EPSILON) + DPNR_DROPPED)
# The representation with each word, as far apart as scaling allows. If the word is dropped, the
# text is represented as with the first word.
DPNR_STATES = (0.0, 1.0)
DPNR_TEXTS = ("a text represented by (0, 0, …)", "the same with one other word, by (1, 1, …)")
DPNR_CLAIM = (
    "Texts that differ in one word are told apart by a factor of at most "
    f"exp({DPNR_LEVEL:.4g}) = (1 − {DPNR_DROPPED:g})·exp({DPNR_EPSILON:g}) + {DPNR_DROPPED:g}."
)

DPTEXT_DIMENSION = 8
DPTEXT_EPSILON = 1.0
DPTEXT_SCALE = 2 * DPTEXT_DIMENSION / DPTEXT_EPSILON
DPTEXT_STATES = (0.0, 1.0)
DPTEXT_TEXTS = ("a text with hidden state (0, 0, …)", "a text with hidden state (1, 1, …)")

OME_COORDINATES, OME_BITS = 5, 10
OME_PLACES = OME_COORDINATES * OME_BITS
OME_FACTOR = 100.0
OME_EPSILON = 1.0
# Two codes that differ in all bits: the largest difference that the claim must cover.
OME_CODES = np.stack([np.arange(OME_PLACES) % 3 == 0, np.arange(OME_PLACES) % 3 != 0])
OME_TEXTS = ("a text with code 100100…", "a text with code 011011…")


def adept(scale: float) -> VectorSubject:
    """ADePT, with Laplace noise of this scale.

    What is claimed
        Encode a text, clip the code to length C in the L2 norm, add Laplace noise of scale 2C/ε to
        every coordinate, decode: ε-local differential privacy.

    Why it is false
        Laplace noise per coordinate covers differences in the L1 norm. Two codes of L2 length C are
        up to 2C·√k apart in L1, where k is their dimension, so the true level is √k·ε.

    Repair
        Scale 2C·√k/ε.

    Reference
        Krishna, Gupta and Dupuy 2021, "ADePT: Auto-encoder based differentially private text
        transformation"; the error was found by Habernal 2021, "When differential privacy meets NLP:
        The devil is in the detail".
    """

    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        code = ADEPT_CODES[number]
        clipped = code * min(1.0, ADEPT_LENGTH / float(np.linalg.norm(code)))
        noise = laplace_coordinates((count, ADEPT_DIMENSION), scale, randomness)
        noise += clipped
        return noise

    return VectorSubject(
        claim=LOCAL_DP.format(ADEPT_EPSILON),
        epsilon=ADEPT_EPSILON,
        inputs=ADEPT_TEXTS,
        source=source,
    )


def dpnr(scale: float) -> VectorSubject:
    """DPNR, with Laplace noise of this scale.

    What is claimed
        Drop every word with probability μ, scale the coordinates of the text's representation to
        [0, 1], add Laplace noise of scale 1/ε to each: for texts that differ in one word, a level
        of ln((1−μ)·exp(ε) + μ).

    Why it is false
        All k coordinates may change by 1, so the L1 sensitivity is k, not 1: without dropout the
        level is k·ε. Dropping the word lowers the level, but not enough.

    Repair
        Scale k/ε. The amplification by dropout is right for texts that differ in one word.

    Reference
        Lyu, He and Li 2020, "Differentially private representation for NLP: Formal guarantee and an
        empirical study on privacy and fairness".
    """

    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        kept = randomness.uniform(count) >= DPNR_DROPPED
        places = np.where(kept, DPNR_STATES[number], DPNR_STATES[0])
        return places[:, None] + laplace_coordinates((count, DPNR_DIMENSION), scale, randomness)

    return VectorSubject(claim=DPNR_CLAIM, epsilon=DPNR_LEVEL, inputs=DPNR_TEXTS, source=source)


def dptext(low: float) -> VectorSubject:
    """DPText, with noise made from a uniform number on (``low``, ½).

    What is claimed
        Laplace noise of scale 2d/ε on a hidden representation in [−1, 1]^d, computed from a uniform
        number by the inverse distribution function so that gradients can pass through it:
        ε-differential privacy.

    Why it is false
        The formula s = −b·sgn(u)·ln(1 − 2|u|) gives Laplace noise for u uniform on (−½, ½). In the
        paper u is uniform on (0, ½), which gives positive numbers only. No output lies below its
        input, so a single output can rule an input out, and the level is infinite.

    Repair
        u uniform on (−½, ½).

    Reference
        Beigi et al. 2019, "I am not what I write: Privacy preserving text representation learning";
        the error was found by Habernal 2022, "How reparametrization trick broke
        differentially-private text representation learning".
    """

    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        u = low + (0.5 - low) * randomness.uniform(count * DPTEXT_DIMENSION)
        # 1 − 2|u| may be 0 at an end of the interval, which has probability 2^−53.
        inside = np.maximum(1 - 2 * np.abs(u), np.finfo(np.float64).tiny)
        noise = -DPTEXT_SCALE * np.sign(u) * np.log(inside)
        noisy: NDArray[np.float64] = DPTEXT_STATES[number] + noise.reshape(count, DPTEXT_DIMENSION)
        return noisy

    return VectorSubject(
        claim=LOCAL_DP.format(DPTEXT_EPSILON),
        epsilon=DPTEXT_EPSILON,
        inputs=DPTEXT_TEXTS,
        source=source,
    )


def ome(one_from_one: NDArray[np.float64], one_from_zero: NDArray[np.float64]) -> VectorSubject:
    """OME, with these probabilities that a 1 and a 0 come out as 1, for each bit.

    What is claimed
        Write r coordinates with l bits each. A bit that is 1 stays 1 with probability λ/(1+λ) at
        even places and 1/(1+λ³) at odd ones; a bit that is 0 becomes 1 with probability
        1/(1+λ·exp(ε/(r·l))): ε-local differential privacy for every λ, so λ = 100 for usefulness.

    Why it is false
        At an even place a 1 comes out of a 1 with probability near 1, and out of a 0 with about
        1/λ: one bit alone costs about ln λ + ε/(r·l), far above ε/(r·l). At odd places it is 2·ln λ
        − ε/(r·l).

    Repair
        Flip each of the r·l bits with probability 1/(1+exp(ε/(r·l))).

    Reference
        Lyu, Li, He and Xiao 2020, "Towards differentially private text representations";
        probabilities as in the authors' published code.
    """

    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        chances = np.where(OME_CODES[number], one_from_one, one_from_zero)
        bits = randomness.uniform(count * OME_PLACES).reshape(count, OME_PLACES) < chances
        return bits.astype(np.float64)

    return VectorSubject(
        claim=LOCAL_DP.format(OME_EPSILON), epsilon=OME_EPSILON, inputs=OME_TEXTS, source=source
    )


def published_ome() -> VectorSubject:
    """As published, λ = 100."""
    even = np.arange(OME_PLACES) % 2 == 0
    return ome(
        np.where(even, OME_FACTOR / (1 + OME_FACTOR), 1 / (1 + OME_FACTOR**3)),
        np.full(OME_PLACES, 1 / (1 + OME_FACTOR * math.exp(OME_EPSILON / OME_PLACES))),
    )


def repaired_ome() -> VectorSubject:
    """Every bit is flipped with the same probability, small enough for all bits together."""
    flipped = np.full(OME_PLACES, 1 / (1 + math.exp(OME_EPSILON / OME_PLACES)))
    return ome(1 - flipped, flipped)


ADEPT = Exhibit(
    name="adept",
    source="ADePT (Krishna et al. 2021), refuted by Habernal 2021",
    claim="Laplace noise of scale 2C/ε on a code clipped to C in L2 is ε-local DP",
    reason=f"the L1 distance is up to √k times larger, so the level is √{ADEPT_DIMENSION} times ε",
    repair="scale 2C·√k/ε",
    broken=lambda: adept(2 * ADEPT_LENGTH / ADEPT_EPSILON),
    repaired=lambda: adept(2 * ADEPT_LENGTH * math.sqrt(ADEPT_DIMENSION) / ADEPT_EPSILON),
)
DPNR = Exhibit(
    name="dpnr",
    source="DPNR (Lyu, He and Li 2020)",
    claim="Laplace noise of scale 1/ε on coordinates in [0, 1] gives ln((1−μ)·exp(ε) + μ)",
    reason=f"the L1 sensitivity is k = {DPNR_DIMENSION}, not 1",
    repair="scale k/ε",
    broken=lambda: dpnr(1 / DPNR_EPSILON),
    repaired=lambda: dpnr(DPNR_DIMENSION / DPNR_EPSILON),
)
DPTEXT = Exhibit(
    name="dptext",
    source="DPText (Beigi et al. 2019), refuted by Habernal 2022",
    claim="Laplace noise made from a uniform number by a formula is ε-DP",
    reason="from the wrong uniform number comes one-sided noise: outputs can exclude an input",
    repair="a uniform number on (−½, ½)",
    broken=lambda: dptext(0.0),
    repaired=lambda: dptext(-0.5),
)
OME = Exhibit(
    name="ome",
    source="OME (Lyu, Li, He and Xiao 2020)",
    claim="bits kept and set with chances that depend on λ = 100 are ε-local DP",
    reason="one bit alone costs about ln λ, whatever ε is",
    repair="flip each of the r·l bits with probability 1/(1+exp(ε/(r·l)))",
    broken=published_ome,
    repaired=repaired_ome,
)
