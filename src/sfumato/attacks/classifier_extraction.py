"""Token extraction from text classifiers: the words that make a label likeliest.

A classifier does not model its input, but it can be asked which words make a known beginning belong
to a class. The attacker knows all but the last words of a canary and its label y, tries every word
v of a public list, and ranks by P(y | beginning, v) − λ·C(v), where C(v) is the frequency of the
word: frequent words are likely with any label. If several words are missing, beam search keeps the
best beginnings so far. The attack succeeds if the true ending is in the final ``beam``.

Care
    Frequencies come from the order of the public list (Zipf), not from the training text, which an
    attacker does not have. A canary of random words, repeated often, is easier to memorize than
    most text; the figure is about such canaries only.

Reference
    Elmahdy, Inan and Sim 2022, "Privacy leakage in text classification: a data extraction
    approach", tables 2 to 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.model_target import ModelTarget, make_untrained_twin, not_a_model, open_model
from sfumato.core.checks import at_least, number
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.classifier_canaries import SUFFIX, ClassifierCanaries, read_classifier_canaries
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.shares import share_of
from sfumato.text.document import Document

HOW = (
    "plant canaries before training: `sfumato.plant_classifier_canaries(CORPUS, OUT, ...)`,"
    " `sfumato.train(OUT, RUN, label_field=LABEL, classes=...)`, then attack RUN with "
    f"`canaries='OUT{SUFFIX}'`"
)

Beam = list[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class ClassifierExtraction:
    """Find the last words of canaries by the probability of their label.

    ``beam`` endings are kept and count as guesses; ``lambda_`` is the penalty on frequent words.
    """

    name: ClassVar[str] = "classifier-extraction"
    target: ClassVar[str] = "model"
    needs: ClassVar[Needs] = Needs(inputs=("canaries",), by_group=False)

    beam: int = 100
    lambda_: float = 0.01

    def __post_init__(self) -> None:
        at_least("beam", self.beam, 1)
        number("lambda", self.lambda_)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a classifier and the list of its canaries; None if nothing is."""
        lacking = not_a_model(inputs.target)
        if lacking is None and inputs.canaries is None:
            lacking = f"`canaries=FILE` is missing; {HOW}"
        if lacking is None and not str(inputs.canaries).endswith(SUFFIX):
            lacking = f"{inputs.canaries} is not a list of canaries for classifiers; {HOW}"
        return lacking

    def opened(self, inputs: Inputs) -> tuple[ModelTarget, ClassifierCanaries]:
        """The classifier and its canaries."""
        if inputs.canaries is None:
            raise InvalidArgument("canaries are missing")
        canaries = read_classifier_canaries(inputs.canaries)
        target = open_model(inputs.target, kind="classifier")
        if not target.model.classes:
            raise BadInput(f"{inputs.target} is a language model; exposure attacks those")
        return target, canaries

    def score(
        self,
        target: ModelTarget,
        data: ClassifierCanaries,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """How many endings are found, compared with an untrained twin."""
        if data.label not in target.model.classes:
            raise BadInput(f"the classifier has no class {data.label!r}, which the canaries have")
        if self.beam >= len(data.candidates):
            raise InvalidArgument(
                f"beam={self.beam} must be smaller than the {len(data.candidates)} candidates"
            )
        with time_block() as watch:
            count = len(data.originals)
            found = [
                self._finds(target, data, words, _part(done, place, 2 * count))
                for place, words in enumerate(data.originals)
            ]
            twin = make_untrained_twin(target, randomness)
            blind = [
                self._finds(twin, data, words, _part(done, count + place, 2 * count))
                for place, words in enumerate(data.originals)
            ]
            scores = self._scores(data, np.array(found), np.array(blind))
        return watch.stamp(scores)

    def _finds(
        self,
        target: ModelTarget,
        data: ClassifierCanaries,
        words: tuple[str, ...],
        done: Done | None,
    ) -> bool:
        """Whether the true ending is in the final beam."""
        beams: Beam = [words[: -data.last]]
        penalties = np.zeros(1)
        rare = self.lambda_ * frequencies(len(data.candidates))
        for _ in range(data.last):
            scores = np.stack([self._likelihoods(target, data, beam) for beam in beams])
            totals = penalties[:, None] - rare
            order = best(scores + totals, self.beam)
            rows, columns = np.unravel_index(order, scores.shape)
            beams = [
                (*beams[row], data.candidates[column])
                for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
            ]
            penalties = totals[rows, columns]
        if done:
            done(1, 1)
        return words in beams

    def _likelihoods(
        self, target: ModelTarget, data: ClassifierCanaries, beam: tuple[str, ...]
    ) -> NDArray[np.float64]:
        """P(label | beginning, candidate) for each candidate."""
        from sfumato.training.evaluation import predict_labels

        documents = [
            Document(" ".join((*beam, word)), labels=(data.label,)) for word in data.candidates
        ]
        losses = [one.losses[0] for one in predict_labels(target.model, documents)]
        likelihoods: NDArray[np.float64] = np.exp(-np.array(losses))
        return likelihoods

    def _scores(
        self, data: ClassifierCanaries, found: NDArray[np.bool_], blind: NDArray[np.bool_]
    ) -> Scores:
        metric = "found"
        words = "word" if data.last == 1 else f"{data.last} words"
        return Scores(
            attack=self.name,
            knowledge=(
                f"The attacker may ask the classifier for the probability of a label, and knows "
                f"the label and all but the last {words} of each canary, which were drawn from "
                f"{len(data.candidates):,} public words."
            ),
            figures=(share_of(metric, found),),
            chance={metric: self.beam / len(data.candidates) ** data.last},
            control=Control(what="the same network, untrained", figures=(share_of(metric, blind),)),
            notes=(
                f"Found means among the {self.beam} best guesses. Each canary is in the corpus "
                f"{data.repetitions} times with the class {data.label!r}, and once in every "
                "other class with another ending.",
            ),
            details={"found": found.tolist(), "repetitions": data.repetitions, "last": data.last},
        )


def frequencies(count: int) -> NDArray[np.float64]:
    """Word frequencies by rank in a list, the most frequent first (Zipf–Mandelbrot).

    >>> frequencies(3).round(2).tolist()
    [0.43, 0.32, 0.25]
    """
    weights = 1.0 / (np.arange(count) + 2.7)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def best(scores: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Indices of the highest scores in the flat array; of equal scores the last ones.

    Frequent words come first in the list, so ties count against frequent words.

    >>> best(np.array([[1.0, 3.0], [2.0, 3.0]]), 3).tolist()
    [3, 1, 2]
    """
    return np.argsort(scores.ravel(), kind="stable")[::-1][:count]


def _part(done: Done | None, place: int, whole: int) -> Done | None:
    return None if done is None else lambda _reached, _all: done(place + 1, whole)
