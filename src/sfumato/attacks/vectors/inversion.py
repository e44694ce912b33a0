"""Inversion of released vectors: which words stand in the text behind each of them.

Figures
    Of vectors of documents, the share of guessed words that stand in the text, ``guesses`` for each
    (own words only: the most frequent public ones stand in every text and are not guessed).
    ``words by nearness``: the public words whose own vectors point most in the direction of the
    released one. ``words learned``: the words that a ridge regression expects, which has learned
    from public text (``others``) with the same noise.

    Of vectors of words, ``words read off``: the share of words that are the likeliest ones of a
    public vocabulary, by the law of the noise and by how frequent words are in public text: in
    ``others``, or by Zipf's law where there is none. Words without a vector count as one.

Control
    The same guesses, counted against other documents (of vectors of words: against words in another
    order). Chance is what somebody scores who names the most frequent words of the public text (or,
    without one, of the originals) and never looks at a vector.

What a level proves
    Let π be the share of documents that have the most frequent own word. Each guess is right with
    probability at most π·e^ε/(1 − π + π·e^ε), plus a part of δ (``accounting/guessing.py``); of
    vectors of words the same, π being the share of the most frequent word.

Reference
    Song and Raghunathan 2020, "Information leakage in embedding models"; Pan et al. 2020, "Privacy
    risks of general-purpose language models".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.accounting.guessing import most_named
from sfumato.attacks.attack import Done
from sfumato.attacks.vectors.target import OnVectors, Texts, VectorTarget, tell_bound
from sfumato.attacks.vectors.words import own_words, public_vocabulary
from sfumato.core.arrays import Flags, Floats, Points
from sfumato.core.checks import at_least, positive
from sfumato.core.errors import BadInput, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.representations.encoding import WordVectors
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.ranking import derangement
from sfumato.statistics.shares import mean_share
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

BY_NEARNESS, LEARNED, READ_OFF = "words by nearness", "words learned", "words read off"
# A word that fewer public texts have teaches nothing.
FEWEST_TEXTS = 3
_AT_ONCE = 256
# The share of words outside a vocabulary (signs among them), and for how many words of public text
# an expectation counts.
_UNKNOWN, _EXPECTED = 0.1, 100.0


@dataclass(frozen=True, kw_only=True)
class VectorInversion(OnVectors):
    """Guess words from vectors.

    ``guesses`` words are named for each document, from the ``vocabulary`` most frequent public
    words after the very frequent ones. ``ridge`` is the penalty of what is learned, as a share of
    the variance of vectors. At most ``words`` vectors of words are looked at. ``encoder`` is the
    folder that the vectors are by, if it is not the embedded word vectors.
    """

    guesses: int = 5
    vocabulary: int = 5000
    ridge: float = 0.1
    words: int = 2000

    name: ClassVar[str] = "vector-inversion"
    takes_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least("guesses", self.guesses, 1)
        at_least("vocabulary", self.vocabulary, self.guesses)
        at_least("words", self.words, 2)
        positive("ridge", self.ridge)

    def score(
        self,
        target: VectorTarget,
        data: Texts,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Guess the words of every document."""
        with time_block() as watch:
            found = (
                self._of_words(target, data, randomness)
                if target.of_words
                else self._of_documents(target, data, randomness, done)
            )
        return watch.stamp(found)

    def _of_documents(
        self, target: VectorTarget, data: Texts, randomness: Randomness, done: Done | None
    ) -> Scores:
        private = [own_words(one.text) for one in data.originals]
        if not any(private):
            raise BadInput("no document has a word of its own: there is nothing to guess")
        public = [own_words(one.text) for one in data.others or ()]
        vocabulary = public_vocabulary(self.vocabulary)
        guessed = {BY_NEARNESS: self._nearest(target, vocabulary)}
        if done:
            done(1, 2)
        if public:
            guessed[LEARNED] = self._learned(target, data, public, randomness.stream(0))
        strangers = derangement(len(private), randomness.stream(1))
        blind = _most_frequent(public or private, self.guesses)
        by_chance = float(np.mean(_right([blind] * len(private), private)))
        level = target.level
        shares = _shares(private)
        bound = 1.0 if level is None else most_named(level, shares)
        if done:
            done(2, 2)
        return Scores(
            attack=self.name,
            knowledge="The attacker has a public vocabulary, the encoder and the law of the noise"
            + (", and public text of the same kind." if public else "."),
            figures=tuple(
                mean_share(name, _right(words, private)) for name, words in guessed.items()
            ),
            chance=dict.fromkeys(guessed, by_chance),
            control=Control(
                what="the same guesses, counted against other documents",
                figures=tuple(
                    mean_share(name, _right([words[one] for one in strangers], private))
                    for name, words in guessed.items()
                ),
            ),
            notes=(
                f"Chance is the share of somebody who always names the {self.guesses} most "
                f"frequent words of the {'public text' if public else 'originals'}.",
                tell_bound(level, "the share of guessed words that are there", bound),
                *(() if public else ("Public text, `others=FILE`, would teach more.",)),
            ),
            details={
                "documents": len(private),
                "bounds": dict.fromkeys(guessed, None if level is None else bound),
            },
        )

    def _nearest(self, target: VectorTarget, vocabulary: Sequence[str]) -> list[list[str]]:
        clear = target.clear(vocabulary)
        return _best(target.vectors @ clear.T, vocabulary, self.guesses)

    def _learned(
        self,
        target: VectorTarget,
        data: Texts,
        public: Sequence[set[str]],
        randomness: Randomness,
    ) -> list[list[str]]:
        counts = Counter(word for one in public for word in one)
        known = sorted(word for word, count in counts.items() if count >= FEWEST_TEXTS)
        if len(known) < self.guesses:
            raise BadInput(
                f"the public text has {len(known)} words that stand in {FEWEST_TEXTS} of its "
                f"documents, and {self.guesses} are guessed: give more of it"
            )
        places = {word: place for place, word in enumerate(known)}
        there = np.zeros((len(public), len(known)))
        for row, words in enumerate(public):
            there[row, [places[word] for word in words if word in places]] = 1.0
        noisy = target.simulate([one.text for one in data.others or ()], randomness)
        return _best(_ridge(noisy, there, target.vectors, self.ridge), known, self.guesses)

    def _of_words(self, target: VectorTarget, data: Texts, randomness: Randomness) -> Scores:
        space = _space(target)
        padded = target.stored.settings["pad_to"]
        true = [space.points(list(Words.of(one.text))[:padded]) for one in data.originals]
        rows = [own[: len(points)] for own, points in zip(target.stored.words, true, strict=True)]
        if any(len(own) != len(points) for own, points in zip(rows, true, strict=True)):
            raise BadInput("the originals have other numbers of words than the vectors")
        points, released = np.concatenate(true), np.concatenate(rows)
        if len(points) < 2:
            raise BadInput("at least two words are needed, to confuse them")
        if len(points) > self.words:
            some = randomness.stream(0).choose(len(points), self.words)
            points, released = points[some], released[some]
        guessed = _read_off(target, released, _usual(space, data.others or ()))
        strangers = derangement(len(points), randomness.stream(1))
        counts = np.bincount(points)
        largest = float(counts.max() / len(points))
        level = target.level
        bound = 1.0 if level is None else most_named(level, (counts / len(points)).tolist())
        return Scores(
            attack=self.name,
            knowledge="The attacker has the public word vectors and the law of the noise"
            + (", and public text of the same kind." if data.others else "."),
            figures=(_share(guessed == points),),
            chance={READ_OFF: largest},
            control=Control(
                what="the same guesses, counted against words in another order",
                figures=(_share(guessed[strangers] == points),),
            ),
            notes=(
                "Chance is the share of the most frequent word; words without a vector count as "
                "one.",
                tell_bound(level, "the share of words that are read off", bound),
            ),
            details={
                "words": len(points),
                "bounds": {READ_OFF: None if level is None else bound},
            },
        )


