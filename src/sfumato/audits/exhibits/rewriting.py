"""False claims about rewriting, which writes a new text in the place of another.

Each class or function below makes the claim; its docstring says what is claimed, why that is false,
and what repairs it. Tokens are forty names of colors, placed so that scores between them can be
written down; what is shown holds for any model whose scores differ as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.bounded_range import exact_level
from sfumato.accounting.gaussian import gaussian_noise, log_between
from sfumato.audits.candidates import color_space
from sfumato.audits.exhibits.exhibit import Exhibit, frequent_words
from sfumato.audits.subject import VectorSubject
from sfumato.core.arrays import Floats, Points
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.laplace import laplace_coordinates
from sfumato.mechanisms.rewriting.token_law import TokenLaw
from sfumato.mechanisms.rows import FromRows, distances, log_normalized
from sfumato.vectors.space import Space

GAUSSIAN_EPSILON, GAUSSIAN_DELTA = 250.0, 1e-5
GAUSSIAN_BINS = 81
# A window of 4 at the temperature 1, and scores of a model that differ by up to 40.
WINDOW, TEMPERATURE = 4.0, 1.0
SCORES_PER_DISTANCE = 10.0
TOP_K = 5
STOP_WORDS, MASKED_WORDS, MASKED_WINDOW = 20, 200, 6.0
POSITIONS, CODE_SIZE = 4, 3
BROADCAST_EPSILON = 4.0
# The third-party class clips each coordinate to [−0.2, 0.1].
BROADCAST_LOW, BROADCAST_HIGH = -0.2, 0.1


@dataclass(frozen=True, kw_only=True)
class NoisyNumber(FromRows):
    """A number in [0, 1] with Gaussian noise of deviation ``sigma``, seen in bins.

    What is claimed
        The classic σ = Δ·√(2·ln(1.25/δ))/ε gives (ε, δ)-DP, at the ε = 250 of published scripts.

    Why it is false
        It is proven for ε <= 1 only. With ε = 250 and δ = 1e-5 the noise is 1/51 of the
        sensitivity, and the true level at that δ is 1550.

    Repair
        The analytic σ, from the exact trade-off (``accounting/gaussian.py``).

    Reference
        Igamberdiev and Habernal 2023, "DP-BART for privatized text rewriting under local
        differential privacy": the published sample scripts; its analytic option is right. Balle and
        Wang 2018 for the analytic noise.
    """

    sigma: float

    @cached_property
    def space(self) -> Space:  # type: ignore[override]
        """Bins of the line, each named by its middle; inputs are cut to [0, 1]."""
        middles = np.linspace(-0.5, 1.5, GAUSSIAN_BINS)
        names = [f"{one:.3f}" for one in middles]
        return Space("numbers with noise", names, middles.astype(np.float32)[:, None])

    def guarantee(self) -> Guarantee:
        """The claim: ε = 250 and δ = 1e-5 for any two numbers."""
        return Guarantee(
            notion=Notion.APPROXIMATE_DP,
            unit="document",
            neighbors="any two documents",
            epsilon=GAUSSIAN_EPSILON,
            delta=GAUSSIAN_DELTA,
            scope="every coordinate of a code",
        )

    def log_rows(self, points: Points) -> Floats:
        """Log-probability of every bin; the outermost are open."""
        middles = np.linspace(-0.5, 1.5, GAUSSIAN_BINS)
        edges = [-math.inf, *((middles[1:] + middles[:-1]) / 2).tolist(), math.inf]
        inputs = np.clip(np.append(middles, 0.5), 0.0, 1.0)[points]
        rows = [
            [
                log_between((low - one) / self.sigma, (high - one) / self.sigma)
                for low, high in pairwise(edges)
            ]
            for one in inputs.tolist()
        ]
        return log_normalized(np.array(rows))


@dataclass(frozen=True, kw_only=True)
class NextToken(FromRows):
    """The next token after a prompt that is one of the colors, by scores −10·distance."""

    @cached_property
    def space(self) -> Space:  # type: ignore[override]
        """The tokens."""
        return color_space(1.0)

    def guarantee(self) -> Guarantee:
        """The claim: e(R, V), at most 2R, for any two prompts."""
        return Guarantee(
            notion=Notion.PURE_DP,
            unit="document",
            neighbors="any two documents",
            epsilon=exact_level(WINDOW / TEMPERATURE, len(self.space)),
            scope="the next token",
        )

    def scores(self, points: Points) -> Floats:
        """What a model says of every token."""
        return -SCORES_PER_DISTANCE * distances(self.space, points)

    def log_rows(self, points: Points) -> Floats:
        """The repaired law: recentred and cut to the window."""
        law = TokenLaw(tokens=np.arange(len(self.space)), window=WINDOW, temperature=TEMPERATURE)
        return log_normalized(law.logs(self.scores(points)))


class Unclipped(NextToken):
    """DP-Prompt as its repository samples: at the temperature, without clipping.

    What is claimed
        Sampling each token at temperature T from scores clipped to a window of width b costs at
        most 2b/T.

    Why it is false
        The published code (and a chat interface, which has no such option) does not clip: scores
        differ by as much as the model likes, and so do log-ratios.

    Repair
        Subtract the largest score, cut at −c, then divide by T: R = c/T (temperature).

    Reference
        Utpala, Hooker and Chen 2023, "Locally differentially private document generation using zero
        shot prompting".
    """

    def log_rows(self, points: Points) -> Floats:
        """Scores over the temperature, as they are."""
        return log_normalized(self.scores(points) / TEMPERATURE)


class TopTokens(NextToken):
    """Clipped scores, but only the k best tokens of each prompt.

    What is claimed
        The level of temperature sampling, with the sampler's usual top-k left on.

    Why it is false
        Which tokens are possible depends on the prompt; one that is possible for one prompt only
        rules the other out. The level is infinite. Libraries turn this on by default (k = 50).

    Repair
        All public tokens (temperature refuses top-k, top-p and beams).

    Reference
        A third-party paraphraser with DP-Prompt's claim, which leaves its library's default on.
    """

    def log_rows(self, points: Points) -> Floats:
        """The repaired law on the k best tokens."""
        logs = super().log_rows(points)
        scores = self.scores(points)
        least = np.sort(scores, axis=1)[:, -TOP_K][:, None]
        return log_normalized(np.where(scores >= least, logs, -np.inf))


@dataclass(frozen=True, kw_only=True)
class MaskedWords(FromRows):
    """A masked language model draws each word anew; ``kept`` words come back unchanged.

    What is claimed
        DP-MLM: every word is drawn at a temperature from clipped scores, so each costs at most ε.

    Why it is false
        Stop words (and punctuation) are returned as they are: every other output is impossible for
        a stop word, and possible for any other word. Such an output rules the stop word out for
        certain.

    Repair
        Draw for every word.

    Reference
        Meisenbacher et al. 2024, "DP-MLM: Differentially private text rewriting using masked
        language models": the published code.
    """

    kept: int

    @cached_property
    def space(self) -> Space:  # type: ignore[override]
        """Frequent words; the first of them are stop words."""
        return frequent_words(MASKED_WORDS)

    def guarantee(self) -> Guarantee:
        """The claim: e(R, V) for any two words."""
        return Guarantee(
            notion=Notion.PURE_DP,
            unit="word",
            neighbors="any two values of one word",
            epsilon=exact_level(MASKED_WINDOW, len(self.space)),
        )

    def log_rows(self, points: Points) -> Floats:
        """Cut scores for every word but those that are kept."""
        law = TokenLaw(tokens=np.arange(len(self.space)), window=MASKED_WINDOW, temperature=1.0)
        rows = log_normalized(law.logs(-distances(self.space, points)))
        for row, point in enumerate(points.tolist()):
            if point < self.kept:
                rows[row] = -np.inf
                rows[row, point] = 0.0
        return rows


def broadcast(*, together: bool) -> VectorSubject:
    """A code of several positions, each clipped, with noise for all of it or for one position.

    What is claimed
        A third-party DP-BART: clip every coordinate of the encoder's output and add noise of the
        width of a coordinate: ε-DP for the document.

    Why it is false
        One noise vector is drawn and added to *every* position, so differences of positions are
        released exactly. (Besides, the noise is for one position's coordinates, of a width of 0.2
        in place of 0.3.)

    Repair
        Noise of its own for every coordinate, for the L1 diameter of the whole code.

    Reference
        The DP-BART class in the DP-MLM repository.
    """
    size = POSITIONS * CODE_SIZE
    codes = np.stack(
        [
            np.full((POSITIONS, CODE_SIZE), BROADCAST_LOW),
            np.where(np.arange(POSITIONS)[:, None] % 2, BROADCAST_HIGH, BROADCAST_LOW)
            * np.ones((1, CODE_SIZE)),
        ]
    )
    width = BROADCAST_HIGH - BROADCAST_LOW
    scale = width * (CODE_SIZE if together else size) / BROADCAST_EPSILON

    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        rows = 1 if together else POSITIONS
        noise = laplace_coordinates((count, rows * CODE_SIZE), scale, randomness)
        noisy = codes[number] + noise.reshape(count, rows, CODE_SIZE)
        # Whoever has the code can subtract one position from the next.
        steps: NDArray[np.float64] = (noisy[:, 1:] - noisy[:, :-1]).reshape(count, -1)
        return steps

    return VectorSubject(
        claim=f"Any two texts are told apart by a factor of at most exp({BROADCAST_EPSILON:g}).",
        epsilon=BROADCAST_EPSILON,
        inputs=("a text whose positions have one code", "a text whose positions have two in turn"),
        source=source,
    )


def classic_noise() -> float:
    """The classic σ for the claim, as a multiple of the sensitivity."""
    return math.sqrt(2 * math.log(1.25 / GAUSSIAN_DELTA)) / GAUSSIAN_EPSILON


BROADCAST_NOISE = Exhibit(
    name="broadcast-noise",
    source="DP-BART as a third party implements it (in the DP-MLM repository)",
    claim="noise on the encoder's output makes a document ε-DP",
    reason="one noise vector is added to every position, so their differences are exact",
    repair="noise of its own for every coordinate, for the diameter of the whole code (latent)",
    broken=lambda: broadcast(together=True),
    repaired=lambda: broadcast(together=False),
)
CLASSIC_GAUSSIAN = Exhibit(
    name="classic-gaussian",
    source="sample scripts of DP-BART (Igamberdiev and Habernal 2023), ε = 250",
    claim="σ = Δ·√(2·ln(1.25/δ))/ε is (ε, δ)-DP",
    reason="that is proven for ε ≤ 1; at ε = 250 the true level is 1550",
    repair="the analytic σ, which is 2.8 times as large",
    broken=lambda: NoisyNumber(sigma=classic_noise()),
    repaired=lambda: NoisyNumber(sigma=gaussian_noise(GAUSSIAN_EPSILON, GAUSSIAN_DELTA)),
)
KEPT_STOP_WORDS = Exhibit(
    name="kept-stop-words",
    source="DP-MLM (Meisenbacher et al. 2024), the published code",
    claim="every word costs at most ε",
    reason="stop words and punctuation come back unchanged",
    repair="draw for every word (masked)",
    broken=lambda: MaskedWords(kept=STOP_WORDS),
    repaired=lambda: MaskedWords(kept=0),
)
TOP_K_SUPPORT = Exhibit(
    name="top-k-support",
    source="a paraphraser with DP-Prompt's claim and its library's default top-k",
    claim="sampling from clipped scores at temperature T costs at most 2b/T a token",
    reason="which tokens are possible depends on the text",
    repair="all public tokens (temperature)",
    broken=TopTokens,
    repaired=NextToken,
)
UNCLIPPED_TEMPERATURE = Exhibit(
    name="unclipped-temperature",
    source="DP-Prompt (Utpala et al. 2023), the published code",
    claim="sampling from clipped scores at temperature T costs at most 2b/T a token",
    reason="the code does not clip",
    repair="scores recentred and cut to a window (temperature)",
    broken=Unclipped,
    repaired=NextToken,
)
