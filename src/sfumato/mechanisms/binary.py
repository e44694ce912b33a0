"""Binary codes of word vectors, each bit flipped at random, then the nearest code.

Guarantee
    Metric DP at level ``epsilon`` in the Hamming distance H between codes: for all words x, x'
    and y, P[M(x) = y] <= exp(epsilon * H(x, x')) * P[M(x') = y]. Words outside the vocabulary
    share one point and so one code, hence the statement covers them too.

Why it holds
    The code of a word is a public function of it: the signs of a public random projection of its
    vector, sign(0) = +1. Each bit is kept with chance e^ε/(1+e^ε) and flipped with chance
    1/(1+e^ε), independently: per differing bit the chance of any outcome changes by at most the
    factor e^ε. The nearest code, and the first word in public order that has it, are functions of
    the noisy code and of public codes, hence post-processing.

    The same holds of the draws themselves. They compare one of 2^53 equally likely numbers with the
    chance of a flip, so that chance is raised to the next multiple of 2^−53, and to 2^−53 at least:
    a bit is never flipped more rarely than stated, and where it is flipped more often both ratios
    only come closer to 1. Beyond ε = 36.7 this changes nothing any more, and no bit is ever seen to
    flip: the statement is true, and says next to nothing.

Care
    H is a pseudo-metric: words with one code are at distance 0, and only the first of them in
    public order is ever an output. Any two words differ in at most all bits, so no pair is told
    apart by more than epsilon·bits. ``projection_seed`` is public by design, like the vectors: it
    decides which projection is used and nothing else. The flips never come from it.

Reference
    Carvalho, Vasiloudis and Feyisetan 2021, "BRR: Preserving privacy of text data efficiently on
    device".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Flags, Points, Singles
from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import DRAWS, Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.draws import in_blocks
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.noise import draw_by_noise
from sfumato.vectors.space import Space

CODES = 4096
MOST_BITS = 4096
# Rows are exact by going through all codes, so only for few bits.
MOST_ENUMERATED = 10


@dataclass(frozen=True, kw_only=True)
class Binary:
    """Flip the bits of a word's code at random and take the word whose code is nearest then.

    >>> from sfumato.vectors.load import default_space
    >>> binary = Binary(space=default_space(), epsilon=2)
    >>> points = binary.space.points(["london"] * 5)
    >>> replaced = binary.privatize(points, Randomness.reproducible(7))
    >>> len(replaced), binary.guarantee().epsilon
    (5, 2.0)
    """

    space: Space
    epsilon: float
    bits: int = 64
    projection_seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level(self.epsilon))
        at_least("bits", self.bits, 1)
        between("bits", self.bits, 1, MOST_BITS)
        at_least("projection_seed", self.projection_seed, 0, most=None)

    def guarantee(self) -> Guarantee:
        """Metric DP in the Hamming distance between codes."""
        return metric_dp(
            epsilon=self.epsilon,
            metric=(
                f"number of bits, out of {self.bits}, in which the codes of two words differ: the "
                f"signs of projection {self.projection_seed} of word vectors in {self.space.name}"
            ),
            about=(self.space, self.bits, self.projection_seed),
        )

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon times the number of bits in which the code of every point differs."""
        bounds: NDArray[np.float64] = self.epsilon * np.count_nonzero(
            self.codes != self.codes[point], axis=1
        )
        return bounds

    @property
    def flip_chance(self) -> float:
        """How likely a bit is flipped."""
        return flip_chance(self.epsilon)

    @cached_property
    def codes(self) -> NDArray[np.bool_]:
        """The code of every point, the unknown one last; public."""
        key = ("codes", self.bits, self.projection_seed)
        return self.space.derive(key, self._make_codes)

    def _make_codes(self) -> NDArray[np.bool_]:
        # A statistical generator will do, for the projection is public; and being another kind of
        # generator than the one of the flips, it shares no number with that under any seed.
        generator = np.random.default_rng(self.projection_seed)
        projection = generator.standard_normal((self.space.dimension, self.bits))
        codes = np.empty((len(self.space) + 1, self.bits), dtype=np.bool_)
        for start in range(0, len(codes), CODES):
            points = np.arange(start, min(start + CODES, len(codes)))
            codes[points] = self.space.at(points) @ projection >= 0
        return codes

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; outputs are words of the vocabulary."""
        return in_blocks(points, lambda block: draw_by_noise(self, block, randomness))

    def places(self, points: Points) -> Flags:
        """The codes of points."""
        return self.codes[points]

    def moved(self, points: Points, randomness: Randomness) -> Flags:
        """The codes of points with some bits flipped."""
        noisy = self.places(points)
        noisy ^= (randomness.uniform(noisy.size) < self.flip_chance).reshape(noisy.shape)
        return noisy

    def words_at(self, places: Flags, randomness: Randomness) -> Points:  # noqa: ARG002
        """The word whose code is nearest to each noisy one."""
        return self.nearest(places)

    def distances_from(self, places: Flags, first: int | None = None) -> Singles:
        """Number of bits in which the code of every word differs, or of the first words."""
        # Words that share a code share a column of the table, that of the first of them.
        columns = self._column_of_word[:first]
        agreement: Singles = _signs(places) @ self._table[1][:, : int(columns.max()) + 1]
        agreement -= self.bits
        agreement *= -0.5
        apart = len(columns) == agreement.shape[1]
        return agreement if apart else np.take(agreement, columns, axis=1)

    def nearest(self, noisy: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The word whose code differs in the fewest bits, of equals the first in public order."""
        words, table = self._table
        signs = _signs(noisy)
        found = np.zeros(len(noisy), dtype=np.intp)
        best = np.full(len(noisy), -np.inf, dtype=np.float32)
        for start in range(0, len(words), CODES):
            # Equal bits minus differing ones: whole numbers, which float32 holds exactly.
            agreement = signs @ table[:, start : start + CODES]
            local = agreement.argmax(axis=1)
            value = np.take_along_axis(agreement, local[:, None], axis=1)[:, 0]
            better = value > best
            best[better] = value[better]
            found[better] = words[local[better] + start]
        return found

    def enumerated_rows(self) -> NDArray[np.float64]:
        """Probability of every word for every point, by going through all noisy codes.

        Exact, and for a small space and few bits only.
        """
        if self.bits > MOST_ENUMERATED:
            raise InvalidArgument(
                f"bits={self.bits} must be at most {MOST_ENUMERATED} for exact rows: there are "
                "2 to that power of noisy codes to go through"
            )
        every = (np.arange(2**self.bits)[:, None] >> np.arange(self.bits) & 1).astype(np.bool_)
        agreement = _signs(self.codes) @ _signs(every).T
        differing = (self.bits - agreement.astype(np.float64)) / 2
        unflipped = self.bits * math.log1p(-self.flip_chance)
        odds = math.log(self.flip_chance) - math.log1p(-self.flip_chance)
        chances = np.exp(unflipped + odds * differing)
        output = self.nearest(every)
        rows = np.zeros((len(self.codes), len(self.space)))
        for word in np.unique(output):
            rows[:, word] = chances[:, output == word].sum(axis=1)
        return rows

    @property
    def _table(self) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The first word of each distinct code, in public order, and those codes as columns."""
        return self._tables[:2]

    @property
    def _column_of_word(self) -> NDArray[np.intp]:
        """For every word, the column of its code in the table."""
        return self._tables[2]

    @cached_property
    def _tables(self) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.intp]]:
        key = ("code tables", self.bits, self.projection_seed)
        return self.space.derive(key, self._make_tables)

    def _make_tables(self) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.intp]]:
        packed = np.packbits(self.codes[:-1], axis=1)
        _, first, code = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        words = np.sort(first).astype(np.intp)
        columns = np.searchsorted(words, first)[code.reshape(-1)].astype(np.intp)
        return words, np.ascontiguousarray(_signs(self.codes[words]).T), columns


def _signs(codes: NDArray[np.bool_]) -> NDArray[np.float32]:
    signs = codes.astype(np.float32)
    signs *= 2
    signs -= 1
    return signs


def flip_chance(epsilon: float) -> float:
    """1/(1+e^ε), raised to the next chance that a draw can have.

    >>> flip_chance(0.0), round(flip_chance(2.0), 4)
    (0.5, 0.1192)
    """
    odds = math.exp(-epsilon)
    # More than all rounding above may have taken away, so that it is no less than stated.
    stated = odds / (1 + odds) * (1 + 2.0**-50)
    return min(0.5, max(1, math.ceil(stated * DRAWS)) / DRAWS)