def _space(target: VectorTarget) -> Space:
    if not isinstance(target.encoding, WordVectors):
        raise MissingInput(
            "words are read off vectors of words by public word vectors; of tokens of a "
            "transformer no word is read off here"
        )
    return target.encoding.space


def _usual(space: Space, public: Sequence[Document]) -> Floats:
    """How likely each word is before anything is seen, and a word without a vector, last."""
    ranks = np.arange(len(space)) + 1.0
    expected = np.append((1 - _UNKNOWN) / ranks / (1 / ranks).sum(), _UNKNOWN)
    # What stands in public text, and a little of what might.
    found = [space.points(Words.of(one.text)) for one in public]
    counts = np.bincount(np.concatenate([*found, []]).astype(np.intp), minlength=len(expected))
    usual: Floats = (counts + expected * _EXPECTED) / (counts.sum() + _EXPECTED)
    return usual


def _read_off(target: VectorTarget, released: Floats, usual: Floats) -> Points:
    """The likeliest point of the space for each vector, the one of unknown words included."""
    space = _space(target)
    every = np.arange(len(space) + 1)
    clear = target.mechanism.prepare(space.at(every) - space.centroid)
    starts = range(0, len(released), _AT_ONCE)
    parts = [released[start : start + _AT_ONCE] for start in starts]
    found = [target.mechanism.log_likelihoods(one, clear) + np.log(usual) for one in parts]
    return np.concatenate([one.argmax(axis=1) for one in found])


def _ridge(rows: Floats, wanted: Floats, released: Floats, penalty: float) -> Floats:
    """What a ridge regression from rows expects for released ones."""
    mean, usual = rows.mean(axis=0), wanted.mean(axis=0)
    centered = rows - mean
    inner = centered.T @ centered
    inner[np.diag_indices_from(inner)] += penalty * np.trace(inner) / len(inner)
    weights = np.linalg.solve(inner, centered.T @ (wanted - usual))
    found: Floats = (released - mean) @ weights + usual
    return found


def _best(scores: Floats, words: Sequence[str], count: int) -> list[list[str]]:
    top = np.argpartition(-scores, min(count, scores.shape[1] - 1), axis=1)[:, :count]
    return [[words[place] for place in row] for row in top.tolist()]


def _right(guessed: Sequence[Sequence[str]], private: Sequence[set[str]]) -> Floats:
    """The share of guesses that are right, for each document."""
    both = zip(guessed, private, strict=True)
    return np.array([sum(word in own for word in words) / len(words) for words, own in both])


def _most_frequent(texts: Sequence[set[str]], count: int) -> list[str]:
    counts = Counter(word for one in texts for word in one)
    return [word for word, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:count]]


def _shares(texts: Sequence[set[str]]) -> list[float]:
    counts = Counter(word for one in texts for word in one)
    return [count / len(texts) for count in counts.values()]


def _share(hits: Flags) -> Measured:
    return mean_share(READ_OFF, hits.astype(np.float64))
