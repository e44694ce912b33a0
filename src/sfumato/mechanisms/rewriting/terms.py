"""Synthetic term frequencies: a document becomes a bag of public words, drawn one by one.

Guarantee
    Any output is at most exp(ε) times likelier for one document than for any other, whatever they
    say and however long they are. ε is the level of a document, for all of its ``terms`` draws; one
    draw costs e(R, V) (``accounting/bounded_range.py``), R being how far apart the weighted ratings
    of two words can be, and V the number of public words. With a ``delta``, ε is the least of what
    pure, zero-concentrated and Rényi composition prove.

Why it holds
    A draw takes one of the document's words v, each occurrence equally likely, and puts a public
    word w in its place with probability P(w | v) = exp(s_v(w))/Z_v, where s_v(w) = β·(cosine of
    both, cut to [low, high]) − β·low lies between 0 and R = β(high − low). Over all words of the
    document the law of a draw is

        Σ_v f_v·exp(s_v(w))/Z_v = A·exp(s(w)),  A = Σ_v f_v/Z_v,

    where f_v is the share of v in the document and exp(s(w)) a mean of the numbers exp(s_v(w)) with
    weights f_v/(Z_v·A), so that 0 <= s(w) <= R. So a draw for a whole document is again a draw by
    scores from the same window, and everything that is proven about such draws holds: for any two
    documents, and for n independent draws together. The words are sorted, which is post-processing.

Care
    *The number of draws* is public and the same for all documents. To draw as many words as a
    document has, as one would for plain term frequencies, shows its length.
    *The rating* has to lie in the window for every pair, whatever it is computed from. The paper's
    bound is that of a rating in [0, 1] with sensitivity 1, ε·ρ/2 in the exponent: the same as
    e(R, V) <= 2R here.
    *Synonyms* must not bound the outcomes: drawing among the nearest words of v alone (a list, a
    threshold) gives documents other supports, and no level. All V words are always possible, so V
    decides what a level is worth: below R ≈ ln V most draws have nothing to do with the document.
    Hence ``words``: fewer outcomes, less noise.
    Frequent words (the first ``skip`` of the public vectors) are neither read nor written; a
    document without any other word is drawn for like one of unknown words.

Reference
    Weggenmann and Kerschbaum 2018, "SynTF: synthetic and differentially private term frequency
    vectors for privacy-preserving text mining".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting.bounded_range import ProvenLevel, least_level, widest_range
from sfumato.accounting.events import LARGEST_RANGE, BoundedRange
from sfumato.core.arrays import Points
from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.guarantees.guarantee import Guarantee, Notion, independent
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rewriting.law import OnPool, SentenceLaw, check_weight, check_window
from sfumato.mechanisms.rewriting.pool import Pool, center, in_singles
from sfumato.policies.identity import Identity
from sfumato.text.words import Words
from sfumato.vectors.load import default_space, load_vectors
from sfumato.vectors.space import Space

MOST_TERMS = 10_000
# Words over which a claim is tested: all pairs of so many, and of a few.
_TESTED = (200, 12)
_HALVINGS = 60
_NOT_COPIED = ("law", "space", "pool")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Put ``terms`` public words, sorted, in the place of each document.

    The words are the ``words`` most frequent ones of the public vectors, without the first
    ``skip``; ``vectors`` is a file of word vectors, or nothing for the embedded ones. Cosines are
    cut to ``low`` and ``high``. Give the level of a document, ``epsilon``, at ``delta``, or the
    weight of a cosine, ``beta``; 0 draws uniformly.

    >>> made = Terms(epsilon=400, terms=20, words=500)
    >>> (text,) = made.rewrite(["the doctor sent her to the hospital"], Randomness.secure())
    >>> len(text.split()), round(made.guarantee().epsilon)
    (20, 400)
    """

    epsilon: float | None = None
    beta: float | None = None
    terms: int = 20
    words: int = 2000
    skip: int = 150
    low: float = 0.1
    high: float = 0.7
    delta: float = 0.0
    vectors: FileToRead = field(default="", repr=False)

    def __post_init__(self) -> None:
        check_weight(self.epsilon, self.beta)
        check_window(self.low, self.high)
        at_least("terms", self.terms, 1, MOST_TERMS)
        at_least("words", self.words, 2)
        at_least("skip", self.skip, 0)
        if between("delta", self.delta, 0.0, 1.0) >= 1.0:
            raise InvalidArgument(f"delta={self.delta:g} must be smaller than 1")
        if self.beta is not None:
            BoundedRange(range=self.beta * (self.high - self.low), outcomes=2)  # or an error

    @cached_property
    def space(self) -> Space:
        """The public vectors."""
        return load_vectors(self.vectors) if self.vectors else default_space()

    @cached_property
    def pool(self) -> Pool:
        """The public words that can come out."""
        every = (place for place in range(self.skip, len(self.space)))
        places = [place for place in every if self.space.words[place].isalpha()][: self.words]
        if len(places) < 2:
            raise InvalidArgument(
                f"skip={self.skip} leaves fewer than two of the {len(self.space):,} public words"
            )
        found = self.space.at(np.array(places, dtype=np.intp))
        mean = found.mean(axis=0)
        words = tuple(self.space.words[place] for place in places)
        name = f"{len(words):,} words of {self.space.name}"
        return Pool(name, words, in_singles(center(found, mean)), mean)

    @cached_property
    def law(self) -> SentenceLaw:
        """What one word of a document becomes."""
        beta = self._weight() if self.beta is None else float(self.beta)
        return SentenceLaw(pool=self.pool, beta=beta, low=self.low, high=self.high)

    @property
    def draw_level(self) -> float:
        """ε of one draw, for any two documents."""
        return self.law.level

    def guarantee(self) -> Guarantee:
        """The level of a document."""
        scope = (
            f"every document, of which {self.terms:,} words are drawn among {len(self.pool):,} "
            "public ones and nothing else stays"
        )
        if self.law.beta == 0:
            return independent(unit="document", scope=scope)
        proven = self._proven(self.law.score_range)
        return Guarantee(
            notion=Notion.APPROXIMATE_DP if proven.delta else Notion.PURE_DP,
            unit="document",
            neighbors="any two documents",
            epsilon=proven.epsilon,
            delta=proven.delta,
            scope=scope,
        )

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        """The drawn words of each document, sorted."""
        return [" ".join(self.draw(one, randomness)) for one in documents]

    def draw(self, document: str, randomness: Randomness) -> list[str]:
        """The drawn words of one document."""
        points = self.points_of(document)
        places = randomness.integers(len(points), self.terms)
        drawn: list[str] = []
        for point, count in sorted(Counter(points[places].tolist()).items()):
            vector = self._vector(point)
            chosen = self.law.draw(vector, randomness, count)
            drawn += [self.pool.sentences[one] for one in chosen]
        return sorted(drawn)

    def points_of(self, document: str) -> Points:
        """The points of the words that are read; the unknown one if there is none."""
        found = self.space.points(Words.of(document))
        read = found[found >= self.skip]
        return read if len(read) else np.array([self.space.unknown], dtype=np.intp)

    def points(self) -> tuple[PointMechanism, ...]:
        """The law of one draw over some of the words, as a mechanism on points."""
        sizes = sorted({min(count, len(self.pool)) for count in _TESTED}, reverse=True)
        return tuple(OnPool(law=replace(self.law, pool=self.pool.first(one))) for one in sizes)

    def public_facts(self) -> dict[str, Any]:
        """What may be told of the words and the weight: they are public."""
        return {
            "vectors": self.space.name,
            "public_words": len(self.pool),
            "words_digest": self.pool.digest,
            "beta": self.law.beta,
            "epsilon_of_one_draw": self.draw_level,
        }

    def identity(self) -> Identity:
        """All that decides how it draws; the words are public."""
        numbers = (self.epsilon, self.beta, self.low, self.high, self.delta)
        spelled = tuple(None if one is None else float(one) for one in numbers)
        rest = (self.terms, self.words, self.skip, self.space.digest)
        return Identity((type(self).__qualname__, spelled, rest))

    def __getstate__(self) -> dict[str, Any]:
        # Vectors may be large: whoever gets a copy reads them again.
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}

    def _vector(self, point: int) -> Any:
        if point == self.space.unknown:
            return np.zeros(self.space.dimension)
        return center(self.space.at(np.array([point], dtype=np.intp)), self.pool.mean)[0]

    def _proven(self, score_range: float) -> ProvenLevel:
        event = BoundedRange(range=score_range, outcomes=len(self.pool), count=self.terms)
        return least_level([event], self.delta)

    def _weight(self) -> float:
        """β for the level that was asked for, rounded down."""
        level, width = float(self.epsilon or 0.0), self.high - self.low
        if not self.delta:
            return widest_range(level / self.terms, len(self.pool)) / width * (1 - 1e-15)
        low, high = 0.0, LARGEST_RANGE
        if self._proven(high).epsilon <= level:
            raise InvalidArgument(
                f"epsilon={level:g} is more than {self.terms} draws can cost here "
                f"({self._proven(high).epsilon:.4g}); give that or less"
            )
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = self._proven(middle).epsilon <= level
            low, high = (middle, high) if fits else (low, middle)
        return low / width * (1 - 1e-15)
