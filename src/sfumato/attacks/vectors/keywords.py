"""Keyword inference: whether a text has a certain word, from its released vector.

Figures
    ``auc``: for each keyword, how well a score ranks texts with the word above those without it;
    the mean over the keywords. The score is learned from public text (``others``) with the same
    noise, by ridge regression.

    Keywords are given (``keywords``), or taken from the public text: the words that stand in most
    of its documents after the most frequent public ones.

Control
    The same scores for documents in another order. Chance is one half.

What a level proves
    Two documents, with the word or without it, are told apart by (ε, δ) at most, so the area under
    the curve of each keyword is at most 1 − (1 − δ)²/(1 + e^ε) (``accounting/guessing.py``).

Reference
    Pan et al. 2020, "Privacy risks of general-purpose language models".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.accounting.guessing import most_separated
from sfumato.attacks.attack import Done
from sfumato.attacks.guessed_labels import RowModel
from sfumato.attacks.vectors.target import OnVectors, Texts, VectorTarget, tell_bound
from sfumato.attacks.vectors.words import own_words
from sfumato.core.arrays import Flags, Floats
from sfumato.core.checks import at_least, extra
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import CONFIDENCE, RESAMPLES, SHARE, Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.intervals import bootstrap_tail
from sfumato.statistics.ranking import derangement

AUC = "auc"
FEWEST = 3


@dataclass(frozen=True, kw_only=True)
class VectorKeywords(OnVectors):
    """Tell from each vector whether its text has a keyword.

    ``keywords`` are public; without them ``count`` are taken from the public text. ``encoder`` is
    the folder that the vectors are by, if it is not the embedded word vectors.
    """

    keywords: tuple[str, ...] = ()
    count: int = 10

    name: ClassVar[str] = "vector-keywords"
    needs_others: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least("count", self.count, 1)

    def score(
        self,
        target: VectorTarget,
        data: Texts,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Learn each keyword from public text, and rank the released vectors."""
        extra("sklearn", needed_for="learning keywords", extra="attack")
        with time_block() as watch:
            public = [own_words(one.text) for one in data.others or ()]
            private = [own_words(one.text) for one in data.originals]
            words = self._chosen(public, private)
            texts = [one.text for one in data.others or ()]
            noisy = target.simulate(texts, randomness.stream(0))
            found = np.stack([_score(word, noisy, public, target.vectors) for word in words])
            if done:
                done(1, 2)
            there = np.array([[word in one for one in private] for word in words])
            strangers = derangement(len(private), randomness.stream(1))
            level = target.level
            bound = 1.0 if level is None else most_separated(level)
            scores = Scores(
                attack=self.name,
                knowledge="The attacker has public text of the same kind, the encoder and the law "
                f"of the noise, and asks for {len(words)} words.",
                figures=(_mean_auc(found, there, randomness.stream(2)),),
                chance={AUC: 0.5},
                control=Control(
                    what="the same scores for documents in another order",
                    figures=(_mean_auc(found, there[:, strangers], randomness.stream(3)),),
                ),
                notes=(
                    f"Each of {len(words)} words stands in {int(there.sum(axis=1).min()):,} to "
                    f"{int(there.sum(axis=1).max()):,} of {len(private):,} documents.",
                    tell_bound(level, "the area under the curve of every word", bound),
                ),
                details={
                    "keywords": len(words),
                    "documents": len(private),
                    "bounds": {AUC: None if level is None else bound},
                },
            )
            if done:
                done(2, 2)
        return watch.stamp(scores)

    def _chosen(self, public: Sequence[set[str]], private: Sequence[set[str]]) -> list[str]:
        """The keywords that enough texts have, and enough have not."""
        counts = Counter(word for one in public for word in one)
        asked = [one.casefold() for one in self.keywords] or [
            word for word, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        ]
        found = []
        for word in asked:
            inside = sum(word in one for one in private)
            enough = FEWEST <= inside <= len(private) - FEWEST
            if enough and FEWEST <= counts[word] <= len(public) - FEWEST:
                found.append(word)
            if len(found) == (len(asked) if self.keywords else self.count):
                break
        if not found:
            raise BadInput(
                f"no keyword stands in {FEWEST} documents or more of both texts, and is missing in "
                "as many: name others, `settings={'keywords': 'WORD,WORD'}`, or give more text"
            )
        return found


def _score(word: str, noisy: Floats, public: Sequence[set[str]], released: Floats) -> Floats:
    model = RowModel()
    model.fit(list(noisy), [word in one for one in public])
    return model.rank(list(released))


def _mean_auc(scores: Floats, there: Flags, randomness: Randomness) -> Measured:
    """The mean over words, with an interval by resampling documents, all words together."""
    count = scores.shape[1]
    value = float(np.mean(_areas(scores, there, np.ones((1, count)))))
    drawn = randomness.integers(count, RESAMPLES * count).reshape(RESAMPLES, count)
    numbered = (drawn + count * np.arange(RESAMPLES)[:, None]).ravel()
    weights = np.bincount(numbered, minlength=RESAMPLES * count).reshape(RESAMPLES, count)
    areas = _areas(scores, there, weights.astype(np.float64))
    # Few documents, drawn again, may hold no word both ways: such a draw has no figure.
    found = np.nanmean(areas[:, np.isfinite(areas).any(axis=0)], axis=0)
    tail = bootstrap_tail(CONFIDENCE, count)
    low, high = np.quantile(found, [tail, 1 - tail]).tolist()
    return Measured(AUC, value, min(low, value), max(high, value), count, SHARE)


def _areas(scores: Floats, there: Flags, weights: Floats) -> Floats:
    """The area under the curve of each word (row) where documents count as ``weights`` say."""
    found = np.full((len(scores), len(weights)), np.nan)
    for row, (own, has) in enumerate(zip(scores, there, strict=True)):
        order = np.argsort(own, kind="stable")
        ordered = own[order]
        # Documents with the same score count together: half of their pairs are in order.
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        inside = np.add.reduceat(weights[:, order] * has[order], starts, axis=1)
        outside = np.add.reduceat(weights[:, order] * ~has[order], starts, axis=1)
        below = np.cumsum(outside, axis=1) - outside / 2
        pairs = inside.sum(axis=1) * outside.sum(axis=1)
        np.divide((inside * below).sum(axis=1), pairs, out=found[row], where=pairs > 0)
    return found
