"""Put one public sentence in the place of a whole document: one draw, by all of its sentences.

Guarantee
    Any output is at most exp(ε) times likelier for a document than for one that differs in one
    sentence: another one, one more or one less. ε is just below 2R, where R is what one sentence
    can add to the score of a candidate (``candidate_law.py``). With ``whole``, ε is for any two
    documents. Both are pure, both hold at once, and nothing else of a document shows.

Why it holds
    A document is cut by a public rule (``text/sentences.py``), and its first ``most`` sentences are
    encoded one by one. Their cut cosines with a candidate are added up, so one sentence is one of
    ``most`` parts: the mean has the sensitivity (high − low)/most. There is one draw for each
    document, from a public pool, with randomness of its own.

Care
    ``most`` is public, and so are the pool and, for ``score=depth``, the directions. What is taken
    from the text in their place is in no guarantee. A sentence of a pool is *one* sentence: it says
    what a document is about, on the whole, and nothing of its details. At ε = 5 for a sentence a
    document of twelve costs 38 (with 1,850 candidates).

    The published score is ``depth``. In the hundreds of dimensions of a sentence encoder all depths
    are 0 and the output is uniform, and within ten principal components of the pool it still finds
    little; ``cosine`` has the same guarantee and finds what a document is about at ε = 2 to 5.

Reference
    Meehan, Mrini and Chaudhuri 2022, "Sentence-level privacy for document embeddings"
    (DeepCandidate), which releases the vector of a candidate; here it is the candidate itself, and
    vectors need no training. The score by cosines is sfumato's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting.summed_scores import MOST_PARTS, change_level, widest_part
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead, FolderToFill
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rewriting.candidate_law import (
    ByCosine,
    ByDepth,
    CandidateLaw,
    OnDocuments,
)
from sfumato.mechanisms.rewriting.law import check_weight, check_window
from sfumato.mechanisms.rewriting.pool import Pool, encoder_digest, load_pool
from sfumato.policies.identity import Identity
from sfumato.text.sentences import split_sentences

COSINE, DEPTH = "cosine", "depth"
MOST_PROJECTIONS = 10_000
# Candidates over which a claim is tested: all pairs of so many, and of a few.
_TESTED = (100, 12)
_NOT_COPIED = ("law", "text_pool")


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Put one sentence of a public pool in the place of each document.

    ``pool`` is a file with public sentences and ``pool_field`` the column that holds them.
    ``encoder`` is the folder of a sentence encoder; without it vectors are means of the embedded
    word vectors. ``cache`` is a folder in which the vectors of the pool are kept. The first
    ``most`` sentences of a document are read; with ``score=cosine`` their cosines are cut to
    ``low`` and ``high``, with ``score=depth`` there are ``projections`` public directions within
    ``components`` of the pool (0 for no such limit). Give the level, ``epsilon``, which is that of
    one sentence, or with ``whole`` of a document; or the weight of a cosine or a depth, ``beta``; 0
    draws uniformly.
    """

    pool: FileToRead = field(default="", repr=False)
    epsilon: float | None = None
    beta: float | None = None
    score: str = COSINE
    most: int = 12
    whole: bool = False
    low: float = 0.1
    high: float = 0.4
    components: int = 10
    projections: int = 50
    pool_field: str = "text"
    encoder: FileToRead = field(default="", repr=False)
    cache: FolderToFill = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.pool:
            raise InvalidArgument(
                "candidates are sentences of a public pool: name a file of public sentences, "
                "`settings={'pool': FILE}`"
            )
        if self.score not in (COSINE, DEPTH):
            raise InvalidArgument(f"score={self.score!r} must be {COSINE!r} or {DEPTH!r}")
        check_weight(self.epsilon, self.beta)
        check_window(self.low, self.high)
        at_least("most", self.most, 2 if self.score == DEPTH else 1, MOST_PARTS)
        at_least("components", self.components, 0)
        at_least("projections", self.projections, 1, MOST_PROJECTIONS)
        if self.beta is not None:
            change_level(self.beta * self._width, self._parts, 2)  # or an error

    @cached_property
    def text_pool(self) -> Pool:
        """The public pool, loaded at the first use."""
        return load_pool(self.pool, column=self.pool_field, encoder=self.encoder, cache=self.cache)

    @cached_property
    def law(self) -> CandidateLaw:
        """What a document becomes."""
        beta = self._weight() if self.beta is None else float(self.beta)
        if self.score == COSINE:
            return ByCosine(
                pool=self.text_pool, beta=beta, most=self.most, low=self.low, high=self.high
            )
        return ByDepth(
            pool=self.text_pool,
            beta=beta,
            most=self.most,
            components=self.components or None,
            projections=self.projections,
        )

    def guarantee(self) -> Guarantee:
        """The level of one sentence of a document, or of any two documents."""
        return self.law.guarantee(whole=self.whole)

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        """One sentence for each document."""
        drawn = [int(self.law.draw(self.vectors_of(one), randomness)[0]) for one in documents]
        return [self.text_pool.sentences[one] for one in drawn]

    def vectors_of(self, document: str) -> Floats:
        """The vectors of the sentences of a document that are read."""
        return self.text_pool.vectors_of(split_sentences(document)[: self.most])

    def public_sources(self) -> dict[str, Source]:
        """The public text that all outputs are made of."""
        return {"pool": Source.of(self.pool, Layout(field=self.pool_field))}

    def points(self) -> tuple[PointMechanism, ...]:
        """The law over some sentences of the pool, as mechanisms on points.

        For a level of one sentence, what is beside it is nothing, or one sentence as often as there
        is room for it: there it can have the most influence.
        """
        sizes = sorted({min(count, len(self.text_pool)) for count in _TESTED}, reverse=True)
        found: list[PointMechanism] = []
        for size in sizes:
            law = replace(self.law, pool=self.text_pool.first(size))
            none = np.empty((0, law.pool.vectors.shape[1]))
            if self.whole:
                found.append(OnDocuments(law=law, beside=none, whole=True))
                continue
            found.append(OnDocuments(law=law, beside=none))
            for other in range(min(2, size)) if self.most > 1 else ():
                one = law.pool.vectors[other : other + 1].astype(np.float64)
                found.append(OnDocuments(law=law, beside=np.repeat(one, self.most - 1, axis=0)))
        return tuple(found)

    def public_facts(self) -> dict[str, Any]:
        """What may be told of the pool and the weights: they are public."""
        return {
            "pool": self.text_pool.name,
            "sentences_in_pool": len(self.text_pool),
            "pool_digest": self.text_pool.digest,
            "encoder": "" if self.text_pool.encoder is None else self.text_pool.encoder.name,
            "beta": self.law.beta,
            "unit": self.guarantee().unit,
            "document_epsilon": self.law.document_level,
        }

    def identity(self) -> Identity:
        """All that decides how it draws; the pool and the encoder are public."""
        numbers = (self.epsilon, self.beta, self.low, self.high)
        spelled = tuple(None if one is None else float(one) for one in numbers)
        rest = (self.score, self.most, self.whole, self.components, self.projections)
        decides = (*rest, encoder_digest(self.encoder), self.text_pool.digest)
        return Identity((type(self).__qualname__, spelled, decides))

    def __getstate__(self) -> dict[str, Any]:
        # A pool may be large: whoever gets a copy reads it again.
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}

    @property
    def _width(self) -> float:
        """How far one sentence can move a score of weight 1."""
        return self.high - self.low if self.score == COSINE else 1.0

    @property
    def _parts(self) -> int:
        return self.most if self.score == COSINE else self.most // 2

    def _weight(self) -> float:
        """β for the level that was asked for, rounded down."""
        level = float(self.epsilon or 0.0)
        widest = widest_part(level, self._parts, len(self.text_pool), whole=self.whole)
        return widest / self._width * (1 - 1e-15)
