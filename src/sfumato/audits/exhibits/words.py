"""False claims about word mechanisms, which replace one word by another.

Each class below makes the claim as its ``guarantee``. Its docstring says what is claimed, why that
is false, and what repairs it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.candidates import color_space
from sfumato.audits.exhibits.exhibit import Exhibit, frequent_words
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, metric_dp
from sfumato.mechanisms.custom import Custom
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.rows import FromRows, distances, log_normalized
from sfumato.mechanisms.truncated import Truncated
from sfumato.mechanisms.vickrey import Vickrey, chance_of_first
from sfumato.vectors.search import NearestTwo
from sfumato.vectors.space import Space

CUSTEXT_WORDS, CUSTEXT_EPSILON = 300, 3.0
GUMBEL_WORDS, GUMBEL_EPSILON = 60, 12.0
# Points per interval at which the integrand is evaluated; it is smooth between two kinks.
NODES = 12
TEM_WORDS, TEM_EPSILON = 300, 5.0
TEM_BETA = 0.001
TEM_GAMMA = round(2 / TEM_EPSILON * math.log((1 - TEM_BETA) * TEM_WORDS / TEM_BETA), 1)
VICKREY_EPSILON = 1.0


@dataclass(frozen=True, kw_only=True)
class CustomAnywhere(FromRows):
    """CusText as published, with the claim of local DP between any two words.

    What is claimed
        Every word has a set of K public words; one of them is drawn with probability proportional
        to exp(ε·u/2), where u in [0, 1] is a similarity: ε-local differential privacy.

    Why it is false
        Words of different groups have different sets of outputs, so an output of one word has
        probability 0 for the other; the level is infinite. The claim holds inside a group only.

    Repair
        State it for words of one group.

    Reference
        Chen et al. 2023, "A customized text sanitization mechanism with differential privacy". The
        claim there is for words with the same set of outputs, which is easily overlooked.
    """

    space: Space
    epsilon: float

    def guarantee(self) -> Guarantee:
        """The claim: epsilon, for any two words."""
        return Guarantee(
            notion=Notion.PURE_DP,
            unit="word",
            neighbors="any two values of one word",
            epsilon=self.epsilon,
        )

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """The rows of CusText."""
        return Custom(space=self.space, epsilon=self.epsilon).log_rows(points)


@dataclass(frozen=True, kw_only=True)
class CustomWithoutHalf(FromRows):
    """CusText with exp(ε·u), and the claim that goes with exp(ε·u/2).

    Why it is false
        The probability is exp(ε·u)/Z, and Z changes with the word as well, so the level inside a
        group is up to 2ε.

    Repair
        Keep the factor ½.

    Reference
        Chen et al. 2023, as above.
    """

    space: Space
    epsilon: float

    def guarantee(self) -> Guarantee:
        """The claim: epsilon, for words of one group."""
        return self._claimed.guarantee()

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon inside the group, nothing across groups."""
        return self._claimed.loss_bounds(point)

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Without the ½ it is the mechanism for twice the level."""
        return Custom(space=self.space, epsilon=2 * self.epsilon).log_rows(points)

    @property
    def _claimed(self) -> Custom:
        return Custom(space=self.space, epsilon=self.epsilon)


@dataclass(frozen=True, kw_only=True)
class TruncatedGumbel(FromRows):
    """Truncated Gumbel noise on the k nearest words only.

    What is claimed
        Draw k from a Poisson distribution of mean ln|W|, truncated to 1 … |W|; among the k words
        nearest to the input take the one with the smallest distance plus truncated Gumbel noise of
        scale b: metric DP at level ε, where b is a function of ε and of the smallest and largest
        distance in the vocabulary.

    Why it is false
        Which words are the k nearest depends on the input. A word of rank r is possible only if k
        >= r, so its probability is at most P[k >= r], which falls faster than any exponential. But
        a word may be the nearest to one input and of rank |W| for another input that is not far
        away.

    Repair
        Gumbel noise on all words, which is the exponential mechanism.

    Reference
        Xu, Feyisetan, Aggarwal, Xu and Teissier 2021, "Density-aware differentially private textual
        perturbations using truncated Gumbel noise". The claim is made for levels at which the scale
        is positive, as here.
    """

    space: Space
    epsilon: float

    def guarantee(self) -> Guarantee:
        """The claim."""
        return metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=(self.space,))

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, by integrating over the smallest noisy distance."""
        between = distances(self.space, np.arange(len(self.space)))
        apart = between[between > 0]
        scale, reach = self.scale(float(apart.min()), float(apart.max())), float(apart.max())
        chosen = log_chances(len(self.space))
        rows = np.empty((len(points), len(self.space)))
        for row, away in zip(rows, distances(self.space, points), strict=True):
            order = np.argsort(away, kind="stable")
            row[order] = _log_row(away[order], chosen, scale, reach)
        return rows

    def scale(self, smallest: float, largest: float) -> float:
        """b, as published; ``smallest`` and ``largest`` are distances between different words."""
        a = (self.epsilon - 2 * (1 + math.log(len(self.space))) / smallest) / 3
        return 2 * largest / min(lambert(2 * a * largest), math.log(a * smallest))


