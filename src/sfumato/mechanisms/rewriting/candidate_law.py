"""One draw for a whole document, by how well each public candidate stands for its sentences.

Guarantee
    A document has k sentences at most, with unit vectors x, or 0; k is public. The output is
    candidate y of the pool with probability ∝ exp(s(y)), where

    - by *cosine* s(y) = β·Σ (min(max(⟨x, y⟩, low), high) − low), summed over the sentences, and
    - by *depth* s(y) = β times the depth of y among them (``depth.py``).

    For two documents that differ in one sentence, which is another one, added or left out,
    P[y | x] <= e^ε·P[y | x'] with ε = ``change_level(R, m, M)``, and for any two documents with
    ``whole_level(R, m, M)`` (``accounting/summed_scores.py``). M is the size of the pool; R is
    β·(high − low) and m = k by cosine, and R is β and m = ⌊k/2⌋ by depth.

Why it holds
    By cosine the score is a sum of k parts, each in a window of width R; where there are fewer
    sentences, the missing ones add 0 to every candidate. A sentence that is exchanged, added or
    left out changes one part, also where it pushes the last of k sentences out: what is summed
    does not depend on their order. So mean cosines have the sensitivity (high − low)/k, and the
    level is just below the 2R of the exponential mechanism. By depth the score lies between 0 and
    m·R, and a change moves it by R at most.

    The draw is right in proportion for every candidate (``draw.py``, ``proposals.py``).

Care
    Short documents weigh less than long ones: a missing sentence says nothing. To divide by the
    number of sentences that there are, or to repeat them up to k, would count a sentence of a short
    document several times, and its level with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.accounting.summed_scores import change_level, whole_level
from sfumato.core.arrays import Floats, Points
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, independent
from sfumato.mechanisms.rewriting.depth import depths, public_directions
from sfumato.mechanisms.rewriting.draw import Weighted
from sfumato.mechanisms.rewriting.law import AT_ONCE, POOL_GAP
from sfumato.mechanisms.rewriting.pool import Pool
from sfumato.mechanisms.rewriting.proposals import CutCosines
from sfumato.mechanisms.rows import FromRows, log_normalized
from sfumato.vectors.space import Space

ONE_SENTENCE = "two documents of which one has another sentence in one place, or one sentence more"
MORE_GAP = (
    "documents that differ in more than one sentence, for which the level is larger (it is stated "
    "as document_epsilon among the settings of the mechanism)"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateLaw(ABC):
    """What a document becomes, by the vectors of its sentences, ``most`` at most."""

    pool: Pool
    beta: float
    most: int

    @property
    @abstractmethod
    def part_range(self) -> float:
        """R: how far one sentence can move a score."""

    @property
    @abstractmethod
    def parts(self) -> int:
        """m: a score lies between 0 and m·R."""

    @abstractmethod
    def scores(self, vectors: Floats) -> Floats:
        """The score of every candidate for one document."""

    @property
    def level(self) -> float:
        """ε of one sentence."""
        return change_level(self.part_range, self.parts, len(self.pool))

    @property
    def document_level(self) -> float:
        """ε between any two documents."""
        return whole_level(self.part_range, self.parts, len(self.pool))

    def log_row(self, vectors: Floats) -> Floats:
        """Log-probability of every candidate for one document."""
        found: Floats = log_normalized(self.scores(vectors)[None])[0]
        return found

    def draw(self, vectors: Floats, randomness: Randomness, count: int = 1) -> Points:
        """The numbers of so many candidates, independent draws for one document."""
        return Weighted.of(np.exp(self.scores(vectors))).draw(count, randomness)

    def guarantee(self, *, whole: bool = False) -> Guarantee:
        """What is proven about one sentence of a document, or about a whole one."""
        scope = (
            f"every document, in the place of which stands one sentence, drawn once from a public "
            f"pool of {len(self.pool):,} by its first {self.most:,} sentences"
        )
        if not self.level:
            return independent(unit="document", scope=scope).not_covering(POOL_GAP)
        return Guarantee(
            notion=Notion.PURE_DP,
            unit="document" if whole else "sentence",
            neighbors="any two documents" if whole else ONE_SENTENCE,
            epsilon=self.document_level if whole else self.level,
            scope=scope,
            uncovered=(POOL_GAP,) if whole else (POOL_GAP, MORE_GAP),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ByCosine(CandidateLaw):
    """The sum of cosines, each cut to [``low``, ``high``]."""

    low: float
    high: float

    @property
    def part_range(self) -> float:
        """β times the width of the window."""
        return self.beta * (self.high - self.low)

    @property
    def parts(self) -> int:
        """One for each sentence."""
        return self.most

    def scores(self, vectors: Floats) -> Floats:
        """β times the sum of cut cosines."""
        found = np.zeros(len(self.pool))
        for start in range(0, len(found), AT_ONCE):
            part = self.pool.vectors[start : start + AT_ONCE].astype(np.float64)
            for vector in vectors[: self.most]:
                # One vector at a time: what others are beside it must not change a digit.
                cut = np.clip(part @ vector, self.low, self.high) - self.low
                found[start : start + AT_ONCE] += cut
        found *= self.beta
        return found

    def draw(self, vectors: Floats, randomness: Randomness, count: int = 1) -> Points:
        """The numbers of so many candidates, with exact scores of those alone that may be drawn."""
        cosines = CutCosines(public=self.pool.vectors, beta=self.beta, low=self.low, high=self.high)
        return cosines.propose(vectors[: self.most]).draw(count, randomness)


@dataclass(frozen=True, kw_only=True, eq=False)
class ByDepth(CandidateLaw):
    """The depth along public directions, within the first ``components`` of the pool."""

    components: int | None
    projections: int

    @property
    def part_range(self) -> float:
        """β: no sentence changes a depth by more than 1."""
        return self.beta

    @property
    def parts(self) -> int:
        """No depth is larger than half of the sentences."""
        return self.most // 2

    def scores(self, vectors: Floats) -> Floats:
        """β times the depth."""
        taken = vectors[: self.most]
        along = [vector @ self.directions for vector in taken]
        size = self.directions.shape[1]
        sentences = np.stack(along) if along else np.empty((0, size))
        return self.beta * depths(sentences, self._places)

    @cached_property
    def directions(self) -> Floats:
        """The public directions, one per column."""
        return public_directions(self.pool, self.components, self.projections)

    @cached_property
    def _places(self) -> Floats:
        found: Floats = self.pool.vectors.astype(np.float64) @ self.directions
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class OnDocuments(FromRows):
    """The law as a mechanism on points, so that its claim can be tested.

    Each point is a document: a sentence of the pool, and beside it the sentences ``beside``, which
    are the same for all points. With ``whole``, the sentence of the pool stands there as often as
    there is room for it. The unknown point is a document of those beside alone. Draws go the way of
    ``rewrite``, from the vectors on.
    """

    law: CandidateLaw
    beside: Floats
    whole: bool = False

    @cached_property
    def space(self) -> Space:  # type: ignore[override]
        """The pool as a space."""
        pool = self.law.pool
        return Space(pool.name, pool.sentences, np.asarray(pool.vectors, dtype=np.float32))

    def guarantee(self) -> Guarantee:
        """What is proven about one sentence, or about all of them where all differ."""
        return self.law.guarantee(whole=self.whole)

    def log_rows(self, points: Points) -> Floats:
        """Log-probability of every candidate, one row per point."""
        return np.stack([self.law.log_row(self._document(int(one))) for one in points])

    def privatize(self, points: Points, randomness: Randomness) -> Points:
        """One independent draw for each point."""
        outputs = np.empty(len(points), dtype=np.intp)
        for point in np.unique(points):
            mine = points == point
            drawn = self.law.draw(self._document(int(point)), randomness, int(mine.sum()))
            outputs[mine] = drawn
        return outputs

    def _document(self, point: int) -> Floats:
        vectors = self.law.pool.vectors
        if point >= len(vectors):
            return self.beside
        copies = self.law.most if self.whole else 1
        own = np.repeat(vectors[point : point + 1].astype(np.float64), copies, axis=0)
        return np.vstack([self.beside, own])
