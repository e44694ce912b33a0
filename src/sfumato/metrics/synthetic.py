"""What a synthetic corpus is good for, and how near it comes to the records it was made from.

Figures
    ``accuracy``: that of a classifier (logistic regression on public sentence vectors) that learns
    from the synthetic texts and is tested on held-out records; beside it the same for the
    ``control``, whose votes were noise, and for the originals. ``above the control`` is the
    difference on the same records.
    ``nearest``: the median distance (1 − cosine) from a synthetic text to the nearest original, and
    to the nearest of equally many held-out records. ``nearer to originals`` is the share of
    synthetic texts for which an original is the nearer one, ties counting half: 0.5 if originals
    are as far away as records that had no part in it.
    ``shared n-grams``: the share of the different word n-grams of the synthetic texts that the
    originals have, and that equally many held-out records have.
    ``membership``: the AUC of an attacker who takes a record for an original if a synthetic text is
    near; 0.5 is a guess. Its control is the same attack on the control corpus.
    ``distinct pairs``: the share of different ones among all pairs of neighboring words.

Care
    All but the last are functions of private records, and no guarantee covers them: they are for
    whoever holds the data, and must not be passed on with the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.checks import extra
from sfumato.core.display import as_html, as_lines, interval
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.metrics.similarity import Encoder
from sfumato.results.measured import ANYTHING, Measured
from sfumato.statistics.ranking import measure_auc
from sfumato.statistics.shares import mean_share, median_interval, paired_difference, share_of
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.means import unit_rows

NOT_PRIVATE = "NOT PRIVATE: measured on the originals; for the data holder, not for release"
_GRAM = 4
_ITERATIONS = 1000


@dataclass(frozen=True, repr=False)
class SyntheticEvaluation:
    """Figures about a synthetic corpus; they are for whoever holds the originals."""

    figures: tuple[Measured, ...]
    texts: int

    def figure(self, metric: str) -> Measured:
        """The figure of that name."""
        return next(one for one in self.figures if one.metric == metric)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; it holds no text, and says that it is not private."""
        return {
            "care": NOT_PRIVATE,
            "texts": self.texts,
            "figures": [one.as_dict() for one in self.figures],
        }

    def __repr__(self) -> str:
        facts = [(one.metric, interval(one.value, one.low, one.high)) for one in self.figures]
        return as_lines(f"{self.texts:,} synthetic texts", [*facts, ("care", NOT_PRIVATE)])

    def _repr_html_(self) -> str:
        rows = [(one.metric, interval(one.value, one.low, one.high), one.n) for one in self.figures]
        heads = ("figure", "value", "n")
        return as_html(f"{self.texts:,} synthetic texts", heads, rows, [NOT_PRIVATE])


@dataclass(frozen=True, eq=False)
class _Corpus:
    texts: list[str]
    labels: list[str]
    vectors: Floats

    @classmethod
    def of_all(cls, corpora: Sequence[Sequence[Document]], encoder: Encoder) -> list[_Corpus]:
        """All corpora, encoded in one go: an encoder may look at the mean of what it gets."""
        every = [one.text for documents in corpora for one in documents]
        # Texts of one length together need hardly any padding.
        order = sorted(range(len(every)), key=lambda place: len(every[place]))
        found = unit_rows(encoder([every[place] for place in order]))
        vectors = np.empty_like(found)
        vectors[order] = found
        made, start = [], 0
        for documents in corpora:
            labels = [one.labels[0] if one.labels else "" for one in documents]
            rows = vectors[start : start + len(documents)]
            made.append(cls([one.text for one in documents], labels, rows))
            start += len(documents)
        return made


def evaluate_corpus(
    synthetic: Sequence[Document],
    originals: Sequence[Document],
    held_out: Sequence[Document],
    *,
    control: Sequence[Document] = (),
    encoder: Encoder,
    randomness: Randomness,
) -> SyntheticEvaluation:
    """All figures that the corpora allow: without labels there is no accuracy."""
    if not (synthetic and originals and held_out):
        raise BadInput(
            "synthetic texts, originals and held-out records are needed, and one of them is empty"
        )
    corpora = _Corpus.of_all((synthetic, originals, held_out, control), encoder)
    made, real, held = corpora[:3]
    noise = corpora[3] if control else None
    figures = [
        *_downstream(made, real, held, noise),
        *_distances(made, real, held, randomness.stream(0)),
        *_grams(made, real, held, randomness.stream(1)),
        *_membership(made, real, held, noise, randomness),
        _distinct(made.texts),
    ]
    return SyntheticEvaluation(tuple(figures), len(made.texts))