def log_chances(words: int) -> Floats:
    """The logarithm of P[k] for k = 1 … words: Poisson with mean ln(words), truncated."""
    k = np.arange(1, words + 1)
    logs = k * math.log(math.log(words)) - np.array([math.lgamma(n + 1) for n in k.tolist()])
    total: Floats = logs - np.log(np.exp(logs).sum())
    return total


def lambert(x: float) -> float:
    """The w with w·exp(w) = x, for positive x.

    >>> round(lambert(math.e), 12)
    1.0
    """
    w = math.log1p(x)
    for _ in range(50):
        w -= (w * math.exp(w) - x) / (math.exp(w) * (w + 1))
    return w


def _log_row(away: Floats, chosen: Floats, scale: float, reach: float) -> Floats:
    """The logarithm of P for each word, nearest first.

    P[i] = ∫ f_i(t) · Σ_{k >= i} P[k] · Π_{j <= k, j ≠ i} S_j(t) dt, where t is the smallest noisy
    distance, f_i the density of the i-th one and S_j the probability that the j-th lies above t.
    """
    kinks = np.unique(np.append(away - reach, away[0] + reach))
    kinks = kinks[kinks <= away[0] + reach]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(kinks)[:, None] / 2
    places = (kinks[:-1, None] + half * (1 + nodes)).ravel()
    weights = (half * weights).ravel()
    log_density, log_survival = _truncated_gumbel(places - away[:, None], scale, reach)
    # Probability that the first k words all lie above t, summed over k from each rank on.
    above = np.exp(chosen[:, None] + log_survival.cumsum(axis=0))
    from_rank = above[::-1].cumsum(axis=0)[::-1]
    row: Floats = (np.exp(log_density - log_survival) * from_rank) @ weights
    return np.log(row)


def _truncated_gumbel(x: Floats, scale: float, reach: float) -> tuple[Floats, Floats]:
    """Log-density and log-survival function, truncated to [−reach, reach]."""
    low, high = (math.exp(-math.exp(-end / scale)) for end in (-reach, reach))
    inside = np.clip(x, -reach, reach) / scale
    below = np.exp(-np.exp(-inside))
    with np.errstate(divide="ignore"):
        survival = np.log((high - below) / (high - low))
        density = -inside - np.exp(-inside) - math.log(scale * (high - low))
        density = np.where(np.abs(x) <= reach, density, -np.inf)
    return density, survival


