"""Attribute inference: what a privatized text still tells of its author or its subject.

An attribute is any column of the originals: a gender, a diagnosis, a region, a rating. It need not
be in the privatized file, and it need not be written in any text: a way to write, or what somebody
writes about, may be enough.

Figures
    ``static``: a classifier that learned from other text in the clear (``others``, held-out or
    public text with the same column; or else the originals of the other documents) guesses the
    attribute of each privatized document. ``adaptive``: one that learned from privatized documents
    whose attribute is known, as whoever knows some of the people can do. ``originals``: learned and
    tested on originals, which shows how well the attribute could be told before. Shares of
    documents whose attribute is guessed.

How
    TF-IDF of n-grams and a linear support vector machine, as for authors; or, with the ``encoder``
    in a folder, logistic regression on vectors of whole documents. Every document is guessed by a
    model that has not seen it.

Control
    The adaptive attack with the attribute randomly permuted over the documents. Chance is the share
    of the most frequent value.

Care
    What a text is *for* may be the attribute itself: the sentiment of a review is an attribute, and
    what a rewriter is asked to keep. The figure says what can be learned, not whether it may be.

Reference
    Mattern, Weggenmann and Kerschbaum 2022, "The limits of word level differential privacy", for
    the adaptive attacker; Lison et al. 2021, "Anonymisation models for text data", for attributes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.guessed_labels import (
    MakeModel,
    MeaningModel,
    deal_folds,
    fit,
    guess_over_folds,
    n_gram_model,
    share,
    shuffle,
)
from sfumato.attacks.text_target import lacks_originals, refuse_other_originals
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, extra
from sfumato.core.errors import BadInput, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.metrics.rewriting import read_encoder
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.power import tells_from
from sfumato.text.document import Document

STATIC, ADAPTIVE, ORIGINALS = "static", "adaptive", "originals"


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """The originals with their attribute, and other text in the clear if there is any."""

    originals: Sequence[Document]
    others: Sequence[Document] | None = None

    def __repr__(self) -> str:
        return f"Known({len(self.originals)} originals)"


@dataclass(frozen=True, kw_only=True)
class AttributeInference:
    """Guess an attribute of each document from its privatized text.

    The attribute is the field of labels. ``folds`` is the number of parts in cross-validation; a
    value with fewer documents than that is left out and counted. ``characters`` and ``words`` are
    the longest n-grams, 0 for none. With the folder of an ``encoder``, vectors of documents take
    their place.
    """

    folds: int = 5
    characters: int = 4
    words: int = 2
    encoder: FileToRead = ""

    name: ClassVar[str] = "attribute-inference"
    target: ClassVar[str] = "text"
    needs: ClassVar[Needs] = Needs(
        inputs=("originals", "others"), by_group=False, about_the_data=(ORIGINALS,)
    )

    def __post_init__(self) -> None:
        at_least("folds", self.folds, 2)
        at_least("characters", self.characters, 0)
        at_least("words", self.words, 0 if self.characters else 1)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a privatized file, its originals and their attribute."""
        lacking = lacks_originals(inputs)
        if lacking is None and inputs.layout.label_field is None:
            return (
                "the originals need a column with the attribute: `label_field=NAME` (jsonl, csv, "
                "tsv or parquet; a text file has no columns)"
            )
        return lacking

    def opened(self, inputs: Inputs) -> tuple[list[Document], Known]:
        """The privatized documents, and what is known."""
        assert inputs.originals is not None  # noqa: S101  # see ``missing``
        # The attribute may have been left out of the privatized file; it is not looked for there.
        without = replace(inputs.layout, label_field=None, group_field=None)
        released = replace(inputs, layout=without).documents(inputs.target)
        others = None if inputs.others is None else inputs.documents(inputs.others)
        return released, Known(inputs.documents(inputs.originals), others)

    def score(
        self,
        target: Sequence[Document],
        data: Known,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Guess the attribute of every document with a model that was trained on others."""
        extra("sklearn", needed_for="guessing attributes", extra="attack")
        with time_block() as watch:
            refuse_other_originals(data.originals, target)
            values = [_value(one, place) for place, one in enumerate(data.originals, start=1)]
            kept = self._kept(values)
            after = [target[place].text for place in kept]
            before = [data.originals[place].text for place in kept]
            values = [values[place] for place in kept]
            make = self._maker()
            at_random = shuffle(values, randomness.stream(0))

            def over_folds(name: str, train: list[str], test: list[str], of: list[str]) -> Measured:
                folds = deal_folds(of, self.folds, randomness.stream(1 + len(figures)))
                return guess_over_folds(name, train, test, of, folds, make)

            figures: list[Measured] = []
            trials: list[Any] = [
                lambda: (
                    over_folds(STATIC, before, after, values)
                    if data.others is None
                    else _guess(STATIC, data.others, after, values, make)
                ),
                lambda: over_folds(ADAPTIVE, after, after, values),
                lambda: over_folds(ORIGINALS, before, before, values),
                lambda: over_folds(ADAPTIVE, after, after, at_random),
            ]
            for number, trial in enumerate(trials, start=1):
                figures.append(trial())
                if done:
                    done(number, len(trials))
            majority = max(Counter(values).values()) / len(values)
            scores = Scores(
                attack=self.name,
                knowledge=_knowledge(held_out=data.others is not None),
                figures=tuple(figures[:-1]),
                chance={one.metric: majority for one in figures[:-1]},
                control=Control(
                    what="the adaptive attack with the attribute randomly permuted over documents",
                    figures=(figures[-1],),
                ),
                notes=_notes(majority, len(values), len(data.originals) - len(values)),
                details={"documents": len(values), "folds": self.folds}
                | {"values": len(set(values)), "majority": majority},
            )
        return watch.stamp(scores)

    def _maker(self) -> MakeModel:
        if not self.encoder:
            return lambda: n_gram_model(self.characters, self.words)
        encode, known = read_encoder(self.encoder), dict[str, Floats]()
        return lambda: MeaningModel(encode, known)

    def _kept(self, values: Sequence[str]) -> list[int]:
        """The documents whose value has enough of them."""
        counts = Counter(values)
        kept = [place for place, one in enumerate(values) if counts[one] >= self.folds]
        if len({values[place] for place in kept}) < 2:
            raise MissingInput(
                f"at least two values of the attribute with {self.folds} documents each are "
                f"needed; {sum(count >= self.folds for count in counts.values())} of {len(counts)} "
                "have as many (fewer folds: `settings={'folds': 2}`)"
            )
        return kept


def _guess(
    metric: str, learned: Sequence[Document], tested: list[str], values: list[str], make: MakeModel
) -> Measured:
    """The share of right guesses by a model that learned from other text."""
    labels = [_value(one, place) for place, one in enumerate(learned, start=1)]
    if len(set(labels)) < 2:
        raise BadInput("the other text has one value of the attribute: nothing can be learned")
    model = fit(make, [one.text for one in learned], labels, metric)
    right = sum(guess == value for guess, value in zip(model.predict(tested), values, strict=True))
    return share(metric, right, len(tested))


def _value(document: Document, number: int) -> str:
    if not document.labels:
        raise BadInput(f"document {number} has no value of the attribute")
    return document.labels[0]


def _knowledge(*, held_out: bool) -> str:
    learned = (
        "other text of the same kind, in the clear, with its attribute"
        if held_out
        else "the originals of all other documents, with their attribute"
    )
    return (
        f"The static attacker has {learned}; the adaptive attacker knows the attribute of all "
        "other documents, and has them as they were released."
    )


def _notes(majority: float, kept: int, left_out: int) -> tuple[str, ...]:
    notes = [
        f"Chance is the share of the most frequent value. With {kept:,} documents a true share of "
        f"{tells_from(majority, kept):.2g} would be told from it with a probability of 95 %.",
    ]
    if left_out:
        notes.append(
            f"{left_out:,} documents were left out: their values have fewer documents than folds."
        )
    return tuple(notes)
