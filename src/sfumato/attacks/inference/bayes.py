"""The Bayes attacker: guesses the original with the largest prior × P[y | x].

Why no attacker does better
    An attacker who sees y and guesses g(y) is right with probability Σ_y prior(g(y)) · P[y | g(y)].
    Each term is largest for the g(y) that maximizes it, and that is this attacker's guess. So Σ_y
    max_x prior(x) · P[y | x] is the most that anybody with the same prior and the same view can
    reach. With a prior over pairs of words they sum over what the words around may have been
    (forward–backward algorithm), and maximize each word's posterior given the whole sentence.

Care
    This attacker is the best for *their* prior. P[y | x] is exact where a mechanism knows its
    probabilities (rows). Noise mechanisms do not: there every possible original is privatized a
    number of times, with our own noise, and the outputs are counted. The attacker is then only
    nearly optimal, and words that were never drawn are ranked by distance, after those that were.

Reference
    The optimal inference attack of Shokri et al. 2012 for location privacy, for words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.attacks.attack import Done
from sfumato.attacks.inference.attackers import Best
from sfumato.attacks.inference.observed import Observed
from sfumato.attacks.inference.priors import Prior, sentence_ends
from sfumato.core.arrays import Floats, Points
from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.draws import SIDE, PartwiseRows
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import CELLS, RowMechanism

# Draws made in one call.
DRAWN_AT_ONCE = 1 << 18
# The most numbers held for all outputs together when whole sentences are weighed (400 MB).
MOST_CELLS = 5 * 10**7


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A mechanism, how its outputs are spelled, and the number of draws where it has no rows."""

    mechanism: PointMechanism
    seen_as: Points
    draws: int
    randomness: Randomness

    @property
    def exact(self) -> bool:
        """Whether the probabilities are exact, and not counted from draws."""
        return isinstance(self.mechanism, RowMechanism)

    def blocks(
        self, originals: Points, outputs: Points, done: Done | None = None
    ) -> Iterator[tuple[slice, Floats]]:
        """Blocks of originals, with the probability of each output given each of them."""
        column = np.full(len(self.seen_as), -1, dtype=np.intp)
        column[outputs] = np.arange(len(outputs))
        column = column[self.seen_as]
        size = max(1, self._at_once(len(outputs)))
        for start in range(0, len(originals), size):
            block = slice(start, min(start + size, len(originals)))
            yield block, self._chances(originals[block], column, len(outputs))
            if done:
                done(block.stop, len(originals))

    def cautious(self, chances: Floats) -> Floats:
        """Exact probabilities unchanged; counted ones a standard error lower.

        Among thousands of candidates some are drawn by luck, and a frequent word that was drawn
        once would outweigh everything else.
        """
        if self.exact:
            return chances
        counts = chances * self.draws
        lowered: Floats = np.maximum(0.0, counts - np.sqrt(counts)) / self.draws
        return lowered

    def _at_once(self, outputs: int) -> int:
        if isinstance(self.mechanism, PartwiseRows):
            return min(SIDE, CELLS // outputs)
        return CELLS // len(self.seen_as) if self.exact else DRAWN_AT_ONCE // self.draws

    def _chances(self, originals: Points, column: Points, width: int) -> Floats:
        mechanism = self.mechanism
        if isinstance(mechanism, PartwiseRows):
            return _from_parts(mechanism, originals, column, width)
        if isinstance(mechanism, RowMechanism):
            wanted = np.flatnonzero(column >= 0)
            chances = np.exp(mechanism.log_rows(originals)[:, wanted])
            return _gather(chances, column[wanted], width)
        return self._from_draws(originals, column, width)

    def _from_draws(self, originals: Points, column: Points, width: int) -> Floats:
        drawn = self.mechanism.privatize(originals.repeat(self.draws), self.randomness)
        seen = column[drawn]
        row = np.arange(len(originals)).repeat(self.draws)
        cells = (row * width + seen)[seen >= 0]
        counts = np.bincount(cells, minlength=len(originals) * width)
        found: Floats = counts.reshape(len(originals), width) / self.draws
        return found


def _from_parts(mechanism: PartwiseRows, originals: Points, column: Points, width: int) -> Floats:
    """Probabilities from blocks of weights and their sums, without holding whole rows."""
    found, whole = np.zeros((len(originals), width)), np.zeros(len(originals))
    for start in range(0, len(column), SIDE):
        tile = slice(start, min(start + SIDE, len(column)))
        weights = mechanism.weights(originals, tile)
        whole += weights.sum(axis=1)
        if (column[tile] >= 0).any():
            found += _gather(weights, column[tile], width)
    found /= whole[:, None]
    return found


def _gather(rows: Floats, column: Points, width: int) -> Floats:
    """The wanted columns; words with the same spelling look the same, so they are summed."""
    wanted = np.flatnonzero(column >= 0)
    found = np.zeros((width, len(rows)))
    np.add.at(found, column[wanted], rows[:, wanted].T)
    return found.T


@dataclass(frozen=True, eq=False)
class Bayes:
    """Prior times likelihood, word by word or over sentences.

    ``draws`` is the number of draws per candidate where a mechanism has no rows.
    """

    prior: Prior
    draws: int = 100

    def __post_init__(self) -> None:
        at_least("draws", self.draws, 1)

    @property
    def reads_context(self) -> bool:
        """Only with a prior over pairs of words."""
        return self.prior.bigrams is not None

    @property
    def knowledge(self) -> str:
        """The prior."""
        return f"They expect {self.prior.said}, and weigh that with the mechanism's probabilities."

    def guesses(
        self, observed: Observed, count: int, randomness: Randomness, done: Done | None = None
    ) -> Points:
        """The originals with the largest posterior, best first."""
        if self.prior.bigrams is not None:
            return self._over_sentences(observed, count, randomness, done)
        found = np.empty((len(observed), count), dtype=np.intp)
        for rank in range(len(observed.mechanisms)):
            outputs, mine, which = observed.distinct(rank)
            if not len(outputs):
                continue
            likelihood = self._likelihood(observed, rank, randomness)
            best = Best.none_yet(len(outputs), count)
            for block, found_chances in likelihood.blocks(self.prior.points, outputs, done):
                chances = likelihood.cautious(found_chances)
                posterior = (chances * self.prior.shares[block, None]).T
                best.add(self.prior.points[block], posterior)
            found[mine] = best.filled(observed, outputs)[which]
        return found

    def _likelihood(self, observed: Observed, rank: int, randomness: Randomness) -> Likelihood:
        stream = randomness.stream(rank)
        return Likelihood(observed.mechanisms[rank], observed.seen_as, self.draws, stream)

    # Over sentences

    def _over_sentences(
        self, observed: Observed, count: int, randomness: Randomness, done: Done | None
    ) -> Points:
        columns, of_word = self._columns(observed, randomness, done)
        best = Best.none_yet(len(observed), count)
        place = np.full(observed.space.unknown + 1, -1, dtype=np.intp)
        place[self.prior.points] = np.arange(len(self.prior.points))
        for words, numbers in _sentences(observed, place):
            chances = [
                columns[of_word[word]] if word >= 0 else _certain(number, len(self.prior.points))
                for word, number in zip(words, numbers, strict=True)
            ]
            for word, posterior in zip(words, self._posteriors(chances), strict=True):
                if word >= 0:
                    one = Best.none_yet(1, count)
                    one.add(self.prior.points, posterior[None])
                    best.points[word] = one.points[0]
        return best.filled(observed, observed.outputs)

    def _columns(
        self, observed: Observed, randomness: Randomness, done: Done | None
    ) -> tuple[Floats, Points]:
        """P[y | ·] for every output that was seen, and the index of each word's output."""
        width = len(self.prior.points)
        parts: list[Floats] = []
        of_word = np.empty(len(observed), dtype=np.intp)
        reached = 0
        for rank in range(len(observed.mechanisms)):
            outputs, mine, which = observed.distinct(rank)
            of_word[mine] = which + reached
            reached += len(outputs)
            if reached * width > MOST_CELLS:
                raise InvalidArgument(
                    f"{width:,} candidates for {reached:,} different replacements are too many to "
                    "weigh sentences with; fewer candidates: `settings={'candidates': 2000}`"
                )
            part = np.empty((len(outputs), width))
            likelihood = self._likelihood(observed, rank, randomness)
            for block, chances in likelihood.blocks(self.prior.points, outputs, done):
                part[:, block] = likelihood.cautious(chances).T
            parts.append(part)
        return np.vstack(parts), of_word

    def _posteriors(self, chances: list[Floats]) -> list[Floats]:
        """The posterior of every word given the whole sentence (forward–backward)."""
        bigrams, prior = self.prior.bigrams, self.prior.shares
        assert bigrams is not None  # noqa: S101  # checked by the caller
        ahead = [_weigh(prior, chances[0])]
        for here in chances[1:]:
            ahead.append(_weigh(bigrams.ahead(ahead[-1], prior), here))
        back = [np.ones(len(prior))]
        for here in reversed(chances[1:]):
            back.append(_scale(bigrams.back(_weigh(back[-1], here), prior)))
        return [before * after for before, after in zip(ahead, reversed(back), strict=True)]


def _sentences(observed: Observed, place: Points) -> list[tuple[list[int], list[int]]]:
    """Runs of words that inform about each other and contain a privatized one.

    Each word is given by its number among the privatized ones, or −1 and its index in the prior. A
    word outside the prior tells nothing about its neighbors and ends a run.
    """
    number_of = {tuple(at): number for number, at in enumerate(observed.places.tolist())}
    runs: list[tuple[list[int], list[int]]] = []
    for document in np.unique(observed.places[:, 0]).tolist():
        pair = observed.pairs[document]
        words: list[int] = []
        numbers: list[int] = []
        for index in range(len(pair.words)):
            if words and sentence_ends(pair.gap(index)):
                runs.append((words, numbers))
                words, numbers = [], []
            word = number_of.get((document, index), -1)
            # A word that is not privatized is visible in the text.
            number = (
                -1 if word >= 0 else int(place[observed.space.point_of(pair.replacement(index))])
            )
            if word < 0 and number < 0:
                runs.append((words, numbers))
                words, numbers = [], []
                continue
            words.append(word)
            numbers.append(number)
        runs.append((words, numbers))
    return [run for run in runs if any(word >= 0 for word in run[0])]


def _certain(number: int, size: int) -> Floats:
    one = np.zeros(size)
    one[number] = 1.0
    return one


def _weigh(expected: Floats, chances: Floats) -> Floats:
    """Prior times likelihood, scaled; the prior alone if the product is 0 everywhere."""
    both = expected * chances
    return _scale(both if both.any() else expected)


def _scale(weights: Floats) -> Floats:
    scaled: Floats = weights / weights.sum()
    return scaled