@dataclass(frozen=True, kw_only=True)
class WrongBottom(FromRows):
    """TEM, but ⊥ is scored by |W|/|L| instead of |W∖L|.

    What is claimed
        Near words, within γ, are scored by their distance. One item ⊥ stands for all others, with
        score −γ + (2/ε)·ln(|W|/|L|), where |L| is the number of near words: metric DP at level ε.

    Why it is false
        ⊥ must weigh as much as all the far words that it stands for, which takes ln|W∖L|. With
        |W|/|L| a word just beyond γ is far less likely than one just within, by a factor of about
        |L|·|W∖L|/|W|. For two near-duplicates, one on either side of γ from some word, no small
        distance allows that ratio.

    Repair
        (2/ε)·ln|W∖L|: the exponential mechanism for the distance min(d, γ).

    Reference
        Carvalho, Vasiloudis, Feyisetan and Wang 2021, "TEM: High utility metric differential
        privacy on text" has ln|W∖L|; a public implementation has |W|/|L|, with the same γ as here.
    """

    space: Space
    epsilon: float
    gamma: float

    def guarantee(self) -> Guarantee:
        """The claim."""
        return metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=(self.space,))

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, one row per point."""
        away = distances(self.space, points)
        near = away <= self.gamma
        inside = np.count_nonzero(near, axis=1)
        items = np.empty((len(points), len(self.space) + 1))
        items[:, :-1] = np.where(near, -0.5 * self.epsilon * away, -np.inf)
        # With no word within γ the implementation divides by zero; we take one.
        share = np.log(len(self.space) / np.maximum(inside, 1))
        items[:, -1] = -0.5 * self.epsilon * self.gamma + share
        beyond = len(self.space) - inside
        items[beyond == 0, -1] = -np.inf
        logs = log_normalized(items)
        each = logs[:, -1] - np.log(np.maximum(beyond, 1))
        return np.where(near, logs[:, :-1], each[:, None])


@dataclass(frozen=True, kw_only=True)
class VickreyWithoutTheInput:
    """Vickrey, but the two words are the nearest ones *other than the input*.

    What is claimed
        Laplace noise, then one of the two nearest words, but never the original, so that every word
        is replaced: metric DP at the level of the noise.

    Why it is false
        Leaving out the original requires knowing it, so this is no post-processing. A word has
        probability 0 for itself and a positive probability for its neighbors, however near.

    Repair
        Choose between the two words nearest to the noisy vector, whichever they are.

    Reference
        Xu, Feyisetan, Aggarwal, Xu and Teissier 2021, "On a utilitarian approach to privacy
        preserving text generation", as several implementations read it.
    """

    space: Space
    epsilon: float
    t: float = 0.5

    def guarantee(self) -> Guarantee:
        """The claim: what Vickrey states."""
        return Vickrey(space=self.space, epsilon=self.epsilon, t=self.t).guarantee()

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """Two nearest words, the input left out: this is where the claim breaks."""
        outputs = np.empty(len(points), dtype=np.intp)
        for point in np.unique(points).tolist():
            places = np.flatnonzero(points == point)
            outputs[places] = self._drawn(point, len(places), randomness)
        return outputs

    def _drawn(self, point: int, count: int, randomness: Randomness) -> NDArray[np.intp]:
        noise = Laplace(space=self.space, epsilon=self.epsilon).noise(count, randomness)
        others = np.flatnonzero(np.arange(len(self.space)) != point)
        words, away = NearestTwo(self.space.vectors[others]).find(
            self.space.at(np.array([point], dtype=np.intp)) + noise
        )
        taken = randomness.uniform(count) < chance_of_first(away[:, 0], away[:, 1], self.t)
        return others[np.where(taken, words[:, 0], words[:, 1])]


def custom() -> Custom:
    """CusText inside groups and with the factor ½, as it is in the catalog."""
    return Custom(space=frequent_words(CUSTEXT_WORDS), epsilon=CUSTEXT_EPSILON)


CUSTEXT_ACROSS_GROUPS = Exhibit(
    name="custext-across-groups",
    source="CusText (Chen et al. 2023), read as local DP over the whole vocabulary",
    claim="any two words are told apart by a factor of at most exp(ε)",
    reason="words of different groups have no output in common",
    repair="compare words of one group only (custom)",
    broken=lambda: CustomAnywhere(space=frequent_words(CUSTEXT_WORDS), epsilon=CUSTEXT_EPSILON),
    repaired=custom,
)
CUSTEXT_WITHOUT_HALF = Exhibit(
    name="custext-without-half",
    source="CusText (Chen et al. 2023) without its factor ½",
    claim="drawing with probability proportional to exp(ε·u) is ε-local DP inside a group",
    reason="the normalizing sum changes with the word too",
    repair="exp(ε·u/2) (custom)",
    broken=lambda: CustomWithoutHalf(space=frequent_words(CUSTEXT_WORDS), epsilon=CUSTEXT_EPSILON),
    repaired=custom,
)
TEM_WRONG_BOTTOM = Exhibit(
    name="tem-wrong-bottom",
    source="TEM (Carvalho et al. 2021) with |W|/|L| in the score of ⊥",
    claim="metric DP at level ε",
    reason="a word just beyond γ is far less likely than one just within it",
    repair="score ⊥ by ln|W∖L| (truncated)",
    broken=lambda: WrongBottom(
        space=frequent_words(TEM_WORDS), epsilon=TEM_EPSILON, gamma=TEM_GAMMA
    ),
    repaired=lambda: Truncated(
        space=frequent_words(TEM_WORDS), epsilon=TEM_EPSILON, gamma=TEM_GAMMA
    ),
)
TRUNCATED_GUMBEL = Exhibit(
    name="truncated-gumbel",
    source="truncated Gumbel noise (Xu et al. 2021a)",
    claim="metric DP at level ε",
    reason="the k nearest words are chosen by looking at the input",
    repair="Gumbel noise on all words (exponential)",
    broken=lambda: TruncatedGumbel(space=frequent_words(GUMBEL_WORDS), epsilon=GUMBEL_EPSILON),
    repaired=lambda: Exponential(space=frequent_words(GUMBEL_WORDS), epsilon=GUMBEL_EPSILON),
)
VICKREY_WITHOUT_INPUT = Exhibit(
    name="vickrey-without-input",
    source="the Vickrey mechanism (Xu et al. 2021b) with the input word dropped",
    claim="choosing among the nearest words other than the input is metric DP",
    reason="a word has probability 0 for itself and not for its neighbors",
    repair="choose among the nearest words, whichever they are (vickrey)",
    broken=lambda: VickreyWithoutTheInput(
        space=color_space(VICKREY_EPSILON), epsilon=VICKREY_EPSILON
    ),
    repaired=lambda: Vickrey(space=color_space(VICKREY_EPSILON), epsilon=VICKREY_EPSILON),
)
