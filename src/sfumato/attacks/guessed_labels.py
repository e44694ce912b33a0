"""Labels of documents, guessed by a model that was trained on others: authors, or any attribute.

Every document is guessed once, by a model that has not seen it. Vocabulary and weights are learned
on the training folds only, so a guess rests on nothing of the document but its text.

A label that belongs to a person, such as a region, must be guessed by a model that has not seen the
person either: else whoever is recognized is known. With ``people``, the person of each document,
folds are dealt, labels are permuted and intervals computed by person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Integers
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import SHARE, Measured
from sfumato.statistics.intervals import wilson
from sfumato.statistics.shares import clustered_share
from sfumato.vectors.means import unit_rows

MakeModel = Callable[[], Any]
"""A new model with ``fit(items, labels)`` and ``predict(items)``; items are texts or vectors."""


def n_gram_model(characters: int, words: int) -> Any:
    """TF-IDF of character and word n-grams, and a linear support vector machine.

    Both numbers are the longest n-grams, 0 for none of that kind.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    parts = []
    if characters:
        lengths = (min(2, characters), characters)
        parts.append(TfidfVectorizer(analyzer="char", ngram_range=lengths, sublinear_tf=True))
    if words:
        parts.append(
            TfidfVectorizer(
                token_pattern=r"(?u)\b\w+\b",  # noqa: S106  # words of one letter count
                ngram_range=(1, words),
                sublinear_tf=True,
            )
        )
    # The state decides only the order in which the solver takes documents.
    return make_pipeline(make_union(*parts), LinearSVC(random_state=0))


class RowModel:
    """Ridge regression on vectors as they were released; its penalty fits how noisy they are.

    It is chosen among powers of ten by what each row would be guessed to be without itself.
    """

    def __init__(self) -> None:
        from sklearn.linear_model import RidgeClassifierCV

        self._regression = RidgeClassifierCV(alphas=np.logspace(-2, 6, 9))
        self._scale = 1.0

    def fit(self, rows: Sequence[Floats], labels: Sequence[object]) -> None:
        """Learn labels of vectors."""
        stacked = np.stack(rows)
        self._scale = float(stacked.std()) or 1.0
        self._regression.fit(stacked / self._scale, labels)

    def predict(self, rows: Sequence[Floats]) -> list[str]:
        """The likeliest label of each vector."""
        return [str(one) for one in self._regression.predict(np.stack(rows) / self._scale)]

    def rank(self, rows: Sequence[Floats]) -> Floats:
        """Of two labels, how much likelier the second one is for each vector."""
        found: Floats = self._regression.decision_function(np.stack(rows) / self._scale)
        return found


class MeaningModel:
    """Logistic regression on vectors of texts, each of which is computed once."""

    def __init__(self, encode: Callable[[list[str]], Floats], known: dict[str, Floats]) -> None:
        from sklearn.linear_model import LogisticRegression

        self._encode, self._known = encode, known
        self._regression = LogisticRegression(max_iter=2000)

    def fit(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        """Learn labels of texts."""
        self._regression.fit(self._vectors(texts), labels)

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The likeliest label of each text."""
        return [str(one) for one in self._regression.predict(self._vectors(texts))]

    def _vectors(self, texts: Sequence[str]) -> Floats:
        new = [one for one in dict.fromkeys(texts) if one not in self._known]
        if new:
            self._known.update(zip(new, unit_rows(self._encode(new)), strict=True))
        return np.stack([self._known[one] for one in texts])


class LinesModel(MeaningModel):
    """The same on the mean vector of a text's lines: an encoder reads the start of a long text."""

    def _vectors(self, texts: Sequence[str]) -> Floats:
        lines = [[one for one in text.split("\n") if one.strip()] or [text] for text in texts]
        rows = super()._vectors([one for some in lines for one in some])
        starts = np.cumsum([0, *map(len, lines[:-1])])
        means: Floats = np.add.reduceat(rows, starts) / np.array([[len(one)] for one in lines])
        return means


def guess_over_folds(
    metric: str,
    train: Sequence[Any],
    test: Sequence[Any],
    labels: Sequence[str],
    folds: Integers,
    make: MakeModel,
) -> NDArray[np.bool_]:
    """Which guesses are right; ``train`` and ``test`` are two forms of the same documents."""
    right = np.zeros(len(test), dtype=np.bool_)
    for fold in np.unique(folds):
        inside, outside = (np.flatnonzero(one).tolist() for one in (folds == fold, folds != fold))
        model = fit(make, [train[one] for one in outside], [labels[one] for one in outside], metric)
        guesses = model.predict([test[one] for one in inside])
        right[inside] = [guess == labels[one] for guess, one in zip(guesses, inside, strict=True)]
    return right


def fit(make: MakeModel, texts: list[Any], labels: list[str], metric: str) -> Any:
    """A model that has learned these labels, or an error that quotes no text."""
    model = make()
    try:
        model.fit(texts, labels)
    except ValueError:
        # The library's message may quote the texts; ours does not.
        model = None
    if model is None:
        raise BadInput(f"nothing can be learned from the documents for {metric!r}")
    return model


def share(metric: str, right: NDArray[np.bool_], people: Sequence[str] | None = None) -> Measured:
    """A share of right guesses, with its interval over documents, or over people."""
    if people is not None:
        _, which = np.unique(np.array(people), return_inverse=True)
        return clustered_share(metric, right, which.reshape(-1).astype(np.int64))
    hits, count = int(right.sum()), len(right)
    return Measured(metric, hits / count, *wilson(hits, count), count, SHARE)


def deal_folds(
    labels: Sequence[str],
    folds: int,
    randomness: Randomness,
    people: Sequence[str] | None = None,
) -> Integers:
    """A fold for each document, with the documents of every label spread over all folds.

    With ``people``, all documents of a person are in one fold, and the people of every label are
    spread over all folds. Somebody with several labels counts for the rarest of them.
    """
    if people is not None:
        own = _by_person(labels, people)
        holders = Counter(one for mine in own.values() for one in set(mine))
        rarest = [min(mine, key=lambda one: (holders[one], one)) for mine in own.values()]
        dealt_to = dict(zip(own, deal_folds(rarest, folds, randomness).tolist(), strict=True))
        return np.array([dealt_to[one] for one in people], dtype=np.int64)
    order = np.argsort(randomness.uniform(len(labels)), kind="stable")
    found = np.empty(len(labels), dtype=np.int64)
    dealt: Counter[str] = Counter()
    for place in order.tolist():
        found[place] = dealt[labels[place]] % folds
        dealt[labels[place]] += 1
    return found


def shuffle(
    labels: Sequence[str], randomness: Randomness, people: Sequence[str] | None = None
) -> list[str]:
    """The same labels, over documents at random.

    With ``people``, each of them gets the labels of one of them, drawn without replacement, in
    their order and again from the first where they are too few. So documents of one person go on
    to share what they share.
    """
    if people is not None:
        own = _by_person(labels, people)
        order = np.argsort(randomness.uniform(len(own)), kind="stable")
        given = list(own.values())
        gets = {one: cycle(given[place]) for one, place in zip(own, order.tolist(), strict=True)}
        return [next(gets[one]) for one in people]
    order = np.argsort(randomness.uniform(len(labels)), kind="stable")
    return [labels[place] for place in order.tolist()]


def _by_person(labels: Sequence[str], people: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for label, person in zip(labels, people, strict=True):
        found.setdefault(person, []).append(label)
    return found