def _downstream(
    made: _Corpus, real: _Corpus, held: _Corpus, noise: _Corpus | None
) -> list[Measured]:
    if len({one for one in made.labels if one}) < 2 or not all(held.labels):
        return []
    right = _learn(made, held)
    found = [share_of("accuracy", right)]
    if noise is not None and len(set(noise.labels)) > 1:
        other = _learn(noise, held)
        found += [
            share_of("accuracy, control", other),
            paired_difference("above the control", right, other),
        ]
    if len(set(real.labels)) > 1:
        found.append(share_of("accuracy, originals", _learn(real, held)))
    return found


def _learn(corpus: _Corpus, held: _Corpus) -> NDArray[np.bool_]:
    """Whether a classifier that learned from a corpus is right, for each held-out record."""
    linear = extra("sklearn.linear_model", needed_for="a classifier", extra="attack")
    model = linear.LogisticRegression(max_iter=_ITERATIONS).fit(corpus.vectors, corpus.labels)
    return np.asarray(model.predict(held.vectors) == np.array(held.labels))


def _distances(
    made: _Corpus, real: _Corpus, held: _Corpus, randomness: Randomness
) -> list[Measured]:
    # The nearest of many is nearer than the nearest of few: both get equally many.
    count = min(len(real.texts), len(held.texts))
    to_real = _nearest(made.vectors, real.vectors[randomness.choose(len(real.texts), count)])
    to_held = _nearest(made.vectors, held.vectors[randomness.choose(len(held.texts), count)])
    nearer = np.where(to_real == to_held, 0.5, (to_real < to_held).astype(float))
    return [
        _median("nearest original", to_real),
        _median("nearest held-out", to_held),
        mean_share("nearer to originals", nearer),
    ]


def _median(metric: str, values: Floats) -> Measured:
    low, high = median_interval(values)
    return Measured(metric, float(np.median(values)), low, high, len(values), ANYTHING)


def _nearest(rows: Floats, others: Floats) -> Floats:
    found: Floats = 1.0 - (rows @ others.T).max(axis=1)
    return found


def _grams(made: _Corpus, real: _Corpus, held: _Corpus, randomness: Randomness) -> list[Measured]:
    count = min(len(real.texts), len(held.texts))
    own = sorted({gram for text in made.texts for gram in grams_of(text)})
    if not own:
        return []
    found = []
    for name, corpus in (("originals", real), ("held-out", held)):
        chosen = randomness.choose(len(corpus.texts), count)
        theirs = {gram for one in chosen for gram in grams_of(corpus.texts[one])}
        shared = np.array([gram in theirs for gram in own])
        found.append(share_of(f"shared {_GRAM}-grams, {name}", shared))
    return found


def grams_of(text: str) -> list[tuple[str, ...]]:
    """The runs of neighboring words of a text.

    >>> grams_of("One two three four, five")
    [('one', 'two', 'three', 'four'), ('two', 'three', 'four', 'five')]
    """
    words = [word.casefold() for word in Words.of(text)]
    return [tuple(words[start : start + _GRAM]) for start in range(len(words) - _GRAM + 1)]


def _membership(
    made: _Corpus, real: _Corpus, held: _Corpus, noise: _Corpus | None, randomness: Randomness
) -> list[Measured]:
    found = []
    for place, (name, corpus) in enumerate((("membership", made), ("membership, control", noise))):
        if corpus is not None:
            members, others = (-_nearest(one.vectors, corpus.vectors) for one in (real, held))
            found.append(measure_auc(name, members, others, randomness.stream(2 + place)))
    return found


def _distinct(texts: Sequence[str]) -> Measured:
    pairs = [
        pair
        for text in texts
        for words in [[word.casefold() for word in Words.of(text)]]
        for pair in pairwise(words)
    ]
    share = len(set(pairs)) / len(pairs) if pairs else 0.0
    return Measured("distinct pairs", share, None, None, len(pairs), (0.0, 1.0))
