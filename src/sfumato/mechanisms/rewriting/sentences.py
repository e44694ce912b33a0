"""Rewrite a document sentence by sentence: each becomes a sentence of a public pool.

Guarantee
    One sentence: whatever it is, any output is at most exp(ε) times likelier than for any other
    sentence, with ε = e(R, M) for one draw among M public sentences (``law.py``); or, with
    ``metric``, at most exp(2β·d) times likelier than for one at distance d. With ``most``, a whole
    document: at most that many sentences of it are rewritten, the others are left out, and the
    level covers all of them; ``delta`` allows for the least of three proofs. With ``fill``, every
    document gets exactly ``most`` sentences, and nothing of it shows.

Why it holds
    A document is cut by a public rule (``text/sentences.py``). Each of its sentences has one draw
    of its own, with randomness of its own, whose probabilities depend on that sentence alone: it is
    encoded by itself, and no other text is beside it. Between two documents with k <= ``most``
    sentences each, k draws differ: that is a ``BoundedRange`` release of ``most`` draws. A place
    that ``fill`` adds is a sentence with the vector 0, whose draw is uniform; so any two documents
    have ``most`` draws each.

    The draw is right in proportion for every sentence of the pool (``draw.py``, ``proposals.py``),
    so the level holds for what is drawn, not only for the law.

Care
    The pool must be public and chosen without looking at the text: one taken from private text
    publishes sentences of it. A file job refuses its own input as a pool, and a pool with one of
    its longer documents; texts in memory cannot be compared with anything. How many sentences a
    document has shows, unless ``fill`` is given. At a level of several dozens the output is one of
    the nearest sentences of the pool: what it is about shows, by design.

Reference
    McSherry and Talwar 2007 for the exponential mechanism; the pool, the cut and the proof are
    sfumato's own. Meehan, Mrini and Chaudhuri 2022 ("Sentence-level privacy for document
    embeddings") release a vector near a document's sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting.bounded_range import least_level, widest_range
from sfumato.accounting.events import LARGEST_RANGE, BoundedRange
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead, FolderToFill
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee, Notion, independent
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rewriting.law import (
    POOL_GAP,
    OnPool,
    SentenceLaw,
    check_weight,
    check_window,
)
from sfumato.mechanisms.rewriting.pool import Pool, encoder_digest, load_pool
from sfumato.policies.identity import Identity
from sfumato.text.sentences import split_sentences

COUNT_LEAK = "how many sentences a document has"
MOST = 10_000
# Sentences of the pool over which a claim is tested: all pairs of so many, and of a few.
_TESTED = (200, 12)
_HALVINGS = 60
_NOT_COPIED = ("law", "text_pool")


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """Put a sentence of a public pool in the place of each sentence.

    ``pool`` is a file with public sentences and ``pool_field`` the column that holds them.
    ``encoder`` is the folder of a sentence encoder; without it vectors are means of the embedded
    word vectors. ``cache`` is a folder in which the vectors of the pool are kept. Cosines are cut
    to ``low`` and ``high``. Give the level, ``epsilon``, or the weight of a cosine, ``beta``; 0
    draws uniformly. ``epsilon`` is that of the unit that the guarantee speaks of: of one sentence,
    or with ``most`` of one document.
    """

    pool: FileToRead = field(default="", repr=False)
    epsilon: float | None = None
    beta: float | None = None
    low: float = 0.1
    high: float = 0.7
    most: int | None = None
    fill: bool = False
    delta: float = 0.0
    metric: bool = False
    pool_field: str = "text"
    encoder: FileToRead = field(default="", repr=False)
    cache: FolderToFill = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.pool:
            raise InvalidArgument(
                "sentences are drawn from a public pool: name a file of public sentences, "
                "`settings={'pool': FILE}`"
            )
        check_weight(self.epsilon, self.beta)
        check_window(self.low, self.high)
        self._check_unit()
        if self.beta is not None:
            BoundedRange(range=self.beta * (self.high - self.low), outcomes=2)  # or an error

    def _check_unit(self) -> None:
        if self.most is not None:
            at_least("most", self.most, 1, MOST)
        elif self.fill or self.delta:
            raise InvalidArgument(
                "fill and delta are for whole documents: say how many sentences one has at most, "
                "`settings={'most': 4}`"
            )
        if between("delta", self.delta, 0.0, 1.0) >= 1.0:
            raise InvalidArgument(f"delta={self.delta:g} must be smaller than 1")
        if self.metric and (self.delta or self.fill):
            raise InvalidArgument("metric is about single sentences: leave out fill and delta")

    @cached_property
    def text_pool(self) -> Pool:
        """The public pool, loaded at the first use."""
        return load_pool(self.pool, column=self.pool_field, encoder=self.encoder, cache=self.cache)

    @cached_property
    def law(self) -> SentenceLaw:
        """What one sentence becomes."""
        beta = self._weight() if self.beta is None else float(self.beta)
        return SentenceLaw(pool=self.text_pool, beta=beta, low=self.low, high=self.high)

    def guarantee(self) -> Guarantee:
        """The level of one sentence, or of one document of at most so many."""
        shown = () if self.fill else (COUNT_LEAK,)
        single = self.law.guarantee(metric=self.metric)
        if self.most is None or self.metric:
            return single.leaking(*shown)
        scope = (
            f"every document, its first {self.most:,} sentences drawn from a public pool of "
            f"{len(self.text_pool):,} and all others left out"
        )
        if single.notion is Notion.INDEPENDENT:
            none = independent(unit="document", scope=scope)
            return none.leaking(*shown).not_covering(POOL_GAP)
        alike = (
            "any two documents"
            if self.fill
            else "any two documents with equally many sentences (more than that count as so many)"
        )
        proven = self._proven(self.law.score_range)
        return Guarantee(
            notion=Notion.APPROXIMATE_DP if proven.delta else Notion.PURE_DP,
            unit="document",
            neighbors=alike,
            epsilon=proven.epsilon,
            delta=proven.delta,
            scope=scope,
            leaks=shown,
            uncovered=(POOL_GAP,),
        )

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        """One new text for each document."""
        vectors = [self._vectors(one) for one in documents]
        if not vectors:
            return []
        drawn = iter(self.law.draw_each(np.concatenate(vectors), randomness))
        sentences = self.text_pool.sentences
        return [" ".join(sentences[next(drawn)] for _ in own) for own in vectors]

    def public_sources(self) -> dict[str, Source]:
        """The public text that all outputs are made of."""
        return {"pool": Source.of(self.pool, Layout(field=self.pool_field))}

    def points(self) -> tuple[PointMechanism, ...]:
        """The law over some sentences of the pool, as a mechanism on points."""
        sizes = sorted({min(count, len(self.text_pool)) for count in _TESTED}, reverse=True)
        pools = (self.text_pool.first(count) for count in sizes)
        return tuple(OnPool(law=replace(self.law, pool=one), metric=self.metric) for one in pools)

    def public_facts(self) -> dict[str, Any]:
        """What may be told of the pool: it is public."""
        return {
            "pool": self.text_pool.name,
            "sentences_in_pool": len(self.text_pool),
            "pool_digest": self.text_pool.digest,
            "encoder": "" if self.text_pool.encoder is None else self.text_pool.encoder.name,
            "beta": self.law.beta,
            "unit": self.guarantee().unit,
        }

    def identity(self) -> Identity:
        """All that decides how it draws; the pool and the encoder are public."""
        numbers = (self.epsilon, self.beta, self.low, self.high, self.delta)
        rest = (self.most, self.fill, self.metric, encoder_digest(self.encoder))
        spelled = tuple(None if one is None else float(one) for one in numbers)
        return Identity((type(self).__qualname__, spelled, rest, self.text_pool.digest))

    def __getstate__(self) -> dict[str, Any]:
        # A pool may be large: whoever gets a copy reads it again.
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}

    def _vectors(self, text: str) -> Floats:
        """The vectors of the sentences of a text; a place that is filled has the vector 0."""
        found = self.text_pool.vectors_of(split_sentences(text)[: self.most])
        if self.fill and self.most is not None:
            # A place without a sentence is drawn for like any other.
            room = np.zeros((self.most - len(found), found.shape[1]))
            return np.vstack([found, room])
        return found

    def _proven(self, score_range: float) -> Any:
        event = BoundedRange(range=score_range, outcomes=len(self.text_pool), count=self.most or 1)
        return least_level([event], self.delta)

    def _weight(self) -> float:
        """β for the level that was asked for, rounded down."""
        level, width = float(self.epsilon or 0.0), self.high - self.low
        if self.metric:
            beta = level / 2
            BoundedRange(range=beta * width, outcomes=2)  # or an error that says why not
            return beta
        if not self.delta:
            return widest_range(level / (self.most or 1), len(self.text_pool)) / width * (1 - 1e-15)
        low, high = 0.0, LARGEST_RANGE
        if self._proven(high).epsilon <= level:
            raise InvalidArgument(
                f"epsilon={level:g} is more than {self.most} sentences can cost here "
                f"({self._proven(high).epsilon:.4g}); give that or less"
            )
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._proven(middle).epsilon <= level else (low, middle)
        return low / width * (1 - 1e-15)
